/* Builds the definition of the tables that order a graph's vertices (neo_rows_rec). */
#include "ir/ir.h"

typedef struct {
  neo_module *m;
  neo_rows rows;
  uint32_t id[5 + 4 * NEO_ROWS_LISTS], n;
} results;

static void add(results *x, neo_tensor t, neo_row_role role) {
  if (!t.i)
    return;
  x->id[x->n++] = t.i;
  neo_tensor_at(x->m, t)->rows = x->rows;
  neo_tensor_at(x->m, t)->row_role = (uint8_t)role;
}

neo_def neo_levels_add(neo_module *m, neo_def_rec rec, const neo_rows_rec *rows) {
  results x = {.m = m, .rows = {(uint32_t)m->rows.n}};
  NEO_PUSH(m->arena, &m->rows, *rows);
  add(&x, rows->level, NEO_ROW_TABLE);
  add(&x, rows->first, NEO_ROW_FIRST);
  add(&x, rows->place, NEO_ROW_TABLE);
  add(&x, rows->vertex, NEO_ROW_TABLE);
  add(&x, rows->kind, NEO_ROW_KIND);
  for (uint32_t k = 0; k < rows->n_lists; k++) {
    const neo_row_list *l = &rows->list[k];
    add(&x, l->placed, NEO_ROW_CHILD);
    add(&x, l->end, NEO_ROW_TABLE);
    add(&x, l->edge, l->begin.i ? NEO_ROW_TABLE : NEO_ROW_PARENTS);
    add(&x, l->parent, NEO_ROW_PARENTS);
  }
  rec.out = neo_list_new(m, x.id, x.n);
  rec.rows = x.rows;
  return neo_def_add(m, rec, true);
}

neo_tensor neo_tensor_blocks(const neo_module *m, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  return r->row_role >= NEO_ROW_CHILD ? neo_rows_at(m, r->rows)->first : (neo_tensor){0};
}

int64_t neo_tensor_slots(const neo_module *m, neo_tensor t) {
  const neo_rows_rec *r = neo_rows_at(m, neo_tensor_at(m, t)->rows);
  for (uint32_t k = 0; k < r->n_lists; k++)
    if (r->list[k].edge.i == t.i)
      return r->list[k].slots;
  return 1;
}

int64_t neo_blocks_kinds(const neo_module *m, neo_tensor first) {
  const neo_tensor_rec *r = neo_tensor_at(m, first);
  return r->row_role == NEO_ROW_FIRST ? neo_rows_at(m, r->rows)->kinds : 1;
}

bool neo_rows_are_chains(const neo_rows_rec *r) {
  return r->n_lists == 1 && !r->list[0].begin.i && r->list[0].slots == 1 && r->kinds == 1;
}

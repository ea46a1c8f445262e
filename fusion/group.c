/* Reads and writes of a group, its key and its name. */
#include "fusion/form/steps.h"
#include "fusion/recurrence.h"
#include <assert.h>
#include <ctype.h>

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_group *g;
} collector;

static bool has_read(const neo_group *g, neo_tensor t) {
  for (size_t k = 0; k < g->reads.n; k++)
    if (g->reads.at[k].i == t.i)
      return true;
  return false;
}

static void collect_read(void *ctx, neo_expr e) {
  collector *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  neo_tensor t = {n->attr};
  if (neo_node_is_load(n) && !has_read(c->g, t))
    NEO_PUSH(c->a, &c->g->reads, t);
}

/* "h.W" of the first root -> "h_W". */
static const char *identifier(neo_module *m, neo_arena *a, const neo_group *g) {
  if (!g->roots.n)
    return "nothing";
  const char *text = neo_tensor_name(m, g->roots.at[0]);
  char *y = neo_arena_printf(a, "%s%s", isalpha((unsigned char)text[0]) ? "" : "t", text);
  for (char *p = y; *p; p++)
    if (!isalnum((unsigned char)*p))
      *p = '_';
  return y;
}

static void collect_conditions(collector *c) {
  for (size_t k = 0; k < c->g->when.n; k++)
    neo_expr_visit(c->m, c->g->when.at[k], collect_read, c);
}

void neo_group_needed_where(neo_module *m, neo_arena *a, neo_group *g, neo_expr condition) {
  collector c = {m, a, g};
  NEO_PUSH(a, &g->when, condition);
  neo_expr_visit(m, condition, collect_read, &c);
}

void neo_group_read_too(neo_module *m, neo_arena *a, neo_group *g, neo_expr e) {
  collector c = {m, a, g};
  neo_expr_visit(m, e, collect_read, &c);
}

void neo_group_finish(neo_module *m, neo_arena *a, neo_group *g) {
  collector c = {m, a, g};
  g->form = NULL;
  g->reads.n = g->roots.n = 0;
  const neo_form *f = neo_group_form(m, g);
  for (size_t k = 0; k < f->stages.n; k++)
    for (size_t i = 0; i < f->stages.at[k].outs.n; i++)
      NEO_PUSH(a, &g->roots, f->stages.at[k].outs.at[i].tensor);
  for (size_t k = 0; k < f->axes.n; k++) {
    neo_expr_visit(m, f->axes.at[k].lo, collect_read, &c);
    neo_expr_visit(m, f->axes.at[k].hi, collect_read, &c);
  }
  for (size_t k = 0; k < f->stages.n; k++)
    neo_stage_visit(m, &f->stages.at[k], collect_read, &c);
  collect_conditions(&c);
  neo_form_key(m, g, g->key);
  g->name = identifier(m, a, g);
}

void neo_group_finish_recurrence(neo_module *m, neo_arena *a, neo_group *g, const bool *leaves,
                                 const neo_loop_options *o) {
  neo_def *defs = NEO_NEW_ARRAY(a, neo_def, g->members.n);
  for (size_t k = 0; k < g->members.n; k++)
    defs[k] = g->members.at[k].def;
  neo_loop_options own = *o;
  own.when = (neo_conditions){(uint32_t)g->when.n, g->when.at};
  g->recurrence = neo_recurrence_of(m, a, defs, g->members.n, leaves, &own);
  assert(g->recurrence && "the module was checked");
  g->roots.n = g->reads.n = 0;
  for (size_t k = 0; k < g->recurrence->roots.n; k++)
    NEO_PUSH(a, &g->roots, g->recurrence->roots.at[k]);
  for (size_t k = 0; k < g->recurrence->reads.n; k++)
    NEO_PUSH(a, &g->reads, g->recurrence->reads.at[k]);
  collect_conditions(&(collector){m, a, g});
  g->name = identifier(m, a, g);
}

/* Levels, first rows and positions are always computed: the other tables need them. */
void neo_group_finish_levels(neo_module *m, neo_arena *a, neo_group *g, const bool *wanted) {
  collector c = {m, a, g};
  neo_def_rec d = *neo_def_at(m, g->members.at[0].def);
  neo_rows_rec r = *neo_rows_at(m, d.rows);
  g->levels = d.rows;
  g->roots.n = g->reads.n = 0;
  for (uint32_t k = 0; k < d.out.n; k++) {
    neo_tensor t = {neo_list_at(m, d.out, k)};
    if (wanted[t.i] || t.i == r.level.i || t.i == r.first.i || t.i == r.place.i)
      NEO_PUSH(a, &g->roots, t);
  }
  neo_def_visit(m, g->members.at[0].def, collect_read, &c);
  collect_conditions(&c);
  g->name = identifier(m, a, g);
}

uint32_t neo_group_entry(const neo_module *m, const neo_entry_rec *e) {
  bool own = e->kind == NEO_ENTRY_TRAIN || (m->recurrent && e != m->entries.at);
  return own ? (uint32_t)(e - m->entries.at) + 1 : 0;
}

const char *neo_group_place_text(const neo_module *m, const neo_group *g, size_t k) {
  static const char *const places[] = {"memory", "inline", "registers"};
  uint32_t t = neo_def_out(m, g->members.at[k].def, 0).i;
  bool whole = !g->recurrence;
  for (size_t i = 0; i < g->roots.n && !whole; i++)
    whole = g->roots.at[i].i == t;
  return whole ? places[g->members.at[k].place] : "slices";
}

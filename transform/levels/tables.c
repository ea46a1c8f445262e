/* The order of a graph as one definition of the kind LEVELS (neo_rows_rec), and its tables as their
 * readers see them. */
#include "ir/clone.h"
#include "ir/define.h"
#include "transform/levels/parts.h"

typedef struct {
  levels *s;
  levels_graph *g;
  neo_tensor like; /* a tensor whose name and span the tables get */
} tables;

static neo_span span_of(const tables *t) {
  return neo_tensor_at(t->s->m, t->like)->span;
}

static neo_expr plus(const tables *t, neo_expr a, int64_t x) {
  return neo_op2(t->s->m, NEO_OP_ADD, a, levels_int(t->s, x));
}

static neo_expr times(const tables *t, neo_expr a, int64_t x) {
  return neo_op2(t->s->m, NEO_OP_MUL, a, levels_int(t->s, x));
}

static neo_tensor add_tensor(const tables *t, const char *prefix, neo_tensor_rec r) {
  neo_module *m = t->s->m;
  r.role = NEO_ROLE_TEMP;
  r.type = NEO_I32_T;
  r.span = span_of(t);
  r.name = neo_tensor_fresh_name(m, prefix, neo_tensor_name(m, t->like));
  return neo_tensor_add(m, r);
}

/* A tensor of i32 in [0, bound). */
static neo_tensor table(const tables *t, const char *prefix, neo_expr extent, neo_expr bound) {
  neo_tensor_rec r = {.extent = neo_list_one(t->s->m, extent.i), .bound = bound};
  return add_tensor(t, prefix, r);
}

int64_t levels_slots_of(const levels *s, neo_tensor child) {
  int64_t all = 1, n = 1;
  for (uint32_t k = 1; k < neo_tensor_rank(s->m, child); k++, all *= n)
    (void)neo_expr_is_int(s->m, neo_tensor_extent(s->m, child, k), &n);
  return all;
}

/* Adds children in slots, by position. */
static void add_slots(const tables *t, levels_index *x, neo_row_list *out) {
  neo_module *m = t->s->m;
  neo_expr all = times(t, t->g->n, out->slots);
  neo_tensor_rec placed = {.extent = neo_tensor_at(m, x->child)->extent,
                           .least = levels_int(t->s, -1),
                           .below = neo_axis_ref(m, 0)};
  x->placed = add_tensor(t, "placed", placed);
  if (x->has_parents) {
    x->end = table(t, "parents.end", t->g->n, plus(t, all, 1));
    x->edge = table(t, "parents", all, all);
  }
}

/* Adds children in lists, by edge. */
static void add_edges(const tables *t, levels_index *x, neo_row_list *out) {
  neo_module *m = t->s->m;
  neo_expr all = neo_tensor_extent(m, x->child, 0);
  neo_tensor_rec placed = {
      .extent = neo_tensor_at(m, x->child)->extent, .least = levels_int(t->s, 0), .below = t->g->n};
  x->placed = add_tensor(t, "placed", placed);
  out->begin = neo_tensor_at(m, x->child)->offsets;
  if (x->has_parents) {
    x->end = table(t, "parents.end", t->g->n, plus(t, all, 1));
    x->edge = table(t, "parents.edge", all, all);
    x->parent = table(t, "parents", all, t->g->n);
  }
}

static void add_list(const tables *t, levels_index *x, neo_row_list *out) {
  tables own = {t->s, t->g, x->child};
  *out = (neo_row_list){.slots = levels_slots_of(t->s, x->child)};
  (levels_is_list(t->s, x->child) ? add_edges : add_slots)(&own, x, out);
  out->placed = x->placed;
  out->end = x->end;
  out->edge = x->edge;
  out->parent = x->parent;
}

/* ---- the definition */

typedef struct {
  const tables *t;
  uint32_t axis[1 + NEO_ROWS_LISTS * LEVELS_RANK], n_axes;
  uint32_t body[2 * NEO_ROWS_LISTS + 1], n_body;
} equation;

static neo_expr new_axis(equation *e, const char *name, neo_expr hi) {
  neo_module *m = e->t->s->m;
  neo_axis_rec x = {.name = neo_name_of(m->names, name),
                    .lo = levels_int(e->t->s, 0),
                    .hi = hi,
                    .span = span_of(e->t)};
  e->axis[e->n_axes] = neo_axis_add(m, x).i;
  return neo_axis_ref(m, e->n_axes++);
}

static void read_table(equation *e, neo_tensor of) {
  neo_module *m = e->t->s->m;
  neo_expr at[LEVELS_RANK] = {neo_axis_ref(m, 0)};
  uint32_t rank = neo_tensor_rank(m, of);
  neo_tensor begin = neo_tensor_at(m, of)->offsets;
  if (begin.i && begin.i != of.i)
    at[0] = new_axis(e, "e", neo_tensor_extent(m, of, 0));
  for (uint32_t k = 1; k < rank; k++)
    at[k] = new_axis(e, "k", neo_tensor_extent(m, of, k));
  e->body[e->n_body++] = neo_load(m, of, at, rank, span_of(e->t)).i;
}

/* The number of the kind of vertex `at`. */
static neo_expr kind_of(const levels *s, const levels_graph *g, neo_expr at) {
  neo_module *m = s->m;
  neo_expr all = {0};
  for (uint32_t k = 0; k < g->n_is; k++) {
    neo_expr is = neo_cast(m, NEO_I32_T, neo_expr_subst_axes(m, g->is[k], &at, 1));
    is = neo_op2(m, NEO_OP_MUL, is, neo_const_int(m, NEO_I32_T, (int64_t)1 << k));
    all = all.i ? neo_op2(m, NEO_OP_ADD, all, is) : is;
  }
  return all;
}

static neo_tensor define(const levels *s, const levels_graph *g, const char *prefix, neo_expr bound,
                         neo_expr value) {
  neo_module *m = s->m;
  neo_tensor child = g->index[0].child;
  neo_span span = neo_tensor_at(m, child)->span;
  neo_axis_rec axis = {
      .name = neo_name_of(m->names, "p"), .lo = levels_int(s, 0), .hi = g->n, .span = span};
  neo_def_rec d = {.n_out = 1, .span = span};
  d.axes = neo_list_one(m, neo_axis_add(m, axis).i);
  d.finish = neo_list_one(m, value.i);
  neo_temp t = {.prefix = prefix, .like = child, .type = NEO_I32_T, .bound = bound};
  return neo_temp_define(m, &t, d);
}

/* Defines the kind of each vertex, which orders those of a level; 0: one kind. */
static neo_tensor define_kinds(levels *s, levels_graph *g) {
  neo_expr at = neo_axis_ref(s->m, 0);
  return g->n_is ? define(s, g, "level.kinds", levels_int(s, levels_kinds_of(g)), kind_of(s, g, at))
                 : (neo_tensor){0};
}

void levels_define(levels *s, levels_graph *g) {
  neo_module *m = s->m;
  tables t = {s, g, g->index[0].child};
  int64_t kinds = levels_kinds_of(g);
  neo_expr blocks = times(&t, g->n, kinds);
  neo_rows_rec r = {.kinds = kinds, .n_lists = g->n_indices};
  equation e = {.t = &t};
  neo_tensor kind = define_kinds(s, g);
  r.level = table(&t, "level", g->n, blocks);
  r.first = g->first = table(&t, "level.first", plus(&t, blocks, 1), plus(&t, g->n, 1));
  r.place = g->place = table(&t, "level.place", g->n, g->n);
  r.vertex = g->order = table(&t, "level.order", g->n, g->n);
  if (kind.i)
    r.kind = g->kind = table(&t, "level.kind", g->n, levels_int(s, kinds));
  new_axis(&e, "p", g->n);
  for (uint32_t k = 0; k < g->n_indices; k++) {
    add_list(&t, &g->index[k], &r.list[k]);
    read_table(&e, g->index[k].child);
  }
  if (kind.i)
    read_table(&e, kind);
  for (uint32_t k = 0; k < g->n_indices; k++)
    if (r.list[k].begin.i)
      read_table(&e, r.list[k].begin);
  neo_def_rec d = {.span = span_of(&t)};
  d.axes = neo_list_new(m, e.axis, e.n_axes);
  d.body = neo_list_new(m, e.body, e.n_body);
  neo_levels_add(m, d, &r);
  for (uint32_t k = 0; k < g->n_indices; k++)
    if (g->index[k].owner.i)
      levels_define_owner(s, g, &g->index[k]);
  for (uint32_t k = 0; k < g->n_indices; k++)
    if (g->index[k].has_values)
      levels_define_edges(s, g, &g->index[k]);
}

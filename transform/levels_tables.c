/* What orders a graph by levels, as definitions (levels_parts.h). All of them cost as much as the graph has edges:
 * the equations of sums are segments, and what counts earlier equal keys is a scan by keys.
 *
 *     level[v]  = max[k] (level[child[v, k]] else -1) + 1
 *     count[l]  = sum[v where level[v] == l] 1
 *     first[l]  = sum[k < l] count[k]
 *     place[v]  = first[level[v]] + sum[u < v where level[u] == level[v]] 1
 *     order[p]  = sum[v where place[v] == p] v
 *     placed[p, k] = (place[child[order[p], k]] else -1)
 *
 * The list of parents of all vertices, by vertex, in the order of the edges e = K*p + k:
 *
 *     to[e]     = placed[e/K, e%K], or n where it is -1
 *     in[u]     = sum[e where to[e] == u] 1
 *     start[u]  = sum[k < u] in[k]
 *     at[e]     = start[to[e]] + sum[d < e where to[d] == to[e]] 1
 *     edge[i]   = sum[e where at[e] == i] e,   parent[i] = edge[i]/K,   slot[i] = edge[i]%K */
#include "ir/clone.h"
#include "transform/levels_parts.h"

typedef struct {
  levels *s;
  neo_tensor like; /* names */
  neo_span span;
} tables;

static neo_expr number(const tables *t, int64_t x) {
  return levels_int(t->s, x);
}

static neo_expr axis(const tables *t, uint32_t k) {
  return neo_axis_ref(t->s->m, k);
}

static neo_expr plus(const tables *t, neo_expr a, int64_t x) {
  return neo_op2(t->s->m, NEO_OP_ADD, a, number(t, x));
}

static neo_expr i32_of(const tables *t, neo_expr e) {
  return neo_cast(t->s->m, NEO_I32_T, e);
}

/* An element of a tensor of rank 1, as an index. */
static neo_expr element(const tables *t, neo_tensor of, neo_expr at) {
  neo_module *m = t->s->m;
  return neo_cast(m, NEO_I64_T, neo_load(m, of, &at, 1, t->span));
}

/* A tensor of i32 in [least, below), which may be over its own indices. */
static neo_tensor tensor(const tables *t, const char *prefix, const neo_expr *extent, uint32_t rank,
                         neo_expr least, neo_expr below) {
  neo_module *m = t->s->m;
  const neo_tensor_rec *like = neo_tensor_at(m, t->like);
  uint32_t id[LEVELS_RANK];
  neo_tensor_rec r = {.role = NEO_ROLE_TEMP, .type = NEO_I32_T, .span = t->span};
  int64_t from;
  if (neo_expr_is_int(m, least, &from) && from == 0 && !neo_expr_axes(m, below)) {
    r.bound = below;
  } else {
    r.least = least;
    r.below = below;
  }
  for (uint32_t k = 0; k < rank; k++)
    id[k] = extent[k].i;
  r.name = neo_tensor_fresh_name(m, prefix, neo_name_text(m->names, like->name));
  r.extent = neo_list_new(m, id, rank);
  return neo_tensor_add(m, r);
}

typedef struct { /* out[axes] = sum[..] where; body then finish; without body: finish */
  uint32_t n_out, n_axes;
  neo_expr hi[2 * LEVELS_RANK];
  neo_reducer reducer;
  neo_expr where, body, finish;
} formula;

static void define(const tables *t, neo_tensor out, const formula *f) {
  neo_module *m = t->s->m;
  uint32_t id[2 * LEVELS_RANK];
  neo_def_rec d = {.n_out = f->n_out, .reducer = (uint8_t)f->reducer, .span = t->span};
  for (uint32_t k = 0; k < f->n_axes; k++) {
    neo_axis_rec x = {.name = neo_name_of(m->names, k < f->n_out ? "p" : "k"),
                      .lo = number(t, 0),
                      .hi = f->hi[k],
                      .span = t->span};
    id[k] = neo_axis_add(m, x).i;
  }
  d.axes = neo_list_new(m, id, f->n_axes);
  d.where = f->where;
  if (f->body.i)
    d.body = neo_list_new(m, &f->body.i, 1);
  d.finish = neo_list_new(m, &f->finish.i, 1);
  d.out = neo_list_new(m, &out.i, 1);
  neo_def_add(m, d, true);
}

static neo_expr acc(const tables *t) {
  return neo_acc_ref(t->s->m, NEO_I32_T, 0);
}

static neo_expr one(const tables *t) {
  return neo_const_int(t->s->m, NEO_I32_T, 1);
}

/* ---- sorting by keys in [0, n_keys) */

typedef struct {
  neo_tensor first; /* of each key, and behind them the number of all */
  neo_tensor place; /* of each element: stable */
  neo_tensor order; /* the element at a place */
} sorted;

/* `n` elements. Places of elements whose key is n_keys are behind all others. */
static sorted sort(const tables *t, neo_tensor key, neo_expr n, neo_expr n_keys,
                   const char *const *name) {
  neo_module *m = t->s->m;
  neo_expr zero = number(t, 0), behind = plus(t, n_keys, 1), all = plus(t, n, 1);
  sorted x;
  neo_tensor count = tensor(t, name[0], &n_keys, 1, zero, all);
  formula f = {1, 2, {n_keys, n}, NEO_RED_SUM, {0}, one(t), acc(t)};
  f.where = neo_op2(m, NEO_OP_EQ, element(t, key, axis(t, 1)), axis(t, 0));
  define(t, count, &f);
  x.first = tensor(t, name[1], &behind, 1, zero, all);
  f = (formula){1, 2, {behind, n_keys}, NEO_RED_SUM, {0}, {0}, acc(t)};
  f.where = neo_op2(m, NEO_OP_LT, axis(t, 1), axis(t, 0));
  f.body = neo_load(m, count, &(neo_expr){axis(t, 1).i}, 1, t->span);
  define(t, x.first, &f);
  x.place = tensor(t, name[2], &n, 1, zero, n);
  f = (formula){1, 2, {n, n}, NEO_RED_SUM, {0}, one(t), {0}};
  f.where =
      neo_op2(m, NEO_OP_AND, neo_op2(m, NEO_OP_LT, axis(t, 1), axis(t, 0)),
              neo_op2(m, NEO_OP_EQ, element(t, key, axis(t, 1)), element(t, key, axis(t, 0))));
  neo_expr own = element(t, key, axis(t, 0));
  f.finish = neo_op2(m, NEO_OP_ADD, neo_load(m, x.first, &own, 1, t->span), acc(t));
  define(t, x.place, &f);
  x.order = tensor(t, name[3], &n, 1, zero, n);
  f = (formula){1, 2, {n, n}, NEO_RED_SUM, {0}, i32_of(t, axis(t, 1)), acc(t)};
  f.where = neo_op2(m, NEO_OP_EQ, element(t, x.place, axis(t, 1)), axis(t, 0));
  define(t, x.order, &f);
  return x;
}

/* ---- levels */

/* One more than the level of the highest child in x, over own axis 0; 0 where there is none. */
static void define_level(const tables *t, const levels_index *x, neo_expr n, neo_tensor level,
                         neo_tensor out) {
  neo_module *m = t->s->m;
  uint32_t rank = neo_tensor_rank(m, x->child);
  neo_expr at[LEVELS_RANK], none = neo_const_int(m, NEO_I32_T, -1);
  formula f = {.n_out = 1, .n_axes = rank, .hi = {n}};
  for (uint32_t k = 0; k < rank; k++) {
    at[k] = axis(t, k);
    f.hi[k] = k ? neo_tensor_extent(m, x->child, k) : n;
  }
  neo_expr child = neo_cast(m, NEO_I64_T, neo_load(m, x->child, at, rank, t->span));
  neo_expr value = neo_load_else(m, level, &child, 1, none, t->span);
  value = neo_op2(m, NEO_OP_ADD, value, one(t));
  f.finish = value;
  if (rank > 1) {
    f.reducer = NEO_RED_MAX;
    f.body = value;
    f.finish = acc(t);
  }
  define(t, out, &f);
}

static neo_tensor define_levels(const tables *t, levels_graph *g) {
  neo_module *m = t->s->m;
  neo_expr zero = number(t, 0), here = axis(t, 0);
  neo_tensor level = tensor(t, "level", &g->n, 1, zero, g->n);
  if (g->n_indices == 1) {
    define_level(t, &g->index[0], g->n, level, level);
    return level;
  }
  formula f = {.n_out = 1, .n_axes = 1, .hi = {g->n}};
  for (uint32_t k = 0; k < g->n_indices; k++) {
    neo_tensor part = tensor(t, "level.part", &g->n, 1, zero, g->n);
    define_level(t, &g->index[k], g->n, level, part);
    neo_expr e = neo_load(m, part, &here, 1, t->span);
    f.finish = k ? neo_op2(m, NEO_OP_MAX, f.finish, e) : e;
  }
  define(t, level, &f);
  return level;
}

/* The children of the vertex at each place, as places. */
static void define_placed(const tables *t, levels_graph *g, levels_index *x) {
  neo_module *m = t->s->m;
  uint32_t rank = neo_tensor_rank(m, x->child);
  neo_expr at[LEVELS_RANK], extent[LEVELS_RANK], none = neo_const_int(m, NEO_I32_T, -1);
  formula f = {.n_out = rank, .n_axes = rank};
  for (uint32_t k = 0; k < rank; k++) {
    at[k] = k ? axis(t, k) : element(t, g->order, axis(t, 0));
    extent[k] = f.hi[k] = k ? neo_tensor_extent(m, x->child, k) : g->n;
  }
  neo_expr child = neo_cast(m, NEO_I64_T, neo_load(m, x->child, at, rank, t->span));
  f.finish = neo_load_else(m, g->place, &child, 1, none, t->span);
  x->placed = tensor(t, "placed", extent, rank, number(t, -1), axis(t, 0));
  neo_tensor_at(m, x->placed)->apart = g->first;
  define(t, x->placed, &f);
}

void levels_define(levels *s, levels_graph *g) {
  static const char *const names[] = {"level.count", "level.first", "level.place", "level.order"};
  tables t = {s, g->index[0].child, neo_tensor_at(s->m, g->index[0].child)->span};
  neo_tensor level = define_levels(&t, g);
  sorted x = sort(&t, level, g->n, g->n, names);
  g->first = x.first;
  g->place = x.place;
  g->order = x.order;
  for (uint32_t k = 0; k < g->n_indices; k++)
    define_placed(&t, g, &g->index[k]);
}

/* ---- parents */

static int64_t slots_of(const levels *s, neo_tensor child) {
  int64_t all = 1, n = 1;
  for (uint32_t k = 1; k < neo_tensor_rank(s->m, child); k++, all *= n)
    (void)neo_expr_is_int(s->m, neo_tensor_extent(s->m, child, k), &n);
  return all;
}

/* Of an edge: its vertex, then its slot along each dimension. */
static void place_of_edge(const tables *t, neo_tensor child, neo_expr edge, neo_expr *at) {
  neo_module *m = t->s->m;
  int64_t n = slots_of(t->s, child), extent = 1;
  at[0] = neo_op2(m, NEO_OP_DIV, edge, number(t, n));
  edge = neo_op2(m, NEO_OP_MOD, edge, number(t, n));
  for (uint32_t k = 1; k < neo_tensor_rank(m, child); k++) {
    (void)neo_expr_is_int(m, neo_tensor_extent(m, child, k), &extent);
    n /= extent;
    at[k] = neo_op2(m, NEO_OP_DIV, edge, number(t, n));
    edge = neo_op2(m, NEO_OP_MOD, edge, number(t, n));
  }
}

void levels_define_parents(levels *s, levels_graph *g, levels_index *x) {
  static const char *const names[] = {"parents.count", "parents.first", "parents.place",
                                      "parents.edge"};
  neo_module *m = s->m;
  tables t = {s, x->child, neo_tensor_at(m, x->child)->span};
  neo_expr at[LEVELS_RANK], slots = levels_int(s, slots_of(s, x->child)), zero = levels_int(s, 0);
  neo_expr n = neo_op2(m, NEO_OP_MUL, g->n, slots);
  neo_tensor to = tensor(&t, "parents.of", &n, 1, zero, plus(&t, g->n, 1));
  place_of_edge(&t, x->child, axis(&t, 0), at);
  neo_expr child = neo_load(m, x->placed, at, neo_tensor_rank(m, x->child), t.span);
  neo_expr none = neo_op2(m, NEO_OP_LT, child, neo_const_int(m, NEO_I32_T, 0));
  formula f = {.n_out = 1, .n_axes = 1, .hi = {n}};
  f.finish = neo_op3(m, NEO_OP_SELECT, none, i32_of(&t, g->n), child);
  define(&t, to, &f);
  sorted by = sort(&t, to, n, g->n, names);
  x->first = by.first;
  neo_expr edge = element(&t, by.order, axis(&t, 0));
  x->parent = tensor(&t, "parents", &n, 1, zero, g->n);
  neo_tensor_at(m, x->parent)->apart = g->first;
  f.finish = i32_of(&t, neo_op2(m, NEO_OP_DIV, edge, slots));
  define(&t, x->parent, &f);
  x->slot = tensor(&t, "parents.slot", &n, 1, zero, slots);
  f.finish = i32_of(&t, neo_op2(m, NEO_OP_MOD, edge, slots));
  define(&t, x->slot, &f);
}

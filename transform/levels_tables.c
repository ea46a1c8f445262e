/* What orders a graph by levels, as definitions (levels_parts.h). All of them cost as much as the graph has edges:
 * the equations of sums are segments, what counts earlier equal keys is a scan by keys, and what runs along the vertices
 * shares two loops over them (fusion/search/loops.c), between which the sizes of the levels are added up.
 *
 *     level[v]  = max[k] (level[child[v, k]] else -1) + 1
 *     count[l]  = sum[v where level[v] == l] 1
 *     rank[v]   = sum[u < v where level[u] == level[v]] 1
 *     first[l]  = sum[k < l] count[k]
 *     place[v]  = first[level[v]] + rank[v]           rank[v], if v has no children: first[0] = 0
 *     order[p]  = sum[v where place[v] == p] v
 *     placed[p, k] = sum[v where place[v] == p] (place[child[v, k]] else -1)
 *
 * Of children in lists (levels_lists.c) level[v] = max[e: begin[v] .. begin[v + 1]] (level[child[e]] + 1), at least 0, and
 * placed[e] = place[child[e]].
 *
 * The lists of parents of all vertices, in the order of the edges, by K*v + k:
 *
 *     count[u]  = sum[v, k where child[v, k] == u] 1
 *     first[u]  = sum[k < u] count[k]
 *     at[v, k]  = (first[child[v, k]] else 0)
 *                 + sum[w, j where K*w + j < K*v + k and child[w, j] == child[v, k] and 0 <= child[v, k]] 1
 *     end[u]    = first[u] + count[u]              in place of first[u], which `at` grows to it (codegen/counting_sort.h)
 *     edge[i]   = sum[v, k where 0 <= child[v, k] and at[v, k] == i] (K*place[v] + k)
 *
 * Of children in lists an edge has its own number: edge[i] = sum[e where at[e] == i] e, parent[i] = place[owner[edge[i]]]. */
#include "ir/clone.h"
#include "transform/levels_parts.h"

enum { FEW_SLOTS = 2 }; /* of a vertex */

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
  neo_expr lo; /* of the last axis; 0: the number, as of the others */
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
                      .lo = f->lo.i && k + 1 == f->n_axes ? f->lo : number(t, 0),
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

/* The definition is a sum over an equation in which one term is each element that anybody reads. */
static neo_tensor each_one(const tables *t, neo_tensor x) {
  neo_tensor_rec *r = neo_tensor_at(t->s->m, x);
  r->terms = r->injective = true;
  return x;
}

static neo_expr acc(const tables *t) {
  return neo_acc_ref(t->s->m, NEO_I32_T, 0);
}

static neo_expr one(const tables *t) {
  return neo_const_int(t->s->m, NEO_I32_T, 1);
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

/* The same of the children in the list of the vertex. */
static void define_level_of_list(const tables *t, const levels_index *x, neo_expr n,
                                 neo_tensor level, neo_tensor out) {
  neo_module *m = t->s->m;
  neo_tensor begin = neo_tensor_at(m, x->child)->offsets;
  neo_expr here = axis(t, 0), child = element(t, x->child, axis(t, 1));
  formula f = {.n_out = 1, .n_axes = 2, .hi = {n}, .reducer = NEO_RED_MAX};
  f.lo = element(t, begin, here);
  f.hi[1] = element(t, begin, plus(t, here, 1));
  f.where = neo_op2(m, NEO_OP_LT, child, here);
  f.body = neo_op2(m, NEO_OP_ADD, neo_load(m, level, &child, 1, t->span), one(t));
  f.finish = neo_op2(m, NEO_OP_MAX, acc(t), neo_const_int(m, NEO_I32_T, 0));
  define(t, out, &f);
}

static void define_part(const tables *t, const levels_index *x, neo_expr n, neo_tensor level,
                        neo_tensor out) {
  if (levels_is_list(t->s, x->child))
    define_level_of_list(t, x, n, level, out);
  else
    define_level(t, x, n, level, out);
}

static neo_tensor define_levels(const tables *t, levels_graph *g) {
  neo_module *m = t->s->m;
  neo_expr zero = number(t, 0), here = axis(t, 0);
  neo_tensor level = tensor(t, "level", &g->n, 1, zero, g->n);
  neo_tensor_at(m, level)->below = plus(t, here, 1); /* as children come before their parents */
  if (g->n_indices == 1) {
    define_part(t, &g->index[0], g->n, level, level);
    return level;
  }
  formula f = {.n_out = 1, .n_axes = 1, .hi = {g->n}};
  for (uint32_t k = 0; k < g->n_indices; k++) {
    neo_tensor part = tensor(t, "level.part", &g->n, 1, zero, g->n);
    define_part(t, &g->index[k], g->n, level, part);
    neo_expr e = neo_load(m, part, &here, 1, t->span);
    f.finish = k ? neo_op2(m, NEO_OP_MAX, f.finish, e) : e;
  }
  define(t, level, &f);
  return level;
}

/* first[x] = sum[k < x] count[k] for so many x. */
static neo_tensor define_first(const tables *t, const char *name, neo_tensor count, neo_expr n,
                               neo_expr all) {
  neo_module *m = t->s->m;
  neo_expr keys = neo_tensor_extent(m, count, 0), before = axis(t, 1);
  neo_tensor first = tensor(t, name, &n, 1, number(t, 0), plus(t, all, 1));
  formula f = {1, 2, {0}, {n, keys}, NEO_RED_SUM, {0}, {0}, acc(t)};
  f.where = neo_op2(m, NEO_OP_LT, before, axis(t, 0));
  f.body = neo_load(m, count, &before, 1, t->span);
  define(t, first, &f);
  return first;
}

/* The place of the vertex, which is `rank` for a leaf, of level 0: where loops branch by the children that there are
 * (codegen/fused_rounds.h), a leaf looks nothing up. */
static neo_expr place_of(const tables *t, const levels_graph *g, neo_expr place, neo_expr rank) {
  neo_module *m = t->s->m;
  neo_expr at[2] = {axis(t, 0)}, value = rank;
  neo_tensor child = g->index[0].child;
  int64_t slots = levels_slots_of(t->s, child);
  if (t->s->gpu || g->n_indices > 1 || levels_kinds_of(g) > 1 || neo_tensor_rank(m, child) > 2 ||
      slots > FEW_SLOTS || levels_is_list(t->s, child))
    return place;
  for (int64_t k = slots - 1; k >= 0; k--) {
    at[1] = number(t, k);
    neo_expr x = neo_load(m, child, at, neo_tensor_rank(m, child), t->span);
    x = neo_op2(m, NEO_OP_LE, number(t, 0), neo_cast(m, NEO_I64_T, x));
    value = neo_op3(m, NEO_OP_SELECT, x, place, value);
  }
  return value;
}

/* The vertices by keys in [0, n_keys), those of one key in their order. */
static void define_order(const tables *t, levels_graph *g, neo_tensor keys, neo_expr n_keys) {
  neo_module *m = t->s->m;
  neo_expr zero = number(t, 0), all = plus(t, g->n, 1), here = axis(t, 0);
  neo_expr key = element(t, keys, axis(t, 1)), own = element(t, keys, here);
  neo_tensor count = tensor(t, "level.count", &n_keys, 1, zero, all);
  formula f = {1, 2, {0}, {n_keys, g->n}, NEO_RED_SUM, {0}, one(t), acc(t)};
  f.where = neo_op2(m, NEO_OP_EQ, key, here);
  define(t, count, &f);
  neo_tensor rank = tensor(t, "level.rank", &g->n, 1, zero, g->n);
  f.hi[0] = g->n;
  f.where = neo_op2(m, NEO_OP_AND, neo_op2(m, NEO_OP_LT, axis(t, 1), here),
                    neo_op2(m, NEO_OP_EQ, key, own));
  define(t, rank, &f);
  g->first = define_first(t, "level.first", count, plus(t, n_keys, 1), g->n);
  neo_tensor_at(m, g->first)->saturates = true;
  g->place = tensor(t, "level.place", &g->n, 1, zero, g->n);
  f = (formula){.n_out = 1, .n_axes = 1, .hi = {g->n}};
  neo_expr begin = neo_load(m, g->first, &own, 1, t->span);
  neo_expr behind = neo_load(m, rank, &here, 1, t->span);
  f.finish = place_of(t, g, neo_op2(m, NEO_OP_ADD, begin, behind), behind);
  define(t, g->place, &f);
  g->order = each_one(t, tensor(t, "level.order", &g->n, 1, zero, g->n));
  f = (formula){1, 2, {0}, {g->n, g->n}, NEO_RED_SUM, {0}, i32_of(t, axis(t, 1)), acc(t)};
  f.where = neo_op2(m, NEO_OP_EQ, element(t, g->place, axis(t, 1)), here);
  define(t, g->order, &f);
}

/* Has each vertex one child at most? Its level is the next one above that of the child. Where vertices of a level are in
 * several blocks, the child may be in any of those before. */
static bool is_chain(const levels *s, const levels_graph *g) {
  neo_tensor child = g->index[0].child;
  return g->n_indices == 1 && !levels_is_list(s, child) && levels_slots_of(s, child) == 1 &&
         levels_kinds_of(g) == 1;
}

/* The children of the vertex at each place, as places. */
static void define_placed(const tables *t, levels_graph *g, levels_index *x) {
  neo_module *m = t->s->m;
  uint32_t rank = neo_tensor_rank(m, x->child);
  neo_expr at[LEVELS_RANK], extent[LEVELS_RANK], none = neo_const_int(m, NEO_I32_T, -1);
  formula f = {.n_out = rank, .n_axes = rank + 1, .reducer = NEO_RED_SUM, .finish = acc(t)};
  neo_expr vertex = axis(t, rank);
  for (uint32_t k = 0; k < rank; k++) {
    at[k] = k ? axis(t, k) : vertex;
    extent[k] = f.hi[k] = k ? neo_tensor_extent(m, x->child, k) : g->n;
  }
  f.hi[rank] = g->n;
  neo_expr child = neo_cast(m, NEO_I64_T, neo_load(m, x->child, at, rank, t->span));
  f.where = neo_op2(m, NEO_OP_EQ, element(t, g->place, vertex), axis(t, 0));
  f.body = neo_load_else(m, g->place, &child, 1, none, t->span);
  x->placed = each_one(t, tensor(t, "placed", extent, rank, number(t, -1), axis(t, 0)));
  neo_tensor_at(m, x->placed)->apart = g->first;
  neo_tensor_at(m, x->placed)->adjacent = is_chain(t->s, g);
  define(t, x->placed, &f);
}

/* placed[e] = place[child[e]] */
static void define_placed_edges(const tables *t, const levels_graph *g, levels_index *x) {
  neo_module *m = t->s->m;
  neo_expr edges = neo_tensor_extent(m, x->child, 0), child = element(t, x->child, axis(t, 0));
  formula f = {.n_out = 1, .n_axes = 1, .hi = {edges}};
  f.finish = neo_load(m, g->place, &child, 1, t->span);
  x->placed = tensor(t, "placed", &edges, 1, number(t, 0), g->n);
  neo_tensor_rec *r = neo_tensor_at(m, x->placed);
  r->least = number(t, 0); /* as ends, which tell rows before their own from those of parents */
  r->below = g->n;
  r->bound = (neo_expr){0};
  r->apart = g->first;
  define(t, x->placed, &f);
}

void levels_define(levels *s, levels_graph *g) {
  tables t = {s, g->index[0].child, neo_tensor_at(s->m, g->index[0].child)->span};
  neo_tensor level = define_levels(&t, g);
  neo_expr keys = neo_op2(s->m, NEO_OP_MUL, g->n, levels_int(s, levels_kinds_of(g)));
  define_order(&t, g, levels_define_keys(s, g, level), keys);
  levels_define_kind(s, g);
  for (uint32_t k = 0; k < g->n_indices; k++)
    if (levels_is_list(s, g->index[k].child))
      define_placed_edges(&t, g, &g->index[k]);
    else
      define_placed(&t, g, &g->index[k]);
}

/* ---- parents */

int64_t levels_slots_of(const levels *s, neo_tensor child) {
  int64_t all = 1, n = 1;
  for (uint32_t k = 1; k < neo_tensor_rank(s->m, child); k++, all *= n)
    (void)neo_expr_is_int(s->m, neo_tensor_extent(s->m, child, k), &n);
  return all;
}

typedef struct { /* the edges of an index */
  tables t;
  const levels_graph *g;
  levels_index *x;
  uint32_t rank; /* of the tensor of children */
  neo_expr extent[LEVELS_RANK];
  neo_expr all; /* how many there are */
} edges;

/* An element of a tensor that has one for each edge, at the axes from `from` on. */
static neo_expr at_edge(const edges *y, neo_tensor of, uint32_t from) {
  neo_expr at[LEVELS_RANK];
  for (uint32_t k = 0; k < y->rank; k++)
    at[k] = axis(&y->t, from + k);
  return neo_load(y->t.s->m, of, at, y->rank, y->t.span);
}

static neo_expr index_at_edge(const edges *y, neo_tensor of, uint32_t from) {
  return neo_cast(y->t.s->m, NEO_I64_T, at_edge(y, of, from));
}

/* The number of an edge, or of its slot, whose first index there is axis `from`. */
static neo_expr number_of(const edges *y, uint32_t from, uint32_t first) {
  neo_module *m = y->t.s->m;
  neo_expr at = axis(&y->t, from);
  for (uint32_t k = first + 1; k < y->rank; k++) {
    at = neo_op2(m, NEO_OP_MUL, at, y->extent[k]);
    at = neo_op2(m, NEO_OP_ADD, at, axis(&y->t, from + k - first));
  }
  return at;
}

/* Adds the axes of the edges. */
static void over_edges(const edges *y, formula *f) {
  for (uint32_t k = 0; k < y->rank; k++)
    f->hi[f->n_axes++] = y->extent[k];
}

/* out[i] = sum[v, k.. where of[v, k..] == i] body, over edges that have a child. */
static void define_sum(const edges *y, neo_tensor out, neo_tensor of, neo_expr body) {
  neo_module *m = y->t.s->m;
  formula f = {1, 1, {0}, {neo_tensor_extent(m, out, 0)}, NEO_RED_SUM, {0}, body, acc(&y->t)};
  over_edges(y, &f);
  f.where = neo_op2(m, NEO_OP_EQ, index_at_edge(y, of, 1), axis(&y->t, 0));
  if (of.i != y->x->child.i)
    f.where =
        neo_op2(m, NEO_OP_AND,
                neo_op2(m, NEO_OP_LE, number(&y->t, 0), index_at_edge(y, y->x->child, 1)), f.where);
  define(&y->t, out, &f);
}

/* For each edge that has a child how many to the same come before it, where the condition holds (0: always), and else 0;
 * behind what is given (0: nothing). */
static void define_earlier(const edges *y, neo_tensor out, neo_expr where, neo_expr behind) {
  const tables *t = &y->t;
  neo_module *m = t->s->m;
  neo_expr own = index_at_edge(y, y->x->child, 0), other = index_at_edge(y, y->x->child, y->rank);
  neo_expr value = acc(t);
  formula f = {y->rank, 0, {0}, {{0}}, NEO_RED_SUM, {0}, one(t), {0}};
  over_edges(y, &f);
  over_edges(y, &f);
  f.where =
      neo_op2(m, NEO_OP_AND, neo_op2(m, NEO_OP_LT, number_of(y, y->rank, 0), number_of(y, 0, 0)),
              neo_op2(m, NEO_OP_EQ, other, own));
  f.where = neo_op2(m, NEO_OP_AND, f.where, neo_op2(m, NEO_OP_LE, number(t, 0), own));
  if (where.i)
    value = neo_op3(m, NEO_OP_SELECT, where, value, neo_const_int(m, NEO_I32_T, 0));
  f.finish = behind.i ? neo_op2(m, NEO_OP_ADD, behind, value) : value;
  define(t, out, &f);
}

/* Where each edge that has a child is in the lists: behind those of earlier children, and earlier ones to the same. On a
 * GPU each edge looks for the latter, if its child has another one at all. */
static neo_tensor define_at(const edges *y, neo_tensor first, neo_tensor count) {
  const tables *t = &y->t;
  neo_module *m = t->s->m;
  neo_expr zero = number(t, 0), none = i32_of(t, zero), own = index_at_edge(y, y->x->child, 0);
  neo_tensor at = tensor(t, "parents.at", y->extent, y->rank, zero, y->all);
  neo_expr begin = neo_load_else(m, first, &own, 1, none, t->span);
  if (!t->s->gpu) {
    define_earlier(y, at, (neo_expr){0}, begin);
    return at;
  }
  neo_tensor rank = tensor(t, "parents.rank", y->extent, y->rank, zero, y->all);
  neo_expr all = neo_load_else(m, count, &own, 1, none, t->span);
  define_earlier(y, rank, neo_op2(m, NEO_OP_LT, one(t), all), (neo_expr){0});
  formula f = {.n_out = y->rank, .finish = neo_op2(m, NEO_OP_ADD, begin, at_edge(y, rank, 0))};
  over_edges(y, &f);
  define(t, at, &f);
  return at;
}

static neo_tensor define_end(const edges *y, neo_tensor first, neo_tensor count) {
  const tables *t = &y->t;
  neo_module *m = t->s->m;
  neo_expr here = axis(t, 0);
  neo_tensor end = tensor(t, "parents.end", &y->g->n, 1, number(t, 0), plus(t, y->all, 1));
  formula f = {.n_out = 1, .n_axes = 1, .hi = {y->g->n}};
  f.finish = neo_op2(m, NEO_OP_ADD, neo_load(m, first, &here, 1, t->span),
                     neo_load(m, count, &here, 1, t->span));
  define(t, end, &f);
  return end;
}

/* The vertex in whose list each edge is: as many lists end before it.
 *
 *     count[e] = sum[v where begin[v + 1] == e] 1,   first[x] = sum[k < x] count[k],   owner[e] = first[e + 1] */
static neo_tensor define_owner(const edges *y) {
  const tables *t = &y->t;
  neo_module *m = t->s->m;
  neo_tensor begin = neo_tensor_at(m, y->x->child)->offsets;
  neo_expr zero = number(t, 0), n = y->g->n, next = plus(t, axis(t, 0), 1);
  neo_tensor count = tensor(t, "owner.count", &y->all, 1, zero, plus(t, n, 1));
  formula f = {1, 2, {0}, {y->all, n}, NEO_RED_SUM, {0}, one(t), acc(t)};
  f.where = neo_op2(m, NEO_OP_EQ, element(t, begin, plus(t, axis(t, 1), 1)), axis(t, 0));
  define(t, count, &f);
  neo_tensor first = define_first(t, "owner.first", count, plus(t, y->all, 1), n);
  neo_tensor owner = tensor(t, "owner", &y->all, 1, zero, n);
  f = (formula){.n_out = 1, .n_axes = 1, .hi = {y->all}};
  f.finish = neo_load(m, first, &next, 1, t->span);
  define(t, owner, &f);
  return owner;
}

/* edge[i] = sum[e where at[e] == i] e,   parent[i] = sum[e where at[e] == i] place[owner[e]] */
static void define_edges(const edges *y, neo_tensor at) {
  const tables *t = &y->t;
  neo_module *m = t->s->m;
  levels_index *x = y->x;
  neo_expr owner = element(t, define_owner(y), axis(t, 1));
  x->edge = each_one(t, tensor(t, "parents.edge", &y->all, 1, number(t, 0), y->all));
  define_sum(y, x->edge, at, i32_of(t, axis(t, 1)));
  x->parent = each_one(t, tensor(t, "parents", &y->all, 1, number(t, 0), y->g->n));
  neo_tensor_at(m, x->parent)->apart = y->g->first;
  define_sum(y, x->parent, at, neo_load(m, y->g->place, &owner, 1, t->span));
}

/* The edges are those of the tensor of children. */
static edges edges_of(levels *s, const levels_graph *g, levels_index *x) {
  neo_module *m = s->m;
  edges y = {{s, x->child, neo_tensor_at(m, x->child)->span}, g, x, 0, {{0}}, {0}};
  bool list = levels_is_list(s, x->child);
  y.rank = neo_tensor_rank(m, x->child);
  for (uint32_t k = 0; k < y.rank; k++)
    y.extent[k] = k || list ? neo_tensor_extent(m, x->child, k) : g->n;
  y.all = list ? y.extent[0]
               : neo_op2(m, NEO_OP_MUL, g->n, levels_int(s, levels_slots_of(s, x->child)));
  return y;
}

void levels_define_parents(levels *s, levels_graph *g, levels_index *x) {
  neo_module *m = s->m;
  neo_expr slots = levels_int(s, levels_slots_of(s, x->child)), zero = levels_int(s, 0);
  edges y = edges_of(s, g, x);
  const tables *t = &y.t;
  neo_tensor count = tensor(t, "parents.count", &g->n, 1, zero, plus(t, y.all, 1));
  define_sum(&y, count, x->child, one(t));
  neo_tensor first = define_first(t, "parents.first", count, g->n, y.all);
  neo_tensor at = define_at(&y, first, count);
  x->end = define_end(&y, first, count);
  if (levels_is_list(s, x->child)) {
    define_edges(&y, at);
    return;
  }
  neo_expr vertex = axis(t, 1), edge = neo_load(m, g->place, &vertex, 1, t->span);
  x->edge = each_one(t, tensor(t, "parents", &y.all, 1, zero, y.all));
  neo_tensor_at(m, x->edge)->apart = g->first;
  neo_tensor_at(m, x->edge)->adjacent = is_chain(s, g);
  neo_tensor_at(m, x->edge)->parts = levels_slots_of(s, x->child);
  if (y.rank > 1) {
    edge = neo_op2(m, NEO_OP_MUL, edge, i32_of(t, slots));
    edge = neo_op2(m, NEO_OP_ADD, edge, i32_of(t, number_of(&y, 2, 1)));
  }
  define_sum(&y, x->edge, at, edge);
}

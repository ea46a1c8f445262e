/* Static definitions of what belongs to vertices. */
#include "tests/pairs/gen_vertex.h"

/* A read of the tensor at the current indices, the first of which is the vertex. */
static const char *plain(pgen *g, uint32_t k) {
  return pg_read_plain(g, k);
}

static void define_rows(pvertices *v, const pgraph *graph, ptensor *y, const char *value) {
  pgen *g = &v->g;
  const char *left = pg_left_of(g, y);
  g->exact = g->exact && !neo_type_is_float(y->type);
  pv_has_rows(v, y, graph);
  pg_define(g, y, left, value);
  v->batch |= (uint64_t)1 << y->line;
}

static void indices_of(pgen *g, const uint32_t *dim, uint32_t rank) {
  pg_begin(g);
  for (uint32_t k = 0; k < rank; k++)
    (void)pg_index(g, dim[k], false);
}

static const char *const shapes[] = {"tanh(%s)*0.5",    "sin(%s)",           "max(%s, 0.25)",
                                     "(%s)*0.5 - 0.25", "sigmoid(%s) - 0.5", "exp(min(%s, 1))*0.5",
                                     "softplus(%s)",    "gelu(%s)",          "abs(%s)"};

static bool map(pvertices *v, const pgraph *graph) {
  pgen *g = &v->g;
  uint32_t k = pv_some_rows(v, graph, 0, 3, true);
  if (k == UINT32_MAX)
    return false;
  ptensor x = g->tensors.at[k], y = pg_result(g, x.type, x.dim, x.rank);
  indices_of(g, x.dim, x.rank);
  const char *value = neo_arena_printf(g->arena, PG_PICK(g, shapes), plain(g, k));
  uint32_t other = pv_some_rows(v, graph, x.rank - 1, x.rank - 1, true);
  bool fits = other != UINT32_MAX && g->tensors.at[other].type == x.type;
  for (uint32_t i = 0; fits && i < x.rank; i++)
    fits = g->tensors.at[other].dim[i] == x.dim[i];
  if (fits)
    value =
        neo_arena_printf(g->arena, pg_chance(g, 50) ? "%s*%s" : "%s + %s", value, plain(g, other));
  g->has |= PAIRS_BIT(PAIRS_FUNCTION);
  define_rows(v, graph, &y, value);
  return true;
}

/* A layer: each row times a matrix. */
static bool layer(pvertices *v, const pgraph *graph) {
  pgen *g = &v->g;
  uint32_t k = pv_some_rows(v, graph, 1, 1, true), e = pg_extent(g);
  if (k == UINT32_MAX || g->extents.at[e].rows)
    return false;
  ptensor x = g->tensors.at[k];
  uint32_t w = pv_weights(v, x.type, (uint32_t[]){x.dim[1], e}, 2);
  ptensor m = g->tensors.at[w], y = pg_result(g, x.type, (uint32_t[]){graph->vertices, e}, 2);
  indices_of(g, y.dim, 2);
  pg_take(g, &x);
  pg_take(g, &m);
  g->has |= PAIRS_BIT(PAIRS_SUM) | PAIRS_BIT(PAIRS_PRODUCT);
  define_rows(v, graph, &y,
              neo_arena_printf(g->arena, "0.25*(sum[t] %s[i, t]*%s[t, j])", x.name, m.name));
  return true;
}

/* A row of a table, by an element of the vertex. */
static bool embedding(pvertices *v, const pgraph *graph) {
  pgen *g = &v->g;
  uint32_t words = pg_extent(g), e = pg_extent(g);
  if (g->extents.at[words].rows || g->extents.at[e].rows || !g->extents.at[words].least)
    return false;
  pg_begin(g);
  uint32_t at = pv_row_input(v, graph, NEO_I32_T, NULL, 0, words);
  uint32_t table =
      pv_weights(v, pg_chance(g, 70) ? NEO_F32_T : NEO_F64_T, (uint32_t[]){words, e}, 2);
  ptensor t = g->tensors.at[table], w = g->tensors.at[at],
          y = pg_result(g, t.type, (uint32_t[]){graph->vertices, e}, 2);
  indices_of(g, y.dim, 2);
  pg_take(g, &t);
  g->reads |= (uint64_t)1 << w.line;
  g->has |= PAIRS_BIT(PAIRS_LOOKUP);
  define_rows(v, graph, &y, neo_arena_printf(g->arena, "%s[%s[i], j]", t.name, w.name));
  return true;
}

static bool reduced(pvertices *v, const pgraph *graph) {
  static const char *const of[] = {"sum[t] %s[i, t]", "max[t] %s[i, t]",
                                   "mean[t] %s[i, t]*%s[i, 0]", "logsumexp[t] %s[i, t]",
                                   "sum[t] %s[i, t]*%s[i, t]"};
  pgen *g = &v->g;
  uint32_t k = pv_some_rows(v, graph, 1, 1, true);
  if (k == UINT32_MAX || !g->extents.at[g->tensors.at[k].dim[1]].least)
    return false;
  ptensor x = g->tensors.at[k], y = pg_result(g, x.type, x.dim, 1);
  indices_of(g, y.dim, 1);
  pg_take(g, &x);
  g->has |= PAIRS_BIT(PAIRS_SUM);
  define_rows(v, graph, &y, neo_arena_printf(g->arena, PG_PICK(g, of), x.name, x.name));
  return true;
}

/* The sum over the children, or the parents, as in iterations of a network over a graph. */
static bool neighbours(pvertices *v, const pgraph *graph) {
  pgen *g = &v->g;
  uint32_t k = pv_some_rows(v, graph, 1, 1, true);
  if (k == UINT32_MAX)
    return false;
  ptensor x = g->tensors.at[k], y = pg_result(g, x.type, x.dim, 2);
  const char *c = graph->child;
  indices_of(g, y.dim, 2);
  pg_take(g, &x);
  g->reads |= (uint64_t)1 << graph->line;
  g->has |= PAIRS_BIT(PAIRS_SUM) | PAIRS_BIT(PAIRS_LOOKUP);
  bool up = pg_chance(g, 60);
  g->p->ordered = g->p->ordered || !up;
  const char *value =
      up ? neo_arena_printf(g->arena, "0.25*(sum[u < %s] (%s[%s[i, u], j] else 0.5))",
                            pg_extent_text(g, graph->places), x.name, c)
         : neo_arena_printf(g->arena, "0.5*(sum[t < %s where %s[t, 0] == i32(i)] %s[t, j])",
                            pg_extent_text(g, graph->vertices), c, x.name);
  define_rows(v, graph, &y, value);
  return true;
}

/* Rows of vertices that an input names. */
static bool at_roots(pvertices *v, const pgraph *graph) {
  pgen *g = &v->g;
  uint32_t k = pv_some_rows(v, graph, 0, 2, true);
  if (k == UINT32_MAX || graph->roots == NO_EXTENT)
    return false;
  ptensor x = g->tensors.at[k], y = pg_result(g, x.type, x.dim, x.rank);
  y.dim[0] = graph->roots;
  y.of_roots = true;
  indices_of(g, y.dim, y.rank);
  pg_take(g, &x);
  g->reads |= (uint64_t)1 << g->tensors.at[graph->root].line;
  pg_kind(g, PAIRS_R_ROOTS);
  static const char *const more[] = {"", ", j", ", j, k"};
  define_rows(v, graph, &y,
              neo_arena_printf(g->arena, "%s[%s[i]%s]", x.name, g->tensors.at[graph->root].name,
                               more[x.rank - 1]));
  return true;
}

bool pv_static(pvertices *v) {
  const pgraph *graph = pv_some_graph(v);
  switch (pg_below(&v->g, 9)) {
  case 0:
  case 1:
    return map(v, graph);
  case 2:
    return layer(v, graph);
  case 3:
    return embedding(v, graph);
  case 4:
    return reduced(v, graph);
  case 5:
    return neighbours(v, graph);
  case 6:
    return pv_function(v);
  default:
    return at_roots(v, graph);
  }
}

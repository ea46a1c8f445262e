/* Recurrences over vertices that are written out: reads of children and sums over parents. */
#include "tests/pairs/gen_vertex.h"

typedef struct {
  pvertices *v;
  pgen *g;
  const pgraph *graph;
  const char *name, *child, *places, *end;
} by_hand;

/* "+ x[i, j]" of the tensor at hand. */
static const char *reads_children(by_hand *h, uint32_t w) {
  static const char *const plain[] = {"0.25*(sum[u < %s] (%s[%s[i, u], j] else 0.5))",
                                      "0.5*(max[u < %s] (%s[%s[i, u], j] else 0))",
                                      "0.25*(sum[u < %s] tanh((%s[%s[i, u], j] else 1)))",
                                      "min[u < %s] (%s[%s[i, u], j] else 0.75)"};
  pgen *g = h->g;
  if (w == UINT32_MAX) {
    g->has |= PAIRS_BIT(PAIRS_SUM);
    return neo_arena_printf(g->arena, PG_PICK(g, plain), h->places, h->name, h->child);
  }
  ptensor m = g->tensors.at[w];
  pg_take(g, &m);
  pg_kind(g, PAIRS_R_PRODUCT);
  pg_kind(g, m.rank > 2 ? PAIRS_R_PER_SLOT : PAIRS_R_CHILD_SUM);
  g->has |= PAIRS_BIT(PAIRS_SUM) | PAIRS_BIT(PAIRS_PRODUCT);
  return neo_arena_printf(
      g->arena, "0.25*(sum[u < %s, w < %s] %s[%sw, j]*(%s[%s[i, u], w] else 0.5))", h->places,
      pg_extent_text(g, m.dim[m.rank - 1]), m.name, m.rank > 2 ? "u, " : "", h->name, h->child);
}

static const char *reads_parents(by_hand *h, uint32_t w) {
  pgen *g = h->g;
  g->has |= PAIRS_BIT(PAIRS_SUM);
  if (w == UINT32_MAX) {
    const char *place = pg_chance(g, 50) ? ", u < " : "";
    return neo_arena_printf(g->arena, "0.25*(sum[t < %s%s%s where %s[t, %s] == i32(i)] %s[t, j])",
                            h->end, place, *place ? h->places : "", h->child, *place ? "u" : "0",
                            h->name);
  }
  ptensor m = g->tensors.at[w];
  pg_take(g, &m);
  pg_kind(g, PAIRS_R_PRODUCT);
  g->has |= PAIRS_BIT(PAIRS_PRODUCT);
  return neo_arena_printf(
      g->arena, "0.25*(sum[t < %s, u < %s, w < %s where %s[t, u] == i32(i)] %s[%sw, j]*%s[t, w])",
      h->end, h->places, pg_extent_text(g, m.dim[m.rank - 1]), h->child, m.name,
      m.rank > 2 ? "u, " : "", h->name);
}

static void begin_rows(by_hand *h, pvertices *v, const pgraph *graph, ptensor *y) {
  *h = (by_hand){.v = v, .g = &v->g, .graph = graph, .name = y->name, .child = graph->child};
  pg_begin(h->g);
  for (uint32_t k = 0; k < y->rank; k++)
    (void)pg_index(h->g, y->dim[k], false);
  h->places = pg_extent_text(h->g, graph->places);
  h->end = pg_extent_text(h->g, graph->vertices);
  h->g->reads |= (uint64_t)1 << graph->line;
  h->g->has |= PAIRS_BIT(PAIRS_LOOKUP);
  pg_kind(h->g, PAIRS_R_BY_HAND);
  pg_note_type(h->g, y->type);
  pg_note_rounds(h->g, graph->vertices);
}

static void define(by_hand *h, ptensor *y, bool has_rows, const char *value) {
  const char *left = pg_left_of(h->g, y);
  h->g->exact = !neo_type_is_float(y->type);
  if (has_rows)
    pv_has_rows(h->v, y, h->graph);
  pg_define(h->g, y, left, value);
  h->v->batch |= (uint64_t)1 << y->line;
}

/* How many vertices there are below, how deep it is, and the like. */
static bool counts(pvertices *v, const pgraph *graph) {
  static const char *const of[] = {"1 + (sum[u < %s] (%s[%s[i, u]] else 0))",
                                   "max(0, max[u < %s] (1 + (%s[%s[i, u]] else -1)))",
                                   "1 - (min[u < %s] (%s[%s[i, u]] else 2))"};
  ptensor y = pg_result(&v->g, pg_chance(&v->g, 60) ? NEO_I32_T : NEO_I64_T, NULL, 0);
  y.dim[y.rank++] = graph->vertices;
  by_hand h;
  begin_rows(&h, v, graph, &y);
  h.g->has |= PAIRS_BIT(PAIRS_SUM);
  pg_kind(h.g, PAIRS_R_FORWARD);
  define(&h, &y, true, neo_arena_printf(h.g->arena, PG_PICK(h.g, of), h.places, h.name, h.child));
  return true;
}

bool pv_by_hand(pvertices *v) {
  static const char *const around[] = {"tanh(%s + %s)", "0.5*%s + %s", "sin(%s)*0.5 + %s",
                                       "max(%s, %s)", "%s*sigmoid(%s)"};
  pgen *g = &v->g;
  const pgraph *graph = pv_some_graph(v);
  if (pg_chance(g, 20))
    return counts(v, graph);
  uint32_t x = pv_some_rows(v, graph, 1, 1, true);
  if (x == UINT32_MAX)
    return false;
  ptensor t = g->tensors.at[x], y = pg_result(g, t.type, t.dim, 2);
  bool down = pg_chance(g, 35);
  uint32_t dim[] = {graph->places, t.dim[1], t.dim[1]}, w = UINT32_MAX;
  pg_begin(g);
  if (pg_chance(g, 60)) {
    bool own = pg_chance(g, 50);
    w = pv_weights(v, t.type, own ? dim : dim + 1, own ? 3 : 2);
  }
  by_hand h;
  begin_rows(&h, v, graph, &y);
  g->p->ordered = g->p->ordered || down;
  pg_kind(g, down ? PAIRS_R_BACKWARD : PAIRS_R_FORWARD);
  const char *own = pg_read_plain(g, x), *read = (down ? reads_parents : reads_children)(&h, w);
  /* One sum over all vertices and a row of each is added up by their numbers, which are those of a batch. */
  define(&h, &y, !down || w == UINT32_MAX,
         neo_arena_printf(g->arena, PG_PICK(g, around), own, read));
  return true;
}

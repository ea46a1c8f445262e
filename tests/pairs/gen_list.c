/* Lists of edges of graphs, beside their places for children, in programs of loops in loops. What comes along a list is no
 * tensor of the block that others read: reductions of it are. */
#include "tests/pairs/gen_cell.h"

/* ---- graphs */

const char *pv_list(pvertices *v, pgraph *x, int64_t vertices) {
  static const int64_t edges[] = {0, 1, 2, 5, 9, 20, 40};
  pgen *g = &v->g;
  if (!g->nested || !pg_chance(g, 50))
    return "";
  int64_t now = vertices > 1 ? PG_PICK(g, edges) : 0;
  x->edges = neo_arena_printf(g->arena, "%s.near", x->name);
  g->p->listed = true;
  const char *size = neo_arena_printf(g->arena, "%s.edges", x->edges);
  NEO_PUSH(g->arena, &g->p->sizes, (pairs_size){size, now});
  return neo_arena_printf(g->arena, "near.edges <= %d, ", (int)(now + 3));
}

void pv_list_feature(pvertices *v, pgraph *x) {
  pgen *g = &v->g;
  if (!x->edges)
    return;
  pg_begin(g);
  g->reads = (uint64_t)1 << x->line;
  x->feature = pg_name(g, "x");
  const char *text = neo_arena_printf(g->arena, "input %s[%s.edges] : f64", x->feature, x->edges);
  x->feature_line =
      pg_end(g, (pairs_statement){.kind = PAIRS_GIVEN, .text = text, .name = x->feature});
  v->batch |= (uint64_t)1 << x->feature_line;
}

/* ---- vertex functions */

static const char *indices(cell *c, const ptensor *t) {
  const char *s = "u";
  for (uint32_t k = 0; k < t->rank; k++)
    s = neo_arena_printf(c->g->arena, "%s, %s", s, c->g->index[k].name);
  return s;
}

void pc_gather_list(cell *c) {
  static const neo_type types[] = {NEO_F64_T, NEO_F64_T, NEO_F32_T};
  pgen *g = c->g;
  if (!c->graph->edges || !pg_chance(g, 80))
    return;
  ptensor t = pg_result(g, PG_PICK(g, types), NULL, 0);
  uint32_t e = pg_extent(g);
  if (pg_chance(g, 70) && !g->extents.at[e].runtime && g->extents.at[e].now <= MOST_ROW_WORK / 8)
    t.dim[t.rank++] = e;
  t.name = pg_name(g, "h");
  pg_note_type(g, t.type);
  pg_kind(g, PAIRS_R_EDGES);
  const char *more = t.rank ? neo_arena_printf(g->arena, ", %s", pg_extent_text(g, e)) : "";
  pc_add_line(c, neo_arena_printf(g->arena, "gather %s[%s.edges%s] : %s", t.name, c->graph->edges,
                                  more, pg_type_text(t.type)));
  g->reads |= (uint64_t)1 << c->graph->feature_line;
  c->listed = t;
}

/* A reduction for the edge, of the value that is read with its feature. */
static const char *reduced_edge(cell *c, const ptensor *t, const char *read) {
  pgen *g = c->g;
  const char *type = pg_type_text(t->type), *name = pg_name(g, "b"),
             *left = neo_arena_printf(g->arena, "%s[u", name);
  for (uint32_t k = 0; k < t->rank; k++)
    left = neo_arena_printf(g->arena, "%s, %s < %s", left, g->index[k].name,
                            pg_extent_text(g, t->dim[k]));
  pc_add_line(c, neo_arena_printf(g->arena, "%s] : %s = mean[q < 3] sin(%s*%s(%s[u]) + %s(q))",
                                  left, type, read, type, c->graph->feature, type));
  return neo_arena_printf(g->arena, "%s[%s]", name, indices(c, t));
}

/* "h[u, i]", or a value of the edge that is made of it. */
static const char *value_of_edge(cell *c, const ptensor *t) {
  static const char *const values[] = {"tanh(%s)*%s(%s[u])", "%s + 0.5*%s(%s[u])", "%s*%s(%s[u])"};
  pgen *g = c->g;
  const char *at = indices(c, t);
  const char *read = neo_arena_printf(g->arena, "%s[%s]", t->name, at);
  if (pg_chance(g, 40))
    return read;
  if (pg_chance(g, 25))
    return reduced_edge(c, t, read);
  const char *type = pg_type_text(t->type),
             *value = neo_arena_printf(g->arena, PG_PICK(g, values), read, type, c->graph->feature);
  if (pg_chance(g, 50))
    return value;
  const char *name = pg_name(g, "b"), *left = neo_arena_printf(g->arena, "%s[u", name);
  for (uint32_t k = 0; k < t->rank; k++)
    left = neo_arena_printf(g->arena, "%s, %s < %s", left, g->index[k].name,
                            pg_extent_text(g, t->dim[k]));
  pc_add_line(c, neo_arena_printf(g->arena, "%s] : %s = %s", left, type, value));
  return neo_arena_printf(g->arena, "%s[%s]", name, at);
}

void pc_reduce_list(cell *c) {
  static const char *const reducers[] = {"sum", "sum", "sum", "max", "min", "mean", "logsumexp"};
  pgen *g = c->g;
  for (uint64_t n = c->listed.name ? 1 + pg_below(g, 2) : 0; n > 0; n--) {
    ptensor t = c->listed;
    pc_begin(c, &t);
    const char *value = value_of_edge(c, &t), *where = "";
    if (pg_chance(g, 30))
      where = neo_arena_printf(g->arena, " where %s[u] > 0", c->graph->feature);
    const char *all =
        neo_arena_printf(g->arena, "(%s[u%s] %s)", PG_PICK(g, reducers), where, value);
    t.name = pg_name(g, "b");
    const char *left = pg_left_of(g, &t); /* of nothing a maximum is infinite, a mean NaN */
    pc_add_line(
        c, neo_arena_printf(g->arena, "%s = select(abs(%s) < 64, 0.25*%s, 0)", left, all, all));
    pc_keep(c, t);
  }
}

void pc_scatter_list(cell *c) {
  pgen *g = c->g;
  ptensor t = c->listed, h = t;
  if (!t.name)
    return;
  h.rank++;
  for (uint32_t d = 0; d < t.rank; d++)
    h.dim[d + 1] = t.dim[d];
  uint32_t like = pg_chance(g, 60) ? pc_alike(c, &h) : UINT32_MAX;
  if (like != UINT32_MAX) {
    pc_add_line(c, neo_arena_printf(g->arena, "scatter %s = %s", t.name, g->tensors.at[like].name));
    return;
  }
  pc_begin(c, &t);
  const char *left = pg_left(g, t.name, t.rank);
  pc_add_line(c, neo_arena_printf(g->arena, "scatter %s = %s", left,
                                  pg_damped(g, t.type, pc_value(c, &t, UINT32_MAX, 1))));
}

/* Losses over graphs, and gradients. */
#include "tests/pairs/gen_vertex.h"

static uint32_t some_smooth(pvertices *v) {
  pgen *g = &v->g;
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = 0; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    bool known = t->rows && !t->given && t->smooth && t->rank;
    if (known && (t->type == NEO_F32_T || t->type == NEO_F64_T) &&
        pg_below(g, n += 1 + k / 8) < 1 + k / 8)
      at = k;
  }
  return at;
}

static uint32_t source(pgen *g, uint64_t from) {
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = 0; k < g->tensors.n && k < PARAMETER; k++)
    if (from >> k & 1 && neo_type_is_float(g->tensors.at[k].type)) {
      n += g->tensors.at[k].rows ? 3 : 1;
      if (pg_below(g, n) < (g->tensors.at[k].rows ? 3u : 1u))
        at = k;
    }
  return at;
}

static uint32_t define_plain(pvertices *v, ptensor t, const char *value) {
  pgen *g = &v->g;
  pg_define(g, &t, t.name, value);
  v->batch |= (uint64_t)1 << t.line;
  return (uint32_t)g->tensors.n - 1;
}

static uint32_t sum_of(pvertices *v, uint32_t y, const char *text) {
  pgen *g = &v->g;
  ptensor t = g->tensors.at[y];
  pg_begin(g);
  pg_take(g, &t);
  g->has |= PAIRS_BIT(PAIRS_SUM);
  g->exact = false;
  return define_plain(v, pg_result(g, t.type, NULL, 0),
                      neo_arena_printf(g->arena, text, t.name, t.name));
}

/* The gradient of a sum over vertices, each of which adds its own row, with respect to rows of the
 * same graph. */
static uint32_t gradient(pvertices *v, const char *text, const uint64_t reads, uint32_t x,
                         bool has_rows, pairs_feature f) {
  pgen *g = &v->g;
  ptensor to = g->tensors.at[x];
  pg_begin(g);
  pg_take(g, &to);
  g->reads |= reads;
  g->has |= PAIRS_BIT(PAIRS_GRAD) | PAIRS_BIT(f);
  pg_kind(g, f == PAIRS_GRAD2 ? PAIRS_R_GRAD2 : PAIRS_R_GRAD);
  g->from = 0;
  g->exact = false;
  ptensor d = pg_result(g, to.type, to.dim, to.rank);
  d.of_roots = to.of_roots;
  if (has_rows)
    pv_has_rows(v, &d, &v->graph[to.rows - 1]);
  return define_plain(v, d, text);
}

static uint32_t alike(pvertices *v, const ptensor *y) {
  pgen *g = &v->g;
  for (uint32_t k = 0; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    bool like =
        t->rows == y->rows && t->type == y->type && t->rank == y->rank && t->name != y->name;
    for (uint32_t i = 0; like && i < y->rank; i++)
      like = t->dim[i] == y->dim[i];
    if (like)
      return k;
  }
  return UINT32_MAX;
}

bool pv_loss(pvertices *v) {
  static const char *const losses[] = {"sum[..] %s[..]*%s[..]", "sum[..] sin(%s[..])",
                                       "sum[..] 0.5*%s[..]", "sum[..] tanh(%s[..])*%s[..]"};
  pgen *g = &v->g;
  uint32_t y = some_smooth(v);
  if (y == UINT32_MAX)
    return false;
  ptensor t = g->tensors.at[y];
  uint32_t x = source(g, t.from), seed = pg_chance(g, 25) ? alike(v, &t) : UINT32_MAX;
  if (x == UINT32_MAX || pg_chance(g, 15)) {
    (void)sum_of(v, y, pg_chance(g, 50) ? "mean[..] %s[..]^2" : losses[0]);
    return true;
  }
  ptensor to = g->tensors.at[x];
  bool rows = to.rows == t.rows;
  if (seed != UINT32_MAX) {
    const char *s = g->tensors.at[seed].name;
    uint64_t reads = (uint64_t)1 << t.line | (uint64_t)1 << g->tensors.at[seed].line;
    (void)gradient(v, neo_arena_printf(g->arena, "grad(%s, %s, seed = %s)", t.name, to.name, s),
                   reads, x, rows, PAIRS_GRAD);
    return true;
  }
  uint32_t loss = sum_of(v, y, PG_PICK(g, losses));
  uint64_t reads = (uint64_t)1 << g->tensors.at[loss].line;
  uint32_t d =
      gradient(v, neo_arena_printf(g->arena, "grad(%s, %s)", g->tensors.at[loss].name, to.name),
               reads, x, rows, PAIRS_GRAD);
  if (!to.rank || !pg_chance(g, 25))
    return true;
  uint32_t along = sum_of(v, d, neo_arena_printf(g->arena, "sum[..] %%s[..]*%s[..]", to.name));
  g->p->lines.at[g->tensors.at[along].line].reads |= (uint64_t)1 << to.line;
  (void)gradient(v, neo_arena_printf(g->arena, "grad(%s, %s)", g->tensors.at[along].name, to.name),
                 (uint64_t)1 << g->tensors.at[along].line, x, rows, PAIRS_GRAD2);
  return true;
}

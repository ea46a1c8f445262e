/* Forms of several statements about the rows of a matrix: lengths, normalised rows, reductions that
 * share a value, attention. */
#include "tests/pairs/gen.h"

/* How many elements of a row, then a length that a range may end at. */
bool pg_count(pgen *g) {
  uint32_t i = pg_extent(g), c = pg_extent(g);
  (void)pg_index(g, i, false);
  ptensor n = pg_result(g, NEO_I32_T, &i, 1), t;
  const char *left = pg_left_of(g, &n), *end = pg_extent_text(g, c);
  (void)pg_index(g, c, true);
  const char *of = pg_compare(g, 0);
  g->n_index = 1;
  g->has |= PAIRS_BIT(PAIRS_SUM);
  g->from = 0;
  n.reduced = true;
  pg_define(g, &n, left, neo_arena_printf(g->arena, "sum[t < %s] i32(%s)", end, of));
  pg_begin(g);
  (void)pg_index(g, i, false);
  t = pg_result(g, NEO_I32_T, &i, 1);
  t.bound = c;
  t.up_to = t.reduced = true;
  left = pg_left(g, t.name, 1);
  end = pg_extent_text(g, c);
  const char *read = pg_read_plain(g, (uint32_t)g->tensors.n - 1);
  pg_define(g, &t, neo_arena_printf(g->arena, "%s : i32 < %s + 1", left, end),
            neo_arena_printf(g->arena, "i32(clamp(i64(%s), 0, %s))", read, end));
  return pg_chance(g, 30) || pg_follow(g, (uint32_t)g->tensors.n - 1);
}

static uint32_t row_step(pgen *g, neo_type type, const uint32_t *dim, uint32_t rank, pairs_set has,
                         uint64_t from, const char *value) {
  ptensor t = pg_result(g, type, dim, rank);
  t.reduced = has & (PAIRS_BIT(PAIRS_MAX) | PAIRS_BIT(PAIRS_SUM));
  for (uint32_t k = 0; k < rank; k++)
    (void)pg_index(g, dim[k], false);
  const char *left = pg_left_of(g, &t);
  g->has |= has;
  g->from |= from;
  g->exact = false;
  pg_define(g, &t, left, value);
  pg_begin(g);
  return (uint32_t)g->tensors.n - 1;
}

/* exp of a row over its sum, of the tensor k[i, j]. */
static uint32_t softmax_of(pgen *g, uint32_t k) {
  ptensor x = g->tensors.at[k];
  uint32_t dim[] = {x.dim[0], x.dim[1]};
  const char *n = g->extents.at[dim[1]].text;
  uint64_t end = (uint64_t)1 << g->extents.at[dim[1]].line;
  pg_begin(g);
  pg_take(g, &x);
  g->reads |= end;
  uint32_t m = row_step(g, x.type, dim, 1, PAIRS_BIT(PAIRS_MAX), x.from,
                        neo_arena_printf(g->arena, "max[t < %s] %s[i, t]", n, x.name));
  pg_take(g, &x);
  pg_take(g, &g->tensors.at[m]);
  uint32_t e =
      row_step(g, x.type, dim, 2, PAIRS_BIT(PAIRS_FUNCTION), x.from,
               neo_arena_printf(g->arena, "exp(%s[i, j] - %s[i])", x.name, g->tensors.at[m].name));
  pg_take(g, &g->tensors.at[e]);
  g->reads |= end;
  uint32_t z =
      row_step(g, x.type, dim, 1, PAIRS_BIT(PAIRS_SUM), x.from,
               neo_arena_printf(g->arena, "sum[t < %s] %s[i, t]", n, g->tensors.at[e].name));
  pg_take(g, &g->tensors.at[e]);
  pg_take(g, &g->tensors.at[z]);
  return row_step(
      g, x.type, dim, 2, 0, x.from,
      neo_arena_printf(g->arena, "%s[i, j]/%s[i]", g->tensors.at[e].name, g->tensors.at[z].name));
}

/* ---- reductions of the same rows, which share a value that is worth keeping */

static const char *row_value(pgen *g, uint32_t x) {
  static const char *const form[][2] = {
      {"tanh(", ")"}, {"exp(min(", ", 2))"}, {"gelu(", ")"}, {"sin(", ")"}, {"sigmoid(", ")"}};
  uint64_t k = (g->p->seed + x) % (sizeof form / sizeof *form); /* of a tensor always the same */
  const char *read = pg_read_plain(g, x);
  g->has |= PAIRS_BIT(PAIRS_FUNCTION);
  g->exact = false;
  return neo_arena_printf(g->arena, "%s%s%s", form[k][0], read, form[k][1]);
}

/* "reducer[t < N where ...] value", of a matrix's row; `before`: what its value is taken from. */
static uint32_t row_reduction(pgen *g, uint32_t x, const char *before) {
  ptensor of = g->tensors.at[x];
  uint32_t i = of.dim[0], c = of.dim[1];
  static const pairs_feature all[] = {PAIRS_SUM, PAIRS_MAX,  PAIRS_MIN,      PAIRS_PROD,
                                      PAIRS_ANY, PAIRS_ALL,  PAIRS_ARGMAX,   PAIRS_ARGMIN,
                                      PAIRS_SUM, PAIRS_MEAN, PAIRS_LOGSUMEXP};
  pairs_feature reducer = PG_PICK(g, all);
  bool logical = reducer == PAIRS_ANY || reducer == PAIRS_ALL;
  bool found = reducer == PAIRS_ARGMAX || reducer == PAIRS_ARGMIN;
  pg_begin(g);
  (void)pg_index(g, i, false);
  ptensor y = pg_result(g, logical ? NEO_BOOL_T : found ? NEO_I32_T : of.type, &i, 1);
  const char *left = found ? pg_left(g, y.name, 1) : pg_left_of(g, &y);
  const char *range = pg_range(g, c), *where = pg_chance(g, 40) ? pg_where(g) : NULL;
  const char *value = row_value(g, x);
  if (before)
    value = neo_arena_printf(g->arena, "%s - %s", value, before);
  if (logical)
    value = neo_arena_printf(g->arena, "%s > %s", value, pg_literal(g, of.type));
  g->n_index = 1;
  g->has |= PAIRS_BIT(reducer) | PAIRS_BIT(pg_type_feature(of.type));
  g->from = logical || found ? 0 : g->from;
  y.reduced = true;
  y.found = found;
  y.bound = found ? c : NO_EXTENT;
  pg_define(g, &y, left,
            neo_arena_printf(g->arena, "%s[%s%s%s] (%s)", pairs_feature_text(reducer), range,
                             where ? " where " : "", where ? where : "", value));
  /* A function of t is not exact, so which positions and truths it has may differ. */
  g->tensors.at[g->tensors.n - 1].exact = false;
  return (uint32_t)g->tensors.n - 1;
}

static bool is_row_matrix(const pgen *g, const ptensor *t) {
  return (t->type == NEO_F32_T || t->type == NEO_F64_T) && t->rank == 2 &&
         !g->extents.at[t->dim[1]].runtime;
}

/* A window along the row. */
static void row_window(pgen *g, uint32_t x) {
  ptensor of = g->tensors.at[x];
  bool stride = pg_chance(g, 50), apart = pg_chance(g, 50);
  pg_begin(g);
  ptensor y = pg_result(g, of.type, of.dim, 1);
  (void)pg_index(g, of.dim[0], false);
  const char *left = pg_left_of(g, &y);
  pg_take(g, &of);
  g->has |= PAIRS_BIT(PAIRS_WINDOW) | PAIRS_BIT(PAIRS_ELSE) | PAIRS_BIT(PAIRS_TWO_AXES) |
            PAIRS_BIT(PAIRS_SUM) | (stride ? PAIRS_BIT(PAIRS_STRIDE) : 0) |
            (apart ? PAIRS_BIT(PAIRS_DILATION) : 0);
  y.reduced = true;
  pg_define(g, &y, left,
            neo_arena_printf(g->arena, "sum[t < %s, r < 2] (%s[i, %st + %sr - 1] else 0.5)",
                             pg_extent_text(g, of.dim[1]), of.name, stride ? "2*" : "",
                             apart ? "2*" : ""));
}

bool pg_rows(pgen *g) {
  uint32_t x = UINT32_MAX;
  for (uint32_t k = 0, n = 0; k < g->tensors.n; k++)
    if (is_row_matrix(g, &g->tensors.at[k]) && pg_below(g, ++n) == 0)
      x = k;
  if (x == UINT32_MAX)
    return false;
  uint32_t first = row_reduction(g, x, NULL);
  ptensor y = g->tensors.at[first];
  const char *before = NULL;
  if (y.type == g->tensors.at[x].type)
    before = neo_arena_printf(g->arena, "%s[i]", y.name);
  for (uint64_t n = 1 + pg_below(g, 2); n > 0; n--) {
    uint32_t next = row_reduction(g, x, before);
    if (before) {
      g->p->lines.at[g->tensors.at[next].line].reads |= (uint64_t)1 << y.line;
      g->tensors.at[next].from |= g->tensors.at[next].smooth ? y.from : 0;
    }
  }
  if (pg_chance(g, 35))
    row_window(g, x);
  return true;
}

static uint32_t float_matrix(pgen *g) {
  for (size_t k = g->tensors.n; k-- > 0;) {
    const ptensor *t = &g->tensors.at[k];
    if (neo_type_is_float(t->type) && t->rank == 2 && pg_chance(g, 60))
      return (uint32_t)k;
  }
  uint32_t dim[] = {pg_extent(g), pg_extent(g)};
  return pg_given(g, pg_float(g), dim, 2, NO_EXTENT, false);
}

bool pg_softmax(pgen *g) {
  (void)softmax_of(g, float_matrix(g));
  return true;
}

/* Products, the softmax of their rows, and products with that. */
bool pg_attention(pgen *g) {
  uint32_t i = pg_extent(g), j = pg_extent(g), d = pg_extent(g);
  if (g->extents.at[i].now * g->extents.at[j].now * g->extents.at[d].now > 2 * MOST_WORK)
    return false;
  neo_type type = pg_chance(g, 80) ? NEO_F32_T : NEO_F64_T;
  uint32_t q = pg_given(g, type, (uint32_t[]){i, d}, 2, NO_EXTENT, false);
  uint32_t k = pg_given(g, type, (uint32_t[]){j, d}, 2, NO_EXTENT, false);
  uint32_t v = pg_given(g, type, (uint32_t[]){j, d}, 2, NO_EXTENT, false);
  pairs_set product = PAIRS_BIT(PAIRS_PRODUCT) | PAIRS_BIT(PAIRS_SUM);
  pg_begin(g);
  pg_take(g, &g->tensors.at[q]);
  pg_take(g, &g->tensors.at[k]);
  const char *where = pg_chance(g, 30) ? " where t % 2 == 0" : "";
  uint32_t s = row_step(g, type, (uint32_t[]){i, j}, 2, product, g->from,
                        neo_arena_printf(g->arena, "0.25*(sum[t%s] %s[i, t]*%s[j, t])", where,
                                         g->tensors.at[q].name, g->tensors.at[k].name));
  uint32_t p = softmax_of(g, s);
  pg_take(g, &g->tensors.at[p]);
  pg_take(g, &g->tensors.at[v]);
  (void)row_step(g, type, (uint32_t[]){i, d}, 2, product, g->from,
                 neo_arena_printf(g->arena, "sum[t] %s[i, t]*%s[t, j]", g->tensors.at[p].name,
                                  g->tensors.at[v].name));
  return true;
}

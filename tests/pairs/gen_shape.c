/* Forms that say something else about indices: pieces, reshapes, running reductions, any rank. */
#include "tests/pairs/gen.h"

static bool is_whole(const pgen *g, const ptensor *t) {
  (void)g;
  return t->rank == 2;
}

/* Some tensor of two dimensions, or a new one. */
static uint32_t matrix(pgen *g) {
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = 0; k < g->tensors.n; k++)
    if (is_whole(g, &g->tensors.at[k]) && pg_below(g, ++n) == 0)
      at = k;
  if (at != UINT32_MAX)
    return at;
  uint32_t dim[] = {pg_extent(g), pg_extent(g)};
  return pg_given(g, pg_float(g), dim, 2, NO_EXTENT, false);
}

static const char *touched(pgen *g, neo_type t, const char *e) {
  if (t == NEO_BOOL_T)
    return pg_chance(g, 30) ? neo_arena_printf(g->arena, "(not %s)", e) : e;
  switch (pg_below(g, 5)) {
  case 0:
    return neo_arena_printf(g->arena, "%s*%s", e, pg_literal(g, t));
  case 1:
    return neo_arena_printf(g->arena, "max(%s, %s)", e, pg_literal(g, t));
  case 2:
    return neo_arena_printf(g->arena, "(%s - %s)", e, pg_literal(g, t));
  default:
    return e;
  }
}

/* Two tensors one behind the other, or the parts of one with formulas of their own. */
bool pg_pieces(pgen *g) {
  uint32_t a = matrix(g), i = g->tensors.at[a].dim[0], ca = g->tensors.at[a].dim[1];
  neo_type type = g->tensors.at[a].type;
  uint32_t cb = pg_extent(g);
  uint32_t b = pg_given(g, type, (uint32_t[]){i, cb}, 2, NO_EXTENT, false);
  const pextent ea = g->extents.at[ca], eb = g->extents.at[cb];
  const char *sum =
      neo_arena_printf(g->arena, "%s + %s", pg_extent_text(g, ca), pg_extent_text(g, cb));
  uint32_t e = pg_extent_of(g, sum, ea.now + eb.now, ea.least + eb.least, ea.runtime || eb.runtime);
  pg_begin(g);
  (void)pg_index(g, i, false);
  (void)pg_index(g, e, false);
  ptensor t = pg_result(g, type, (uint32_t[]){i, e}, 2);
  const char *left = pg_left_of(g, &t), *cut = pg_extent_text(g, ca);
  pg_take(g, &g->tensors.at[a]);
  pg_take(g, &g->tensors.at[b]);
  g->has |= PAIRS_BIT(PAIRS_PIECES) | PAIRS_BIT(PAIRS_SELECT);
  const char *x = neo_arena_printf(g->arena, "%s[i, j]", g->tensors.at[a].name);
  const char *y = neo_arena_printf(g->arena, "%s[i, j - %s]", g->tensors.at[b].name, cut);
  pg_define(g, &t, left,
            neo_arena_printf(g->arena, "select(j < %s, %s, %s)", cut, touched(g, type, x),
                             touched(g, type, y)));
  return true;
}

/* Both ways: y[i < M*N] = x[i/N, i % N], then perhaps z[i, j] = y[i*N + j]. */
bool pg_reshape(pgen *g) {
  uint32_t x = matrix(g), m = g->tensors.at[x].dim[0], n = g->tensors.at[x].dim[1];
  const pextent em = g->extents.at[m], en = g->extents.at[n];
  if (en.runtime)
    return false;
  neo_type type = g->tensors.at[x].type;
  const char *size =
      neo_arena_printf(g->arena, "%s*%s", pg_extent_text(g, m), pg_extent_text(g, n));
  uint32_t e = pg_extent_of(g, size, em.now * en.now, em.least * en.least, em.runtime);
  pg_begin(g);
  (void)pg_index(g, e, false);
  ptensor t = pg_result(g, type, &e, 1);
  const char *left = pg_left_of(g, &t), *cut = pg_extent_text(g, n);
  pg_take(g, &g->tensors.at[x]);
  g->has |= PAIRS_BIT(PAIRS_RESHAPE);
  pg_define(
      g, &t, left,
      touched(g, type,
              neo_arena_printf(g->arena, "%s[i/%s, i %% %s]", g->tensors.at[x].name, cut, cut)));
  if (pg_chance(g, 40))
    return true;
  uint32_t flat = (uint32_t)g->tensors.n - 1;
  pg_begin(g);
  (void)pg_index(g, m, false);
  (void)pg_index(g, n, false);
  ptensor z = pg_result(g, type, (uint32_t[]){m, n}, 2);
  left = pg_left_of(g, &z);
  pg_take(g, &g->tensors.at[flat]);
  g->has |= PAIRS_BIT(PAIRS_RESHAPE);
  pg_define(
      g, &z, left,
      touched(g, type, neo_arena_printf(g->arena, "%s[i*%s + j]", t.name, pg_extent_text(g, n))));
  return true;
}

static pairs_feature running_reducer(pgen *g, neo_type type) {
  static const pairs_feature reducers[] = {PAIRS_SUM,  PAIRS_SUM,  PAIRS_MAX,      PAIRS_MIN,
                                           PAIRS_PROD, PAIRS_MEAN, PAIRS_LOGSUMEXP};
  pairs_feature reducer = PG_PICK(g, reducers);
  if (type == NEO_BOOL_T)
    return pg_chance(g, 50) ? PAIRS_ANY : PAIRS_ALL;
  bool floats = reducer == PAIRS_MEAN || reducer == PAIRS_LOGSUMEXP;
  return floats && !neo_type_is_float(type) ? PAIRS_SUM : reducer;
}

/* "[i < N, j < M] = reducer[t <= j ...] (body)", of which nothing but the range depends on j. */
static void define_running(pgen *g, neo_type type, pairs_feature reducer, uint32_t i, uint32_t c,
                           const char *more, const char *body) {
  const char *where = !*more && pg_chance(g, 25) ? pg_where(g) : NULL;
  g->n_index = 0;
  (void)pg_index(g, i, false);
  (void)pg_index(g, c, false);
  ptensor t = pg_result(g, type, (uint32_t[]){i, c}, 2);
  const char *left = pg_left_of(g, &t);
  g->has |= PAIRS_BIT(PAIRS_RUNNING) | PAIRS_BIT(PAIRS_TRIANGLE) | PAIRS_BIT(reducer);
  g->exact = g->exact && reducer != PAIRS_MEAN && reducer != PAIRS_LOGSUMEXP;
  t.reduced = true;
  const char *to = type == NEO_I8_T || type == NEO_U8_T ? pg_type_text(type) : "";
  pg_define(g, &t, left,
            neo_arena_printf(g->arena, "%s(%s[t <= j%s%s%s] (%s))", to, pairs_feature_text(reducer),
                             more, where ? " where " : "", where ? where : "", body));
}

/* A window around each step. */
static void running_window(pgen *g, neo_type type, pairs_feature reducer, uint32_t i, uint32_t c) {
  uint32_t x = pg_given(g, type, (uint32_t[]){i, c}, 2, NO_EXTENT, false);
  bool stride = pg_chance(g, 50), apart = pg_chance(g, 50);
  pairs_set has = PAIRS_BIT(PAIRS_WINDOW) | PAIRS_BIT(PAIRS_ELSE) | PAIRS_BIT(PAIRS_TWO_AXES) |
                  (stride ? PAIRS_BIT(PAIRS_STRIDE) : 0) | (apart ? PAIRS_BIT(PAIRS_DILATION) : 0);
  pg_take(g, &g->tensors.at[x]);
  g->has |= has;
  define_running(g, type, reducer, i, c, ", r < 3",
                 neo_arena_printf(g->arena, "(%s[i, %st + %sr - 1] else %s)", g->tensors.at[x].name,
                                  stride ? "2*" : "", apart ? "2*" : "",
                                  neo_type_is_float(type) ? "0.5" : "1"));
}

bool pg_running(pgen *g) {
  uint32_t i = pg_extent(g), c = pg_extent(g);
  neo_type type = pg_type(g);
  if (g->extents.at[i].now * g->extents.at[c].now * g->extents.at[c].now > MOST_WORK)
    return false;
  pairs_feature reducer = running_reducer(g, type);
  if (type != NEO_BOOL_T && pg_chance(g, 20)) {
    running_window(g, type, reducer, i, c);
    return true;
  }
  (void)pg_index(g, i, false);
  (void)pg_index(g, c, true);
  define_running(g, type, reducer, i, c, "", pg_value(g, type, 1));
  return true;
}

/* Products of rows, each up to its end. */
bool pg_running_product(pgen *g) {
  uint32_t i = pg_extent(g), k = pg_extent(g), c = pg_extent(g);
  neo_type type = pg_float(g);
  int64_t n = g->extents.at[c].now;
  if (g->extents.at[i].now * g->extents.at[k].now * n * n > 2 * MOST_WORK)
    return false;
  uint32_t x = pg_given(g, type, (uint32_t[]){i, c}, 2, NO_EXTENT, false);
  uint32_t w = pg_given(g, type, (uint32_t[]){k, c}, 2, NO_EXTENT, false);
  (void)pg_index(g, i, false);
  (void)pg_index(g, k, false);
  (void)pg_index(g, c, false);
  ptensor t = pg_result(g, type, (uint32_t[]){i, k, c}, 3);
  const char *left = pg_left_of(g, &t);
  pg_take(g, &g->tensors.at[x]);
  pg_take(g, &g->tensors.at[w]);
  g->has |= PAIRS_BIT(PAIRS_RUNNING) | PAIRS_BIT(PAIRS_TRIANGLE) | PAIRS_BIT(PAIRS_SUM) |
            PAIRS_BIT(PAIRS_PRODUCT);
  t.reduced = true;
  pg_define(g, &t, left,
            touched(g, type,
                    neo_arena_printf(g->arena, "(sum[t <= k] %s[i, t]*%s[j, t])",
                                     g->tensors.at[x].name, g->tensors.at[w].name)));
  return true;
}

static uint32_t any_tensor(pgen *g) {
  for (int attempt = 0; attempt < 8; attempt++) {
    uint32_t k = (uint32_t)pg_below(g, g->tensors.n);
    if (g->tensors.at[k].rank && g->tensors.at[k].bound == NO_EXTENT)
      return k;
  }
  return UINT32_MAX;
}

/* y[..] of x[..], or without its last index. */
bool pg_any_rank(pgen *g) {
  uint32_t x = any_tensor(g);
  if (x == UINT32_MAX)
    return false;
  ptensor from = g->tensors.at[x];
  bool reduces = from.rank > 1 && pg_chance(g, 50);
  ptensor t = pg_result(g, from.type, from.dim, from.rank - reduces);
  pg_take(g, &g->tensors.at[x]);
  g->has |= PAIRS_BIT(PAIRS_ANY_RANK);
  const char *left = neo_arena_printf(g->arena, "%s[..] : %s", t.name, pg_type_text(t.type)),
             *value;
  if (reduces) {
    pairs_feature reducer = pg_reducer(g, t.type);
    g->has |= PAIRS_BIT(reducer);
    g->exact = g->exact && reducer != PAIRS_MEAN && reducer != PAIRS_LOGSUMEXP;
    const char *to = t.type == NEO_I8_T || t.type == NEO_U8_T ? pg_type_text(t.type) : "";
    value = neo_arena_printf(g->arena, "%s(%s[t] %s[.., t])", to, pairs_feature_text(reducer),
                             from.name);
    t.reduced = true;
  } else {
    value = touched(g, t.type, neo_arena_printf(g->arena, "%s[..]", from.name));
  }
  pg_define(g, &t, left, value);
  return true;
}

/* Forms of several statements: gradients, functions, rounds, states, rows that are normalised,
 * attention. */
#include "tests/pairs/gen.h"

static const char *left_of(pgen *g, const ptensor *t) {
  return neo_arena_printf(g->arena, "%s : %s", pg_left(g, t->name, t->rank), pg_type_text(t->type));
}

static void take(pgen *g, const ptensor *t) {
  g->reads |= (uint64_t)1 << t->line;
  g->from |= t->from;
  g->exact = g->exact && t->exact;
  g->has |= PAIRS_BIT(pg_type_feature(t->type));
}

/* A definition without indices on the left, of these dimensions. */
static uint32_t define_whole(pgen *g, ptensor t, const char *value) {
  pg_define(g, &t, t.name, value);
  return (uint32_t)g->tensors.n - 1;
}

/* ---- gradients */

static uint32_t some_source(pgen *g, uint64_t from) {
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = 0; k < g->tensors.n && k < 64; k++)
    if (from >> k & 1 && pg_below(g, ++n) == 0)
      at = k;
  return at;
}

static uint32_t scalar_of(pgen *g, const ptensor *y, const char *summed) {
  pg_begin(g);
  take(g, y);
  g->has |= PAIRS_BIT(PAIRS_SUM);
  g->exact = false;
  return define_whole(g, pg_result(g, y->type, NULL, 0),
                      neo_arena_printf(g->arena, "sum[..] %s", summed));
}

static uint32_t gradient(pgen *g, uint32_t of, uint32_t to, pairs_feature f) {
  ptensor loss = g->tensors.at[of], x = g->tensors.at[to];
  pg_begin(g);
  take(g, &loss);
  take(g, &x);
  g->has |= PAIRS_BIT(PAIRS_GRAD) | PAIRS_BIT(f);
  g->from = 0;
  g->exact = false;
  return define_whole(g, pg_result(g, x.type, x.dim, x.rank),
                      neo_arena_printf(g->arena, "grad(%s, %s)", loss.name, x.name));
}

static bool gradient_of(pgen *g, uint32_t k) {
  ptensor y = g->tensors.at[k];
  uint32_t x = some_source(g, y.from), of = k;
  if (x == UINT32_MAX)
    return false;
  if (y.rank) {
    const char *a = pg_chance(g, 60) ? neo_arena_printf(g->arena, "%s[..]", y.name)
                                     : neo_arena_printf(g->arena, "sin(%s[..])", y.name);
    of = scalar_of(g, &y, neo_arena_printf(g->arena, "%s*%s[..]", a, y.name));
  }
  uint32_t dx = gradient(g, of, x, PAIRS_GRAD);
  ptensor d = g->tensors.at[dx], at = g->tensors.at[x];
  if (!d.rank || !pg_chance(g, 35))
    return true;
  pg_begin(g);
  take(g, &at);
  uint64_t reads = g->reads, from = g->from;
  pg_begin(g);
  take(g, &d);
  g->reads |= reads;
  g->from |= from;
  g->has |= PAIRS_BIT(PAIRS_SUM);
  uint32_t along =
      define_whole(g, pg_result(g, d.type, NULL, 0),
                   neo_arena_printf(g->arena, "sum[..] %s[..]*%s[..]", d.name, at.name));
  (void)gradient(g, along, x, PAIRS_GRAD2);
  return true;
}

/* Of what was defined last, mostly. */
bool pg_gradient(pgen *g) {
  for (size_t k = g->tensors.n; k-- > 0;) {
    const ptensor *t = &g->tensors.at[k];
    if (!t->given && t->smooth && neo_type_is_float(t->type) && pg_chance(g, 70))
      return gradient_of(g, (uint32_t)k);
  }
  return false;
}

/* ---- functions */

static uint32_t float_tensor(pgen *g, uint32_t least) {
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = 0; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    if (neo_type_is_float(t->type) && t->rank >= least && pg_below(g, ++n) == 0)
      at = k;
  }
  if (at != UINT32_MAX)
    return at;
  uint32_t dim[] = {pg_extent(g), pg_extent(g)};
  return pg_given(g, pg_float(g), dim, 2, NO_EXTENT, false);
}

/* A function's statement, which the next one calls. */
static uint32_t function(pgen *g, const char *name, const char *rest) {
  pg_begin(g);
  uint32_t line =
      pg_end(g, (pairs_statement){.kind = PAIRS_HELPER,
                                  .text = neo_arena_printf(g->arena, "fn %s%s", name, rest),
                                  .name = name});
  pg_begin(g);
  g->reads |= (uint64_t)1 << line;
  return line;
}

static bool call(pgen *g, const char *rest, pairs_feature f, pairs_set more, uint32_t least) {
  uint32_t k = float_tensor(g, least);
  ptensor x = g->tensors.at[k];
  const char *name = pg_name(g, "func");
  (void)function(g, name, rest);
  take(g, &x);
  g->has |= PAIRS_BIT(f) | more;
  g->exact = false;
  uint32_t y = define_whole(g, pg_result(g, x.type, x.dim, x.rank),
                            neo_arena_printf(g->arena, "%s(%s)", name, x.name));
  return f != PAIRS_OWN_GRAD || pg_chance(g, 30) || gradient_of(g, y) || true;
}

bool pg_own_grad(pgen *g) {
  static const char *const own[] = {
      "(x[..]) -> y { y[..] = round(x[..]) } grad(dy) -> dx { dx[..] = dy[..]*0.5 }",
      "(x[..]) -> y { y[..] = x[..]*x[..] } grad(dy) -> dx { dx[..] = dy[..] + x[..] }",
      "(x[..]) -> y { y[..] = max(x[..], 0) } grad(dy) -> dx { dx[..] = dy[..]*sin(x[..]) }"};
  return call(g, PG_PICK(g, own), PAIRS_OWN_GRAD, PAIRS_BIT(PAIRS_ANY_RANK), 1);
}

bool pg_call(pgen *g) {
  static const char *const centred = "(x[.., I]) -> y {\n  m[..] = mean[i] x[.., i]\n"
                                     "  y[.., i] = x[.., i] - m[..]\n}",
                           *const least = "(x[.., I]) -> y {\n  m[..] = max[i] x[.., i]\n"
                                          "  y[.., i] = min(x[.., i], m[..] - 0.5)\n}";
  bool mean = pg_chance(g, 50);
  return call(g, mean ? centred : least, PAIRS_CALL,
              PAIRS_BIT(mean ? PAIRS_MEAN : PAIRS_MAX) | PAIRS_BIT(PAIRS_ANY_RANK), 1);
}

/* ---- rounds and states */

bool pg_repeat(pgen *g) {
  uint32_t k = float_tensor(g, 1);
  ptensor x = g->tensors.at[k];
  if (x.rank > 2)
    return false;
  pg_begin(g);
  take(g, &x);
  const char *name = pg_name(g, "h"), *left = name, *read;
  ptensor h = x;
  h.name = name;
  NEO_PUSH(g->arena, &g->tensors, h);
  for (uint32_t i = 0; i < x.rank; i++)
    (void)pg_index(g, x.dim[i], false);
  left = pg_left(g, name, x.rank);
  read = pg_read_plain(g, (uint32_t)g->tensors.n - 1);
  const char *more = pg_chance(g, 50) ? pg_reduction(g, PAIRS_MAX, x.type) : NULL;
  more = more ? more : pg_value(g, x.type, 1);
  g->tensors.n--;
  g->has |= PAIRS_BIT(PAIRS_REPEAT);
  const char *value =
      neo_arena_printf(g->arena, "repeat r < %d from %s = %s { next %s = %s*0.5 + %s }",
                       2 + (int)pg_below(g, 2), name, x.name, left, read, more);
  (void)define_whole(g, pg_result(g, x.type, x.dim, x.rank), value);
  return true;
}

bool pg_state(pgen *g) {
  uint32_t dim = NO_EXTENT;
  for (uint32_t k = 0; k < g->extents.n; k++)
    if (!g->extents.at[k].runtime)
      dim = k;
  if (dim == NO_EXTENT)
    return false;
  ptensor s = pg_result(g, NEO_F32_T, &dim, 1);
  s.name = pg_name(g, "s");
  s.given = true;
  s.line = pg_end(g, (pairs_statement){.kind = PAIRS_GIVEN,
                                       .name = s.name,
                                       .text = neo_arena_printf(g->arena, "state %s[%s] = 0.5",
                                                                s.name, pg_extent_text(g, dim)),
                                       .has = PAIRS_BIT(PAIRS_UPDATE)});
  NEO_PUSH(g->arena, &g->tensors, s);
  pg_begin(g);
  (void)pg_index(g, dim, false);
  const char *left = pg_left(g, s.name, 1);
  const char *old = pg_read_plain(g, (uint32_t)g->tensors.n - 1);
  const char *value =
      pg_chance(g, 50) ? pg_reduction(g, pg_reducer(g, NEO_F32_T), NEO_F32_T) : NULL;
  value = value ? value : pg_value(g, NEO_F32_T, 2);
  g->has |= PAIRS_BIT(PAIRS_UPDATE) | PAIRS_BIT(PAIRS_F32);
  (void)pg_end(g, (pairs_statement){.kind = PAIRS_DEFINITION,
                                    .name = s.name,
                                    .update = true,
                                    .text = neo_arena_printf(g->arena, "update %s = %s*0.5 + %s",
                                                             left, old, value)});
  return true;
}

/* ---- rows */

/* How many elements of a row, then a length that a range may end at. */
bool pg_count(pgen *g) {
  uint32_t i = pg_extent(g), c = pg_extent(g);
  (void)pg_index(g, i, false);
  ptensor n = pg_result(g, NEO_I32_T, &i, 1), t;
  const char *left = left_of(g, &n), *end = pg_extent_text(g, c);
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
  const char *left = left_of(g, &t);
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
  take(g, &x);
  g->reads |= end;
  uint32_t m = row_step(g, x.type, dim, 1, PAIRS_BIT(PAIRS_MAX), x.from,
                        neo_arena_printf(g->arena, "max[t < %s] %s[i, t]", n, x.name));
  take(g, &x);
  take(g, &g->tensors.at[m]);
  uint32_t e =
      row_step(g, x.type, dim, 2, PAIRS_BIT(PAIRS_FUNCTION), x.from,
               neo_arena_printf(g->arena, "exp(%s[i, j] - %s[i])", x.name, g->tensors.at[m].name));
  take(g, &g->tensors.at[e]);
  g->reads |= end;
  uint32_t z =
      row_step(g, x.type, dim, 1, PAIRS_BIT(PAIRS_SUM), x.from,
               neo_arena_printf(g->arena, "sum[t < %s] %s[i, t]", n, g->tensors.at[e].name));
  take(g, &g->tensors.at[e]);
  take(g, &g->tensors.at[z]);
  return row_step(
      g, x.type, dim, 2, 0, x.from,
      neo_arena_printf(g->arena, "%s[i, j]/%s[i]", g->tensors.at[e].name, g->tensors.at[z].name));
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
  take(g, &g->tensors.at[q]);
  take(g, &g->tensors.at[k]);
  const char *where = pg_chance(g, 30) ? " where t % 2 == 0" : "";
  uint32_t s = row_step(g, type, (uint32_t[]){i, j}, 2, product, g->from,
                        neo_arena_printf(g->arena, "0.25*(sum[t%s] %s[i, t]*%s[j, t])", where,
                                         g->tensors.at[q].name, g->tensors.at[k].name));
  uint32_t p = softmax_of(g, s);
  take(g, &g->tensors.at[p]);
  take(g, &g->tensors.at[v]);
  (void)row_step(g, type, (uint32_t[]){i, d}, 2, product, g->from,
                 neo_arena_printf(g->arena, "sum[t] %s[i, t]*%s[t, j]", g->tensors.at[p].name,
                                  g->tensors.at[v].name));
  return true;
}

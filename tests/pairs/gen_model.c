/* Forms of several statements: gradients, functions, rounds, states. */
#include "tests/pairs/gen.h"

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
  pg_take(g, y);
  g->has |= PAIRS_BIT(PAIRS_SUM);
  g->exact = false;
  return define_whole(g, pg_result(g, y->type, NULL, 0),
                      neo_arena_printf(g->arena, "sum[..] %s", summed));
}

/* Is there a recurrence among what the statement needs? */
static bool recurs(const pgen *g, uint32_t line) {
  uint64_t need = (uint64_t)1 << line;
  bool found = false;
  for (uint32_t k = line + 1; k-- > 0;)
    if (need >> k & 1) {
      need |= g->p->lines.at[k].reads;
      found = found || g->p->lines.at[k].recurs;
    }
  return found;
}

static uint32_t gradient(pgen *g, uint32_t of, uint32_t to, pairs_feature f) {
  ptensor loss = g->tensors.at[of], x = g->tensors.at[to];
  pg_begin(g);
  pg_take(g, &loss);
  pg_take(g, &x);
  g->has |= PAIRS_BIT(PAIRS_GRAD) | PAIRS_BIT(f);
  if (recurs(g, loss.line))
    g->recurs |= PAIRS_RECURS(f == PAIRS_GRAD2 ? PAIRS_R_GRAD2 : PAIRS_R_GRAD);
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
  pg_take(g, &at);
  uint64_t reads = g->reads, from = g->from;
  pg_begin(g);
  pg_take(g, &d);
  g->reads |= reads;
  g->from |= from;
  g->has |= PAIRS_BIT(PAIRS_SUM);
  uint32_t along =
      define_whole(g, pg_result(g, d.type, NULL, 0),
                   neo_arena_printf(g->arena, "sum[..] %s[..]*%s[..]", d.name, at.name));
  (void)gradient(g, along, x, PAIRS_GRAD2);
  return true;
}

/* Adds the gradient of the last definition, mostly. */
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
  pg_take(g, &x);
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

/* All products of two rows. */
static bool call_product(pgen *g) {
  uint32_t k = float_tensor(g, 2);
  ptensor x = g->tensors.at[k];
  int64_t rows = g->extents.at[x.dim[0]].now;
  if (x.rank != 2 || rows * rows * g->extents.at[x.dim[1]].now > 2 * MOST_WORK)
    return false;
  const char *name = pg_name(g, "func");
  (void)function(g, name, "(x[I, K]) -> y { y[i, j] = sum[k] x[i, k]*x[j, k] }");
  pg_take(g, &x);
  g->has |= PAIRS_BIT(PAIRS_CALL) | PAIRS_BIT(PAIRS_PRODUCT) | PAIRS_BIT(PAIRS_SUM);
  g->exact = false;
  ptensor y = pg_result(g, x.type, (uint32_t[]){x.dim[0], x.dim[0]}, 2);
  (void)define_whole(g, y, neo_arena_printf(g->arena, "%s(%s)", name, x.name));
  return true;
}

bool pg_call(pgen *g) {
  static const struct {
    const char *text;
    pairs_feature has;
  } body[] = {{"m[..] = mean[i] x[.., i]\n  y[.., i] = x[.., i] - m[..]", PAIRS_MEAN},
              {"m[..] = max[i] x[.., i]\n  y[.., i] = min(x[.., i], m[..] - 0.5)", PAIRS_MAX},
              {"y[.., i < I] = sum[t <= i] x[.., t]", PAIRS_RUNNING}};
  if (pg_chance(g, 25))
    return call_product(g);
  uint64_t k = pg_below(g, sizeof body / sizeof *body);
  return call(g, neo_arena_printf(g->arena, "(x[.., I]) -> y {\n  %s\n}", body[k].text), PAIRS_CALL,
              PAIRS_BIT(body[k].has) | PAIRS_BIT(PAIRS_ANY_RANK), 1);
}

/* A call of a function with a recurrence in it. */
bool pg_recurrent_call(pgen *g) {
  static const char *const body[] = {
      "y[.., i < I] = x[.., i] + 0.5*(y[.., i - 1] else 1)",
      "y[.., i < I] = x[.., i] - (sum[i < t < I] 0.25*y[.., t])",
      "s[..] = sum[i] x[.., i]\n  h, y1 = scan t < I down from h = s { next h[..] = tanh(h[..]*0.5 + x[.., t])\n"
      "    collect h }\n  y[.., i < I] = y1[i, ..]",
      "s[..] = max[i] x[.., i]\n  h, n = while n > 0 limit 3 from h = s, n : i32 = 2 {\n"
      "    next h[..] = h[..]*0.5 + x[.., 0], n = n - 1 }\n  y[.., i < I] = x[.., i]*h[..]"};
  if (!call(g, neo_arena_printf(g->arena, "(x[.., I]) -> y {\n  %s\n}", PG_PICK(g, body)),
            PAIRS_CALL, PAIRS_BIT(PAIRS_ANY_RANK), 1))
    return false;
  g->p->lines.at[g->p->lines.n - 1].recurs |=
      PAIRS_RECURS(PAIRS_R_CALLED) | PAIRS_RECURS(PAIRS_R_FLOAT);
  return true;
}

/* ---- rounds and states */

bool pg_repeat(pgen *g) {
  uint32_t k = float_tensor(g, 1);
  ptensor x = g->tensors.at[k];
  if (x.rank > 2)
    return false;
  pg_begin(g);
  pg_take(g, &x);
  const char *name = pg_name(g, "h"), *left = name, *read;
  ptensor h = x;
  h.name = name;
  uint32_t at = (uint32_t)g->tensors.n;
  NEO_PUSH(g->arena, &g->tensors, h);
  for (uint32_t i = 0; i < x.rank; i++)
    (void)pg_index(g, x.dim[i], false);
  left = pg_left(g, name, x.rank);
  read = pg_read_plain(g, at);
  const char *more = pg_chance(g, 50) ? pg_reduction(g, PAIRS_MAX, x.type) : NULL;
  more = more ? more : pg_value(g, x.type, 1);
  g->tensors.at[at] = x; /* nothing else may read the carry; there may be inputs behind it */
  g->has |= PAIRS_BIT(PAIRS_REPEAT);
  const char *value =
      neo_arena_printf(g->arena, "repeat r < %d from %s = %s { next %s = %s*0.5 + %s }",
                       2 + (int)pg_below(g, 2), name, x.name, left, read, more);
  (void)define_whole(g, pg_result(g, x.type, x.dim, x.rank), value);
  return true;
}

/* A new value of the state that was declared last. */
static const char *next_value(pgen *g) {
  const char *old = pg_read_plain(g, (uint32_t)g->tensors.n - 1);
  const char *value =
      pg_chance(g, 50) ? pg_reduction(g, pg_reducer(g, NEO_F32_T), NEO_F32_T) : NULL;
  value = value ? value : pg_value(g, NEO_F32_T, 2);
  return neo_arena_printf(g->arena, "%s*0.5 + %s", old, value);
}

/* A sum over the elements that belong to each element by a tensor of positions, or that come before
 * it. */
static const char *counted(pgen *g, uint32_t key, uint32_t along, uint32_t dim) {
  if (pg_chance(g, 40)) {
    g->n_index = 0; /* nothing but the range depends on i */
    (void)pg_index(g, dim, true);
    const char *before = pg_value(g, NEO_F32_T, 1);
    g->has |= PAIRS_BIT(PAIRS_RUNNING) | PAIRS_BIT(PAIRS_TRIANGLE) | PAIRS_BIT(PAIRS_SUM);
    return neo_arena_printf(g->arena, "sum[t <= i] (%s)", before);
  }
  const char *name = g->tensors.at[key].name;
  (void)pg_index(g, along, true);
  g->reads |= (uint64_t)1 << g->tensors.at[key].line;
  g->has |= PAIRS_BIT(PAIRS_SEGMENT) | PAIRS_BIT(PAIRS_SUM);
  const char *end = pg_extent_text(g, along), *body = pg_value(g, NEO_F32_T, 1);
  return neo_arena_printf(g->arena, "sum[t < %s where %s[t] == i] (%s)", end, name, body);
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
  s.smooth = g->wide;
  s.from = g->wide ? (uint64_t)1 << (g->tensors.n & 63) : 0;
  s.line = pg_end(g, (pairs_statement){.kind = PAIRS_GIVEN,
                                       .name = s.name,
                                       .text = neo_arena_printf(g->arena, "state %s[%s] = 0.5",
                                                                s.name, pg_extent_text(g, dim)),
                                       .has = PAIRS_BIT(PAIRS_UPDATE)});
  NEO_PUSH(g->arena, &g->tensors, s);
  uint32_t e = pg_extent(g), key = pg_chance(g, 30) ? pg_positions(g, e, dim) : UINT32_MAX;
  pg_begin(g);
  (void)pg_index(g, dim, false);
  const char *left = pg_left(g, s.name, 1);
  const char *value = key == UINT32_MAX ? next_value(g) : counted(g, key, e, dim);
  g->reads |= (uint64_t)1 << s.line;
  g->has |= PAIRS_BIT(PAIRS_UPDATE) | PAIRS_BIT(PAIRS_F32);
  (void)pg_end(
      g, (pairs_statement){.kind = PAIRS_DEFINITION,
                           .name = s.name,
                           .update = true,
                           .text = neo_arena_printf(g->arena, "update %s = %s", left, value)});
  return true;
}

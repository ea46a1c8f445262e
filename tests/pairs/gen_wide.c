/* Programs that draw every option of the grammar: ranges whose ends are anything, subscripts that
 * are any integer, values with reducers, calls and random numbers in them. */
#include "tests/pairs/gen.h"

enum { MOST_REDUCED = 3, MOST_READS = 2 };

static uint32_t a_size(pgen *g) {
  for (uint32_t e = 0; e < g->extents.n; e++)
    if (g->extents.at[e].runtime && !g->extents.at[e].rows)
      return e;
  return NO_EXTENT;
}

static const char *some_index(pgen *g) {
  return g->n_index ? g->index[pg_below(g, g->n_index)].name : NULL;
}

/* ---- integers */

static const char *element(pgen *g) {
  bool exact = g->exact;
  uint64_t from = g->from;
  if (g->read_depth >= MOST_READS)
    return NULL;
  g->read_depth++;
  g->exact = true;
  const char *s = pg_read_any(g, NEO_I64_T);
  bool jumps = !g->exact;
  g->read_depth--;
  g->exact = exact;
  g->from = from;
  return jumps ? NULL : s;
}

static const char *integer_leaf(pgen *g) {
  static const char *const huge[] = {"4611686018427387904", "6364136223846793005", "3037000500",
                                     "9223372036854775807"};
  uint64_t roll = pg_below(g, 100);
  uint32_t n = a_size(g);
  const char *i = some_index(g), *s = roll < 18 ? element(g) : NULL;
  if (s)
    return s;
  if (roll < 22 && i)
    return neo_arena_printf(g->arena, "%s*%s", i, PG_PICK(g, huge));
  if (roll < 28 && n != NO_EXTENT)
    return pg_extent_text(g, n);
  if (i && roll < 85)
    return i;
  return neo_arena_printf(g->arena, "%d", (int)pg_below(g, 6));
}

static const char *integer_of(pgen *g, const char *a, int depth) {
  static const char *const forms[] = {
      "(%s)*(-2)", "(%s - 3)*(-1)", "i64(%s)/(-2)", "(%s) %% (-3)", "(%s) %% 4",
      "i64(%s)/3", "abs(%s)",       "min(%s, 3)",   "max(%s, -2)",  "clamp(%s, -1, 4)",
      "(%s)^2",    "i64(i8(%s))",   "i64(u8(%s))",  "i64(i32(%s))", "(%s + 1)",
      "(%s - 2)",  "(3 - (%s))",    "(-(%s))",      "3*(%s)",       "sign(%s)*2"};
  if (pg_chance(g, 8)) {
    const char *c = pg_integer(g, 0), *b = pg_integer(g, depth - 1);
    return neo_arena_printf(g->arena, "select(%s > 1, %s, %s)", c, a, b);
  }
  return neo_arena_printf(g->arena, PG_PICK(g, forms), a);
}

const char *pg_integer(pgen *g, int depth) {
  static const char *const pairs[] = {"(%s + %s)",    "(%s - %s)",       "(%s)*(%s)",
                                      "(%s) %% (%s)", "i64(%s)/i64(%s)", "max(%s, %s)"};
  if (depth <= 0 || pg_chance(g, 15))
    return integer_leaf(g);
  const char *a = pg_integer(g, depth - 1);
  if (pg_chance(g, 65))
    return integer_of(g, a, depth);
  const char *b = pg_integer(g, depth - 1);
  return neo_arena_printf(g->arena, PG_PICK(g, pairs), a, b);
}

/* ---- ranges */

/* Beside the extent's. */
static const char *shifted(pgen *g, uint32_t extent) {
  pextent e = g->extents.at[extent];
  int from = (int)pg_below(g, 6) - 3, to = (int)pg_below(g, 5) - 3;
  const char *n = pg_extent_text(g, extent), *t = pg_index(g, extent, true);
  pindex *x = &g->index[g->n_index - 1];
  x->ranged = true;
  x->from = from;
  x->to = to;
  x->times = e.now - from + to;
  x->times = x->times < 0 ? 0 : x->times;
  const char *end =
      to ? neo_arena_printf(g->arena, to < 0 ? "%s - %d" : "%s + %d", n, to < 0 ? -to : to) : n;
  if (!from && pg_chance(g, 50))
    return neo_arena_printf(g->arena, "%s < %s", t, end);
  return pg_chance(g, 25) && to < 0
             ? neo_arena_printf(g->arena, "%d <= %s <= %s - %d", from, t, n, 1 - to)
             : neo_arena_printf(g->arena, "%d <= %s < %s", from, t, end);
}

static const char *other_low(pgen *g) {
  uint32_t n = a_size(g);
  const char *i = some_index(g);
  switch (pg_below(g, n == NO_EXTENT ? 6 : 9)) {
  case 0:
    return "";
  case 1:
    return "0 <= ";
  case 2:
    return neo_arena_printf(g->arena, "%d <= ", (int)pg_below(g, 3) - 3);
  case 3:
    return neo_arena_printf(g->arena, "%d <= ", 1 + (int)pg_below(g, 2));
  case 4:
    return i ? neo_arena_printf(g->arena, pg_chance(g, 70) ? "%s <= " : "%s < ", i) : "-1 <= ";
  case 5:
    return i ? neo_arena_printf(g->arena, "%s - %d <= ", i, 1 + (int)pg_below(g, 3)) : "-2 < ";
  case 6:
    return neo_arena_printf(g->arena, pg_chance(g, 50) ? "-%s <= " : "-%s < ",
                            pg_extent_text(g, n));
  default:
    return neo_arena_printf(g->arena,
                            pg_chance(g, 50) ? "%s/2 <= " : "%s - 2 <= ", pg_extent_text(g, n));
  }
}

/* An element below its bound that was given, or computed. */
static const char *length(pgen *g, bool computed) {
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = 0; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    if (t->bound == NO_EXTENT || t->given == computed || t->rank > 1 || t->earlier)
      continue;
    bool fits = !t->rank;
    for (uint32_t i = 0; i < g->n_index; i++)
      fits = fits || (!g->index[i].ranged && g->index[i].extent == t->dim[0]);
    if (!fits)
      continue;
    if (pg_below(g, ++n) == 0)
      at = k;
  }
  bool exact = g->exact;
  const char *s = at == UINT32_MAX ? NULL : pg_read_plain(g, at);
  g->exact = exact;
  return s;
}

static const char *other_end(pgen *g) {
  uint32_t n = a_size(g);
  const char *i = some_index(g), *s = NULL;
  switch (pg_below(g, n == NO_EXTENT ? 7 : 9)) {
  case 0:
    return neo_arena_printf(g->arena, " < %d", 1 + (int)pg_below(g, 5));
  case 1:
    return pg_chance(g, 50) ? " < 0" : " <= -1";
  case 2:
    return " < -1";
  case 3:
    return i ? neo_arena_printf(g->arena, pg_chance(g, 50) ? " <= %s" : " < %s", i) : " <= 3";
  case 4:
    return i ? neo_arena_printf(g->arena, pg_chance(g, 50) ? " < %s + 2" : " < 2*%s + 1", i)
             : " < 4";
  case 5:
    s = length(g, false);
    return s ? neo_arena_printf(g->arena, " < %s", s) : " < 3";
  case 6:
    s = length(g, true);
    return s ? neo_arena_printf(g->arena, " < %s", s) : " < 2";
  case 7:
    return neo_arena_printf(g->arena, " < %s", pg_extent_text(g, n));
  default:
    return neo_arena_printf(g->arena, pg_chance(g, 50) ? " < %s/2" : " < %s - 1",
                            pg_extent_text(g, n));
  }
}

const char *pg_wide_range(pgen *g, uint32_t extent) {
  enum { ABOUT = 12 };
  if (pg_chance(g, 45))
    return shifted(g, extent);
  const char *low = other_low(g), *end = other_end(g), *t = pg_index(g, NO_EXTENT, true);
  g->index[g->n_index - 1].ranged = true;
  g->index[g->n_index - 1].times = ABOUT;
  return neo_arena_printf(g->arena, "%s%s%s", low, t, end);
}

/* ---- subscripts */

static const char *sum_of_indices(pgen *g, uint32_t extent) {
  static const char *const one[] = {"%s + 1", "%s - 1",   "%s + 2", "%s - 2",
                                    "2*%s",   "2*%s + 1", "1 - %s"};
  static const char *const two[] = {"%s + %s", "%s - %s", "2*%s + %s", "%s + %s - 1"};
  const char *i = some_index(g), *j = some_index(g);
  if (!i)
    return NULL;
  uint64_t roll = pg_below(g, 100);
  if (roll < 25)
    return i;
  if (roll < 35)
    return neo_arena_printf(g->arena, "%s - 1 - %s", pg_extent_text(g, extent), i);
  if (roll < 70)
    return neo_arena_printf(g->arena, PG_PICK(g, one), i);
  return neo_arena_printf(g->arena, PG_PICK(g, two), i, j);
}

static const char *inside(pgen *g, uint32_t extent) {
  const pextent e = g->extents.at[extent];
  const char *n = e.least ? pg_extent_text(g, extent) : NULL;
  if (!n)
    return NULL;
  const char *x = pg_integer(g, 1 + (int)pg_below(g, 2)), *i = some_index(g);
  switch (pg_below(g, 6)) {
  case 0:
    return neo_arena_printf(g->arena, "min(max(%s, 0), %s - 1)", x, n);
  case 1:
    return e.runtime ? NULL : neo_arena_printf(g->arena, "(%s) %% %s", x, n);
  case 2:
    return i ? neo_arena_printf(g->arena, "select(%s >= 0 and %s < %s, %s, 0)", i, i, n, i) : "0";
  case 3:
    return e.least > 1 ? "1" : neo_arena_printf(g->arena, "%s - 1", n);
  default:
    return neo_arena_printf(g->arena, "clamp(%s, 0, %s - 1)", x, n);
  }
}

static const char *size_subscript(pgen *g) {
  uint32_t n = a_size(g);
  return n == NO_EXTENT
             ? "2"
             : neo_arena_printf(g->arena, "%s - %d", pg_extent_text(g, n), 1 + (int)pg_below(g, 3));
}

const char *pg_wide_subscript(pgen *g, uint32_t extent, bool *guarded, bool *affine) {
  uint64_t roll = pg_below(g, 100);
  const char *s = roll < 30 ? inside(g, extent) : NULL;
  if (s)
    return s;
  *guarded = true;
  s = roll < 65 ? sum_of_indices(g, extent) : NULL;
  if (s)
    return s;
  *affine = false;
  if (roll < 72)
    return size_subscript(g);
  if (roll < 76 && g->n_index < MOST_INDICES - 1) {
    uint32_t n = g->n_index;
    const char *m = pg_index(g, NO_EXTENT, true);
    g->index[n].ranged = true;
    g->index[n].times = 3;
    s = neo_arena_printf(g->arena, "sum[%s < 3] i64(%s)", m, pg_integer(g, 1));
    g->n_index = n;
    return s;
  }
  return pg_integer(g, 1 + (int)pg_below(g, 3));
}

/* ---- conditions */

static const char *guarded_condition(pgen *g) {
  for (int attempt = 0; attempt < 6; attempt++) {
    const ptensor t = g->tensors.at[pg_below(g, g->tensors.n)];
    const char *i = some_index(g);
    if (t.rank != 1 || !t.exact || !i)
      continue;
    pg_take(g, &t);
    const char *sub = sum_of_indices(g, t.dim[0]);
    if (t.type == NEO_BOOL_T)
      return neo_arena_printf(g->arena, "(%s[%s] else true)", t.name, sub);
    return neo_arena_printf(g->arena, "(%s[%s] else %s) > %s", t.name, sub, pg_literal(g, t.type),
                            pg_literal(g, t.type));
  }
  return NULL;
}

static uint32_t reduced_indices(const pgen *g) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < g->n_index; k++)
    n += g->index[k].reduced;
  return n;
}

static const char *reduced_condition(pgen *g) {
  bool exact = g->exact;
  if (reduced_indices(g) >= MOST_REDUCED)
    return NULL;
  g->exact = true;
  const char *s = pg_chance(g, 50) ? pg_reduction(g, PAIRS_ANY, NEO_BOOL_T)
                                   : pg_reduction(g, PAIRS_SUM, NEO_I32_T);
  bool jumps = !g->exact;
  g->exact = exact;
  if (!s || jumps)
    return NULL;
  return s[1] == 'a' ? s : neo_arena_printf(g->arena, "%s > 1", s);
}

/* An element names an index. */
static const char *equation(pgen *g) {
  for (uint32_t k = 0; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    if (t->rank != 1 || t->bound == NO_EXTENT || !t->exact || !g->n_index)
      continue;
    const char *at = pg_at_extent(g, t->dim[0]), *i = some_index(g);
    if (!at || !pg_chance(g, 60))
      continue;
    const ptensor of = *t;
    pg_take(g, &of);
    return neo_arena_printf(g->arena, "%s[%s] == %s", of.name, at, i);
  }
  return NULL;
}

const char *pg_wide_where(pgen *g) {
  static const char *const ops[] = {"<", "<=", ">", ">=", "==", "!="};
  const char *x;
  if (!g->n_index)
    return NULL;
  switch (pg_below(g, 6)) {
  case 0:
    return guarded_condition(g);
  case 1:
    return reduced_condition(g);
  case 2:
    return equation(g);
  default:
    x = pg_integer(g, 1 + (int)pg_below(g, 2));
    return neo_arena_printf(g->arena, pg_chance(g, 15) ? "not (%s %s %d)" : "%s %s %d", x,
                            PG_PICK(g, ops), (int)pg_below(g, 5) - 2);
  }
}

/* ---- values */

/* A function of numbers, which a statement before this one defines. */
static const char *helper(pgen *g, const char *text) {
  const char *name = pg_name(g, "func");
  uint64_t reads = g->reads, recurs = g->recurs;
  pairs_set has = g->has;
  g->reads = g->recurs = 0;
  g->has = 0;
  uint32_t line =
      pg_end(g, (pairs_statement){.kind = PAIRS_HELPER,
                                  .text = neo_arena_printf(g->arena, "fn %s%s", name, text),
                                  .name = name});
  g->reads = reads | (uint64_t)1 << line;
  g->has = has;
  g->recurs = recurs;
  return name;
}

static const char *call(pgen *g, neo_type t, int depth) {
  static const char *const bodies[] = {
      "(a) -> y { y = max(a, -a) }", "(a, b) -> y { y = a*b + a }",
      "(a, b; c = 2) -> y { y = select(a > b, a, b*c) }",
      "(a) -> y { m[r < 2] = a\n  y = m[0] + m[1] }",
      "(a, b) -> y { y = case a > b { true { y = a } false { y = b - a } } }"};
  enum { MOST_LINES = 44 };
  if (g->p->lines.n > MOST_LINES || t == NEO_BOOL_T)
    return NULL;
  uint64_t k = pg_below(g, sizeof bodies / sizeof *bodies);
  const char *name = helper(g, bodies[k]), *a = pg_value(g, t, depth - 1);
  g->has |= PAIRS_BIT(PAIRS_CALL);
  if (k == 0 || k == 3)
    return neo_arena_printf(g->arena, "%s(%s)", name, a);
  const char *b = pg_value(g, t, 0);
  return neo_arena_printf(g->arena, k == 2 && pg_chance(g, 50) ? "%s(%s, %s, c = 3)" : "%s(%s, %s)",
                          name, a, b);
}

static const char *rounded(pgen *g, neo_type t, int depth) {
  static const char *const forms[] = {"floor(%s)", "ceil(%s)", "round(%s)", "sign(%s)", "stop(%s)"};
  uint64_t from = g->from;
  const char *x = pg_value(g, t, depth - 1);
  g->from = from;
  return g->exact ? neo_arena_printf(g->arena, PG_PICK(g, forms), x) : x;
}

static const char *rare_function(pgen *g, neo_type t, int depth) {
  static const char *const exact[] = {"relu(%s)", "clamp(%s, -1, 1.5)", "min(%s, inf)",
                                      "select(training, %s, 0.5)", "select(%1$s < 1e9, %1$s, nan)"},
                           *const smooth[] = {"cos(%s)",           "tan(0.25*min(abs(%s), 2))",
                                              "expm1(min(%s, 2))", "log1p(abs(%s))",
                                              "elu(%s)",           "sin(pi*%s)",
                                              "(%s)^2*1e-1",       "exp(-abs(%s))"};
  const char *x = pg_value(g, t, depth - 1);
  if (pg_chance(g, 40))
    return neo_arena_printf(g->arena, PG_PICK(g, exact), x);
  g->exact = false;
  return neo_arena_printf(g->arena, PG_PICK(g, smooth), x);
}

static const char *random_number(pgen *g, neo_type t) {
  if (g->p->graphs.n || g->inside)
    return NULL;
  g->exact = false;
  return neo_arena_printf(g->arena, "%s(rand())", pg_type_text(t));
}

const char *pg_wide_value(pgen *g, neo_type t, int depth) {
  uint64_t roll = pg_below(g, 100);
  bool is_float = neo_type_is_float(t);
  if (roll < 30)
    return reduced_indices(g) < MOST_REDUCED ? pg_reduction(g, pg_reducer(g, t), t) : NULL;
  if (t == NEO_BOOL_T)
    return NULL;
  if (roll < 50)
    return call(g, t, depth);
  if (roll < 60 || !is_float)
    return neo_arena_printf(g->arena, "%s(%s)", pg_type_text(t), pg_integer(g, 2));
  if (roll < 68)
    return rounded(g, t, depth);
  if (roll < 73)
    return random_number(g, t);
  return rare_function(g, t, depth);
}

/* See keyed.h. */
#include "tests/pairs/keyed.h"
#include "tests/pick.h"

enum { MOST_STATEMENTS = 3 };

typedef struct {
  neo_arena *a;
  uint64_t seed;
  pairs_program *p;
  int64_t v, m, u; /* sizes */
  int columns;     /* 0: none */
  const char *type;
  bool real, small; /* small: an integer of 8 bits */
} keyed;

static int64_t pick(keyed *k, int64_t lo, int64_t hi) {
  return neo_pick(&k->seed, lo, hi);
}

static bool chance(keyed *k, int64_t percent) {
  return pick(k, 1, 100) <= percent;
}

/* All statements before read as one: the programs are too short for the shrinker to gain by
 * more. */
static void add(keyed *k, pairs_kind kind, const char *name, const char *text, bool output) {
  uint64_t reads = ((uint64_t)1 << k->p->lines.n) - 1;
  NEO_PUSH(k->a, &k->p->lines,
           ((pairs_statement){.kind = kind,
                              .name = name,
                              .text = text,
                              .output = output,
                              .reads = kind == PAIRS_DEFINITION ? reads : 0}));
}

static void given(keyed *k, const char *name, const char *text) {
  add(k, PAIRS_GIVEN, name, text, false);
}

static void size(keyed *k, const char *name, int64_t now, int64_t most) {
  add(k, PAIRS_SIZE_LINE, name,
      neo_arena_printf(k->a, "dim 0 <= %s <= %lld", name, (long long)most), false);
  NEO_PUSH(k->a, &k->p->sizes, ((pairs_size){name, now}));
}

/* ---- conditions */

typedef struct {
  const char *where;
  const char *left, *axes; /* of the result, of the reduction */
  bool of_rows;            /* terms are rows: bodies are of v */
  bool bounded;            /* keys are below V: there is a row */
} form;

static const form forms[] = {
    {"key[e] == v", "v < V", "e", false, true},
    {"key[e] == v", "v < V", "e", false, true},
    {"raw[e] == v", "v < V", "e", false, false},
    {"v == wide[e]", "v < V", "e", false, false},
    {"i64(narrow[e]) == v", "v < V", "e", false, false},
    {"key[e] + 1 == v", "v < V", "e", false, true},
    {"v + 2 == key[e]", "v < V", "e", false, true},
    {"2*v == raw[e]", "v < V", "e", false, false},
    {"raw[e] == 3*v + 1", "v < V", "e", false, false},
    {"V - 1 - v == key[e]", "v < V", "e", false, true},
    {"v + raw[e] == 3", "v < V", "e", false, false},
    {"key[e] == v and ukey[e] == u", "v < V, u < U", "e", false, true},
    {"ukey[e] == u and raw[e] - 1 == v", "v < V, u < U", "e", false, true},
    {"ukey[e] == u and v == 2*ukey[e] and e > u", "u < U, v < V", "e", false, true},
    {"bkey[b, e] == v", "b, v < V", "e", false, true},
    {"bkey[b, e] == v", "v < V", "b, e", false, true},
    {"pair[e, r] == v", "v < V", "e, r", false, true},
    {"key[at[e]] == v", "v < V", "e", false, true},
    {"i64((raw[e - 1] else -1)) == v", "v < V", "e", false, false},
    {"begin[v] <= e and e < begin[v + 1]", "e < M", "v < V", true, false},
    {"begin[v] <= e and e < begin[v + 1]", "v < V", "e < M", false, false},
    {"first[e] < v and v <= raw[e]", "v < V", "e", false, false},
    {"key[e] == v and first[e] <= u and u <= raw[e]", "v < V, u < U", "e", false, true},
    {"wide[e] < v and v <= wide[e] + 3", "v < V", "e", false, false},
};

static const char *const reducers[] = {"sum",  "sum",       "max",    "max",    "min", "mean",
                                       "prod", "logsumexp", "argmax", "argmin", "any", "all"};
enum { FIRST_TRUTH = 10, FIRST_POSITION = 8, REDUCERS = sizeof reducers / sizeof *reducers };

static const char *condition(keyed *k, const form *f) {
  static const char *const of_terms[] = {"w[e] > 0", "e > 2", "e % 3 != 1", "w[e] > 0 and e < 30"};
  static const char *const of_both[] = {"q[v] > w[e]", "v != 1", "e > v"};
  const char *y = f->where;
  if (!f->of_rows && chance(k, 25))
    y = neo_arena_printf(k->a, "%s and %s", y, of_terms[pick(k, 0, 3)]);
  if (chance(k, 15))
    y = neo_arena_printf(k->a, "%s and %s", of_both[pick(k, 0, 2)], y);
  return y;
}

/* ---- bodies */

static const char *body(keyed *k, const form *f, bool has_b) {
  const char *x = f->of_rows ? (k->columns ? "rows[v, j]" : "rows[v, 0]")
                  : has_b    ? (k->columns ? "bx[b, e, j]" : "bx[b, e, 0]")
                             : (k->columns ? "x[e, j]" : "x[e, 0]");
  if (!k->real)
    return chance(k, 50) ? x : neo_arena_printf(k->a, "%s(min(%s, 3))", k->type, x);
  switch (pick(k, 0, 5)) {
  case 0:
    return neo_arena_printf(k->a, "(%s*0.5 - rows[v, 0])", x);
  case 1:
    return neo_arena_printf(k->a, "tanh(%s)", x);
  case 2:
    return f->of_rows ? x : neo_arena_printf(k->a, "(%s*x[e, 0])", x);
  default:
    return x;
  }
}

static const char *finished(keyed *k, const char *value, bool is_value) {
  if (!k->real || !is_value || chance(k, 60))
    return value;
  return chance(k, 50) ? neo_arena_printf(k->a, "max(0, %s)", value)
                       : neo_arena_printf(k->a, "select(abs(%s) < 1000, %s, 0)*0.5", value, value);
}

/* A definition of a reduction; returns the input that its elements have a gradient for; null:
 * none. */
static const char *define(keyed *k, const char *name) {
  const form *f = &forms[pick(k, 0, sizeof forms / sizeof *forms - 1)];
  uint32_t r = (uint32_t)pick(k, 0, REDUCERS - 1);
  bool truth = r >= FIRST_TRUTH, position = !truth && r >= FIRST_POSITION;
  if (!k->real && (r == 5 || r == 7 || (k->small && r == 6))) /* of floats; wraps */
    r = 2;
  k->columns = chance(k, 45) ? (int)pick(k, 1, 2) : 0;
  bool has_b = f->axes[0] == 'b' || f->left[0] == 'b';
  const char *value = body(k, f, has_b);
  if (truth)
    value = neo_arena_printf(k->a, "(%s > 1)", value);
  value =
      neo_arena_printf(k->a, "(%s[%s where %s] %s)", reducers[r], f->axes, condition(k, f), value);
  value = finished(k, value, !truth && !position);
  add(k, PAIRS_DEFINITION, name,
      neo_arena_printf(k->a, "%s[%s%s] = %s", name, f->left, k->columns ? ", j" : "", value), true);
  return !k->real || truth || position ? NULL : f->of_rows ? "rows" : has_b ? "bx" : "x";
}

static void gradient(keyed *k, const char *of, const char *to) {
  add(k, PAIRS_DEFINITION, neo_arena_printf(k->a, "g%s", of),
      neo_arena_printf(k->a,
                       "s%s = sum[..] select(abs(%s[..]) < 1000, sin(%s[..]), 0)\n"
                       "g%s = grad(s%s, %s)",
                       of, of, of, of, of, to),
      true);
}

/* A reduction by keys of the round, and of what the round before left. */
static void loop(keyed *k) {
  static const char *const of[] = {"max", "sum", "mean", "logsumexp", "min"};
  static const char *const keys[] = {"tkey[t, e] == v", "key[e] == v", "raw[e] + t == v",
                                     "tkey[t, e] == v and w[e] > 0",
                                     "key[e] == v and wide[e] != t"};
  add(k, PAIRS_DEFINITION, "last",
      neo_arena_printf(k->a,
                       "last, all_of = scan t < T from c[v < V] = 0 {\n"
                       "  y[v < V] = %s[e where %s] (0.5*x[e, 0] + 0.25*c[key[e]])\n"
                       "  next c[v] = select(abs(y[v]) < 100, y[v], 0.5*c[v])\n  collect c\n}",
                       of[pick(k, 0, 4)], keys[pick(k, 0, 4)]),
      true);
  k->p->lines.at[k->p->lines.n - 1].names = "last, all_of";
}

/* ---- programs */

static void inputs(keyed *k, const char *columns) {
  static const char *const texts[][2] = {
      {"key", "input key[M] : i32 < V"},
      {"ukey", "input ukey[M] : i32 < U"},
      {"raw", "input raw[M] : i32"},
      {"wide", "input wide[M] : i64"},
      {"narrow", "input narrow[M] : i8"},
      {"first", "input first[M] : i32"},
      {"at", "input at[M] : i32 < M"},
      {"bkey", "input bkey[2, M] : i32 < V"},
      {"pair", "input pair[M, 3] : i32 < V"},
      {"tkey", "input tkey[T, M] : i32 < V"},
      {"begin", "input begin[V + 1] : i32 < M + 1"},
      {"w", "input w[M]"},
      {"q", "input q[V]"},
      {"of_u", "input of_u[U]"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    given(k, texts[i][0], texts[i][1]);
  given(k, "x", neo_arena_printf(k->a, "input x[M, %s] : %s", columns, k->type));
  given(k, "bx", neo_arena_printf(k->a, "input bx[2, M, %s] : %s", columns, k->type));
  given(k, "rows", neo_arena_printf(k->a, "input rows[V, %s] : %s", columns, k->type));
}

static pairs_program draw(neo_arena *a, uint64_t seed) {
  static const char *const types[] = {"f32",  "f32", "f32", "f32", "f64", "f16",
                                      "bf16", "i32", "i64", "i8",  "u8"};
  static const int64_t rows[] = {1, 2, 5, 7, 7, 13, 33}, terms[] = {0, 1, 2, 17, 40, 70, 131};
  static const char *const names[] = {"y1", "y2", "y3"}, *const columns[] = {"1",  "3",  "8",
                                                                             "16", "19", "40"};
  pairs_program p = {.seed = seed};
  keyed k = {.a = a, .seed = seed * 77 + 5, .p = &p};
  uint32_t type = (uint32_t)pick(&k, 0, sizeof types / sizeof *types - 1);
  k.type = types[type];
  k.real = type < 7;
  k.small = type > 8;
  k.v = rows[pick(&k, 0, 6)];
  k.m = terms[pick(&k, 0, 6)];
  if (k.m == 0 && chance(&k, 30))
    k.v = 0;
  size(&k, "V", k.v, 3000);
  size(&k, "M", k.m, 5000);
  size(&k, "U", pick(&k, 1, 6), 500);
  size(&k, "T", pick(&k, 0, 4), 8);
  inputs(&k, columns[pick(&k, 0, 5)]);
  int64_t n = pick(&k, 1, MOST_STATEMENTS);
  for (int64_t i = 0; i < n; i++) {
    const char *to = define(&k, names[i]);
    if (to && chance(&k, 50))
      gradient(&k, names[i], to);
  }
  if (type < 4 && chance(&k, 25))
    loop(&k);
  return p;
}

pairs_program pairs_draw_keyed(neo_arena *a, uint64_t seed) {
  return draw(a, seed);
}

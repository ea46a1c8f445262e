/* See products.h. */
#include "tests/random/products.h"
#include "base/random.h"
#include "base/str.h"
#include <string.h>

typedef struct {
  neo_str text;
  neo_arena *a;
  uint64_t state;
} writer;

static int64_t pick(writer *w, int64_t lo, int64_t hi) {
  return lo + (int64_t)(neo_splitmix(&w->state) % (uint64_t)(hi - lo + 1));
}

static bool chance(writer *w, int percent) {
  return pick(w, 1, 100) <= percent;
}

static writer begin(neo_arena *a, uint64_t seed) {
  writer w = {.a = a, .state = seed};
  neo_str_init(&w.text, a);
  neo_str_addf(&w.text, "neo-ir 1\nmodule t\n");
  return w;
}

static const char *a_type(writer *w) {
  static const char *const types[] = {"bf16", "f16", "bf16", "f16", "bf16", "f16", "f32"};
  return types[pick(w, 0, 6)];
}

/* ---- products */

typedef struct {
  const char *axis; /* in the definition */
  int64_t extent;   /* of the axis; 0: the size B */
  int64_t room;     /* of the tensor's dimension, at least as much */
} dimension;

/* In a random order, declared as an input; returns its read as f32. */
static const char *operand(writer *w, const char *name, const char *type, dimension *dim, int n) {
  neo_str at;
  neo_str_init(&at, w->a);
  for (int k = n - 1; k > 0; k--) {
    int64_t j = pick(w, 0, k);
    dimension x = dim[k];
    dim[k] = dim[j];
    dim[j] = x;
  }
  if (strcmp(dim[n - 1].axis, "n") == 0 && chance(w, 80)) {
    dimension x = dim[n - 1];
    dim[n - 1] = dim[0];
    dim[0] = x;
  }
  if (chance(w, 92) && dim[n - 1].extent) /* rows that begin at multiples of 16 bytes */
    dim[n - 1].room = (dim[n - 1].room + 7) / 8 * 8;
  neo_str_addf(&w->text, "input %s : %s [", name, type);
  for (int k = 0; k < n; k++) {
    const char *comma = k ? ", " : "";
    neo_str_addf(&at, "%s%s", comma, dim[k].axis);
    if (dim[k].extent)
      neo_str_addf(&w->text, "%s%lld", comma, (long long)dim[k].room);
    else
      neo_str_addf(&w->text, "%sB", comma);
  }
  neo_str_addf(&w->text, "]\n");
  return neo_arena_printf(w->a, "f32(%s[%s])", name, neo_str_text(&at));
}

static const char *extent_text(writer *w, int64_t n) {
  return n ? neo_arena_printf(w->a, "%lld", (long long)n) : "B";
}

const char *neo_gen_product(neo_arena *a, uint64_t seed) {
  static const char *const finish[] = {"acc0", "acc0", "max(acc0 + C[j], 0.0)", "acc0 * 0.5"};
  writer w = begin(a, seed);
  int64_t n = chance(&w, 30) ? pick(&w, 2, 3) : 1, rows = pick(&w, 1, 220),
          columns = pick(&w, 1, 150), steps = pick(&w, 1, 200);
  if (chance(&w, 60))
    steps = (steps + 7) / 8 * 8;
  const char *type = a_type(&w), *then = finish[pick(&w, 0, 3)];
  int64_t b = chance(&w, 25) ? 0 : rows;
  if (!b)
    neo_str_addf(&w.text, "size B 1..%lld\n", (long long)rows);
  dimension x[] = {
      {"b", b, rows + pick(&w, 0, 3)}, {"i", steps, steps + pick(&w, 0, 9)}, {"n", n, n}};
  dimension y[] = {{"j", columns, columns + pick(&w, 0, 3)}, x[1], x[2]};
  const char *one = operand(&w, "X", type, x, n > 1 ? 3 : 2);
  const char *two = operand(&w, "W", type, y, n > 1 ? 3 : 2);
  const char *batch = n > 1 ? neo_arena_printf(a, "n: %lld, ", (long long)n) : "";
  if (strstr(then, "C["))
    neo_str_addf(&w.text, "input C : f32 [%lld]\n", (long long)columns);
  neo_str_addf(&w.text, "temp Y : f32 [%s%s, %lld]\n",
               n > 1 ? neo_arena_printf(a, "%lld, ", (long long)n) : "", extent_text(&w, b),
               (long long)columns);
  neo_str_addf(&w.text, "def Y[%sb: %s, j: %lld] =\n  sum[i: %lld] %s * %s\n  then %s\n", batch,
               extent_text(&w, b), (long long)columns, (long long)steps, one, two, then);
  neo_str_addf(&w.text, "entry forward forward: y = Y\n");
  return neo_str_text(&w.text);
}

/* ---- sums inside of sums */

const char *neo_gen_attention(neo_arena *a, uint64_t seed) {
  static const char *const where[] = {"", "", "where j <= i + 3;", "where M[j];"};
  writer w = begin(a, seed);
  bool wide = chance(&w, 70), turned = chance(&w, 30);
  int64_t rows = pick(&w, 1, 40), steps = pick(&w, 1, 90), heads = pick(&w, 1, 2);
  int64_t d = wide ? 8 * pick(&w, 1, 4) : pick(&w, 1, 21), e = wide ? 8 * pick(&w, 1, 5) : d + 2;
  const char *mask = where[pick(&w, 0, 3)], *type = a_type(&w);
  const char *n = extent_text(&w, rows), *m = extent_text(&w, steps);
  if (chance(&w, 40)) {
    neo_str_addf(&w.text, "size N 1..%s\n", n);
    n = "N";
  }
  if (chance(&w, 40)) {
    neo_str_addf(&w.text, "size T 1..%s\n", m);
    m = "T";
  }
  const char *h = extent_text(&w, heads);
  struct {
    const char *name, *rows;
    int64_t width;
  } in[] = {{"Q", n, d}, {"K", m, d}, {"V", m, e}, {"G", n, e}};
  bool gradient = chance(&w, 40);
  for (int k = 0; k < (gradient ? 4 : 3); k++)
    neo_str_addf(&w.text, "input %s : %s [%s, %s, %lld]\n", in[k].name, type,
                 turned ? h : in[k].rows, turned ? in[k].rows : h, (long long)in[k].width);
  if (strchr(mask, 'M'))
    neo_str_addf(&w.text, "input M : bool [%s]\n", m);
  const char *qi = turned ? "h, i" : "i, h", *kj = turned ? "h, j" : "j, h";
  neo_str_addf(&w.text, "temp S : f32 [%s, %s, %s]\n", h, n, m);
  neo_str_addf(&w.text,
               "def S[h: %s, i: %s, j: %s] =\n  sum[d: %lld] f32(Q[%s, d]) * f32(K[%s, d])\n"
               "  then acc0 * 0.125\n",
               h, n, m, (long long)d, qi, kj);
  if (gradient) {
    neo_str_addf(&w.text, "temp P : f32 [%s, %s, %s]\ntemp Y : f32 [%s, %s, %lld]\n", h, n, m, n, h,
                 (long long)d);
    neo_str_addf(&w.text,
                 "def P[h: %s, i: %s, j: %s] =\n  sum[e: %lld] f32(G[%s, e]) * f32(V[%s, e])\n", h,
                 n, m, (long long)e, qi, kj);
    neo_str_addf(&w.text,
                 "def Y[i: %s, h: %s, d: %lld] =\n  sum[j: %s] %s\n"
                 "  P[h, i, j] * tanh(S[h, i, j]) * f32(K[%s, d])\n",
                 n, h, (long long)d, m, mask, kj);
  } else {
    bool soft = chance(&w, 60);
    neo_str_addf(&w.text, "temp Z : f32 [%s, %s]\ntemp Y : f32 [%s, %s, %lld]\n", h, n, n, h,
                 (long long)e);
    neo_str_addf(&w.text, "def Z[h: %s, i: %s] =\n  %s[j: %s] %s\n  S[h, i, j]\n", h, n,
                 soft ? "logsumexp" : "max", m, mask);
    neo_str_addf(&w.text,
                 "def Y[i: %s, h: %s, e: %lld] =\n  sum[j: %s] %s\n"
                 "  exp(S[h, i, j] - Z[h, i]) * f32(V[%s, e])\n",
                 n, h, (long long)e, m, mask, kj);
  }
  neo_str_addf(&w.text, "entry forward forward: y = Y\n");
  return neo_str_text(&w.text);
}

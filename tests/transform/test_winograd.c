/* Minimal filtering: the matrices filter, their errors are bounded; which sums are filtered, in
 * which directions, and what they become; values stay the same but for rounding, gradients are left
 * to others. */
#include "base/random.h"
#include "ir/order.h"
#include "tests/random/gen.h"
#include "tests/transform/world.h"
#include "transform/winograd/toom.h"
#include "transform/winograd/winograd.h"
#include <math.h>
#include <stdlib.h>

#define HEAD                                                                                 \
  "neo-ir 1\nmodule t\nsize N 0..3\ninput X : f32 [N, 64, 19]\ninput F : f32 [48, 64, 3]\n"  \
  "input G : f32 [48, 64, 9]\ninput P : f32 [2, 32, 11, 13]\ninput K : f32 [5, 3, 48, 32]\n" \
  "input V : f64 [64, 19]\ninput W : f64 [4, 48, 64]\ntemp Y : f32 [N, 48, 17]\n"            \
  "temp Z : f32 [N, 48, 6]\ntemp I : f32 [2, 9, 13, 48]\ntemp U : f64 [48, 16]\n"            \
  "temp S : f32 [N, 48, 19]\n"
#define PLAIN                                                                               \
  "def @1 Y[n: N, k: 48, q: 17] =\n  sum[c: 64, s: 3] F[k, c, s] * X[n, c, q + s]\n  then " \
  "acc0 + 1.0\nentry forward forward: Y = Y\n"
#define PADDED                                                                          \
  "def @1 S[n: N, k: 48, q: 19] =\n  sum[c: 64, s: 3] (X[n, c, q + s - 1] else 0.0) * " \
  "F[k, c, s]\n"                                                                        \
  "  then max(acc0, 0.0)\nentry forward forward: S = S\n"
#define STRIDED                                                                                \
  "def @1 Z[n: N, k: 48, q: 6] =\n  sum[c: 64, s: 9] G[k, c, s] * X[n, c, q * 2 + s]\n  then " \
  "acc0\nentry forward forward: Z = Z\n"
#define PLANE                                                                       \
  "def @1 I[n: 2, p: 9, q: 13, k: 48] =\n  sum[c: 32, r: 3, s: 5] K[s, r, k, c] * " \
  "(P[n, c, p + r, q + s - 2] else 0.0)\n  then acc0 * 2.0\nentry forward forward: I = I\n"
#define LAYER(n)                                                                                   \
  "input A : f32 [" n ", 64, 56, 56]\ninput B : f32 [64, 64, 3, 3]\ntemp L : f32 [" n              \
  ", 64, 56, 56]\ndef @1 L[n: " n ", k: 64, p: 56, q: 56] =\n  sum[c: 64, r: 3, s: 3] B[k, c, r, " \
  "s] * (A[n, c, p + r - 1, q + s - 1] else 0.0)\n  then acc0\nentry forward forward: L = L\n"
/* Filters of 9 x 9 with stride 2, n images. */
#define LARGE(n)                                                                                  \
  "input A : f32 [" n ", 64, 27, 27]\ninput B : f32 [512, 64, 9, 9]\ntemp L : f32 [" n            \
  ", 512, 10, 10]\ndef @1 L[n: " n ", k: 512, p: 10, q: 10] =\n  sum[c: 64, r: 9, s: 9] B[k, c, " \
  "r, s] * A[n, c, p * 2 + r, q * 2 + s]\n  then acc0\nentry forward forward: L = L\n"
#define COARSE                                                                                \
  "input A : f32 [2, 3, 16, 15]\ninput B : f32 [4, 3, 5, 7]\ntemp L : f32 [2, 4, 6, 7]\n"     \
  "def @1 L[n: 2, k: 4, p: 6, q: 7] =\n  sum[c: 3, r: 5, s: 7] B[k, c, r, s] * (A[n, c, p * " \
  "3 + r - 2, q * 2 + s - 3] else 0.0)\n  then acc0 * 2.0\nentry forward forward: L = L\n"
#define VOLUME                                                                                \
  "input A : f32 [2, 9, 8, 7]\ninput B : f32 [4, 2, 3, 2, 3]\ntemp L : f32 [4, 7, 7, 5]\n"    \
  "def @1 L[k: 4, o: 7, p: 7, q: 5] =\n  sum[c: 2, u: 3, r: 2, s: 3] A[c, o + u, p + r, q + " \
  "s] * B[k, c, u, r, s]\n  then acc0\nentry forward forward: L = L\n"
#define WIDE                                                                             \
  "def @1 U[k: 48, q: 16] =\n  sum[c: 64, s: 4] W[s, k, c] * V[c, q + s]\n  then acc0\n" \
  "entry forward forward: U = U\n"

/* ---- matrices */

static double filtered(const neo_toom *x, uint32_t i, uint32_t r, uint32_t u) {
  double sum = 0;
  for (uint32_t t = 0; t < x->n; t++)
    sum += x->sums[i][t] * x->taps[t][r] * x->data[t][u];
  return sum;
}

static void matrices_filter(void **state) {
  (void)state;
  neo_toom x;
  for (uint32_t m = 2; m < NEO_TOOM_MOST; m++)
    for (uint32_t k = 2; m + k - 1 <= NEO_TOOM_MOST; k++) {
      assert_true(neo_toom_of(m, k, &x));
      assert_int_equal(x.n, m + k - 1);
      for (uint32_t i = 0; i < m; i++)
        for (uint32_t r = 0; r < k; r++)
          for (uint32_t u = 0; u < x.n; u++)
            assert_true(fabs(filtered(&x, i, r, u) - (u == i + r)) < 1e-10);
    }
  assert_false(neo_toom_of(1, 3, &x));
  assert_false(neo_toom_of(3, 1, &x));
  assert_false(neo_toom_of(9, 3, &x));
}

/* Entries must be what f32 holds, or close: data and sums are dyadic. */
static void errors_grow_slowly(void **state) {
  (void)state;
  static const double most[NEO_TOOM_MOST + 1] = {
      [3] = 2, [4] = 2, [5] = 4, [6] = 4, [7] = 7, [8] = 8, [9] = 16, [10] = 24};
  neo_toom x;
  for (uint32_t n = 3; n <= NEO_TOOM_MOST; n++) {
    assert_true(neo_toom_of((n + 1) / 2, n + 1 - (n + 1) / 2, &x));
    if (!(neo_toom_error(&x) >= 1 && neo_toom_error(&x) <= most[n]))
      fail_msg("%u products: %g", n, neo_toom_error(&x));
    for (uint32_t t = 0; t < n; t++)
      for (uint32_t u = 0; u < n; u++)
        assert_true((double)(float)x.data[t][u] == x.data[t][u]);
  }
}

/* A sum over channels in f32, filtered and plain, beside what it is. */
typedef struct {
  float filtered[NEO_TOOM_MOST], plain[NEO_TOOM_MOST];
  double exact[NEO_TOOM_MOST];
} channels;

static float applied(const double *row, const float *to, uint32_t n) {
  float sum = 0;
  for (uint32_t k = 0; k < n; k++)
    sum += (float)row[k] * to[k];
  return sum;
}

static void add_channel(const neo_toom *x, uint64_t *seed, channels *c) {
  float data[NEO_TOOM_MOST], taps[NEO_TOOM_MOST];
  for (uint32_t u = 0; u < x->n; u++) {
    data[u] = (float)(neo_splitmix(seed) >> 40) * 0x1p-23f - 1;
    taps[u] = (float)(neo_splitmix(seed) >> 40) * 0x1p-23f - 1;
  }
  for (uint32_t t = 0; t < x->n; t++)
    c->filtered[t] += applied(x->taps[t], taps, x->k) * applied(x->data[t], data, x->n);
  for (uint32_t i = 0; i < x->m; i++)
    for (uint32_t s = 0; s < x->k; s++) {
      c->plain[i] += taps[s] * data[i + s];
      c->exact[i] += (double)taps[s] * (double)data[i + s];
    }
}

/* The root of the mean square of errors, filtered over plain. */
static double measured_error(const neo_toom *x, uint32_t n_channels) {
  double of_plain = 0, of_filtered = 0;
  uint64_t seed = x->n;
  for (int round = 0; round < 200; round++) {
    channels c = {0};
    for (uint32_t k = 0; k < n_channels; k++)
      add_channel(x, &seed, &c);
    for (uint32_t i = 0; i < x->m; i++) {
      of_plain += pow((double)c.plain[i] - c.exact[i], 2);
      of_filtered += pow((double)applied(x->sums[i], c.filtered, x->n) - c.exact[i], 2);
    }
  }
  return sqrt(of_filtered / of_plain);
}

/* The error model by which matrices are chosen: see winograd/choose.c. */
static void errors_are_those_expected(void **state) {
  (void)state;
  for (uint32_t m = 2; m <= 6; m++)
    for (uint32_t k = 2; k <= 5; k++) {
      neo_toom x;
      uint32_t n = 64;
      assert_true(neo_toom_of(m, k, &x));
      assert_true(neo_toom_mean_error(&x) <= neo_toom_error(&x));
      double expected = neo_toom_mean_error(&x) * sqrt((1 + 8.0 / n) / k);
      double measured = measured_error(&x, n);
      if (!(measured < 1.5 * expected && measured > 0.5 * expected))
        fail_msg("%u outputs of %u taps: %g, not %g", m, k, measured, expected);
    }
}

/* ---- definitions */

static void make(world *w, const char *def) {
  neo_arena a;
  neo_str s;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&s, &a);
  neo_str_addf(&s, "%s%s", HEAD, def);
  load(w, neo_str_text(&s));
  neo_arena_free(&a);
}

static neo_status always(const neo_pass_context *pass) {
  return neo_winograd(pass, true);
}

static void has(world *w, const char *what) {
  if (!strstr(text_of(w), what))
    fail_msg("%s is not in\n%s", what, strstr(text_of(w), "\ndef "));
}

static void stays(const char *def, neo_pass_fn *pass) {
  world w;
  make(&w, def);
  apply(&w, pass);
  if (strstr(text_of(&w), "winograd."))
    fail_msg("filtered:\n%s", text_of(&w));
  neo_arena_free(&w.arena);
}

static void a_sliding_sum_is_filtered(void **state) {
  (void)state;
  world w;
  make(&w, PLAIN);
  apply(&w, always);
  has(&w,
      "data.Y[t: 8, p: 3, i: N, i_3: 64] =\n    sum[u: 8] winograd.data[t, u] * (X[i, i_3, u + p");
  has(&w, "taps.Y[t: 8, i: 48, i_2: 64] =\n    sum[s: 3] winograd.taps[t, s] * (F[i, i_2, s] else");
  has(&w, "sums.Y[t: 8, p: 3, n: N, k: 48] =\n    sum[c: 64] taps.Y[t, k, c] * data.Y[t, p, n, c]");
  has(&w, "sum[t: 8] winograd.sums[q % 6, t] * sums.Y[t, q / 6, n, k]\n    then acc0 + 1.0");
  neo_arena_free(&w.arena);
}

static void phases_of_a_stride_are_summed(void **state) {
  (void)state;
  world w;
  make(&w, STRIDED);
  apply(&w, always);
  has(&w, "sum[c: 64, h: 2] taps.Z[t, h, k, c] * data.Z[t, h, n, c]");
  has(&w, "winograd.taps[t, h, s] * (G[i, i_3, s * 2 + h] else 0.0)");
  neo_arena_free(&w.arena);
}

static void images_of_many_channels_are_filtered(void **state) {
  (void)state;
  world w;
  make(&w, LAYER("16"));
  apply(&w, neo_pass_winograd);
  has(&w, "sum[c: 64, s: 3] taps.L[t, k, c, s] * (data.L[t, p, n, c, q + s - 1] else 0.0)");
  neo_arena_free(&w.arena);
}

/* The sums of one direction are filtered in the other. */
static void two_directions_are_filtered(void **state) {
  (void)state;
  world w;
  make(&w, LARGE("16"));
  apply(&w, neo_pass_winograd);
  has(&w, "data.L[t: 9, p: 2, h: 2, i: 16, i_4: 64, i_5: 27] =");
  has(&w, "taps.sums.L[t: 9, h: 2, i: 9, i_3: 2, i_4: 512, i_5: 64] =");
  has(&w, "taps.sums.L[t, h_8, t_2, h, k, c] * data.sums.L[t, p, h_8, t_2, p_3, h, n, c]");
  has(&w, "winograd.sums[q % 5, t_5] * sums.sums.L[t_5, q / 5, t, p, n, k]");
  neo_arena_free(&w.arena);
}

/* One image has too few products for so many elements; of six, one direction's are enough. */
static void directions_are_as_many_as_pay(void **state) {
  (void)state;
  world w;
  stays(LARGE("1"), neo_pass_winograd);
  make(&w, LARGE("6"));
  apply(&w, neo_pass_winograd);
  has(&w, "sums.L");
  assert_null(strstr(text_of(&w), "sums.sums.L"));
  neo_arena_free(&w.arena);
}

static void three_directions_are_filtered(void **state) {
  (void)state;
  world w;
  make(&w, VOLUME);
  apply(&w, always);
  has(&w, "sums.sums.sums.L");
  neo_arena_free(&w.arena);
}

static void what_gains_nothing_stays(void **state) {
  (void)state;
  /* one channel */
  stays("input T : f32 [48, 19]\ndef @1 Y[n: N, k: 48, q: 17] =\n  sum[s: 3] F[k, 0, s] * "
        "T[k, q + s]\n"
        "  then acc0\nentry forward forward: Y = Y\n",
        neo_pass_winograd);
  /* one tap; two outputs of a large filter */
  stays("def @1 Y[n: N, k: 48, q: 17] =\n  sum[c: 64] F[k, c, 0] * X[n, c, q + 1]\n  then acc0\n"
        "entry forward forward: Y = Y\n",
        neo_pass_winograd);
  stays("temp T : f32 [48, 2]\ndef @1 T[k: 48, q: 2] =\n  sum[c: 64, s: 3] F[k, c, s] * "
        "X[0, c, q + s]\n"
        "  then acc0\nentry forward forward: Y = T\n",
        neo_pass_winograd);
}

static void what_is_no_window_alone_stays(void **state) {
  (void)state;
  /* the output axis is read elsewhere as well; a condition; something else at the edges */
  stays("input T : f32 [48, 64, 3, 17]\ndef @1 Y[n: N, k: 48, q: 17] =\n  sum[c: 64, s: 3] "
        "T[k, c, s, q] * X[n, c, q + s]\n  then acc0\nentry forward forward: Y = Y\n",
        always);
  stays("def @1 Y[n: N, k: 48, q: 17] =\n  sum[c: 64, s: 3] where c + s < 60; F[k, c, s] * "
        "X[n, c, q + s]\n  then acc0\nentry forward forward: Y = Y\n",
        always);
  stays("def @1 S[n: N, k: 48, q: 19] =\n  sum[c: 64, s: 3] (X[n, c, q + s - 1] else 1.0) * "
        "F[k, c, s]\n  then acc0\nentry forward forward: S = S\n",
        always);
  /* the tap looks at the channel too */
  stays("def @1 Y[n: N, k: 48, q: 17] =\n  sum[c: 62, s: 3] F[k, c + s, s] * X[n, c, q + s]\n"
        "  then acc0\nentry forward forward: Y = Y\n",
        always);
}

static void rounded_operands_stay(void **state) {
  (void)state;
  world w;
  make(&w, PLAIN);
  w.m->math = NEO_PRECISION_BF16;
  apply(&w, neo_pass_winograd);
  assert_null(strstr(text_of(&w), "winograd."));
  neo_arena_free(&w.arena);
}

/* ---- values */

static void close_to_before(const char *def, int64_t size, double tolerance) {
  world before, after;
  make(&before, def);
  make(&after, def);
  apply(&after, always);
  has(&after, "winograd.");
  const neo_values *x = neo_interp_output(values_of(&before, size), 0);
  const neo_values *y = neo_interp_output(values_of(&after, size), 0);
  assert_int_equal(x->n, y->n);
  for (int64_t i = 0; i < x->n; i++)
    if (!(fabs(x->at[i].f - y->at[i].f) <= tolerance))
      fail_msg("%g and %g at %lld in\n%s", x->at[i].f, y->at[i].f, (long long)i, text_of(&after));
  neo_arena_free(&before.arena);
  neo_arena_free(&after.arena);
}

static void values_stay_the_same(void **state) {
  (void)state;
  for (int64_t size = 0; size <= 3; size++) {
    close_to_before(PLAIN, size, 1e-4);
    close_to_before(PADDED, size, 1e-4);
    close_to_before(STRIDED, size, 1e-4);
  }
  close_to_before(PLANE, 1, 4e-4);
  close_to_before(COARSE, 1, 1e-4);
  close_to_before(VOLUME, 1, 1e-4);
  close_to_before(WIDE, 1, 1e-12);
}

/* The outputs of a program, with bounds of their rounding errors. */
typedef struct {
  neo_interp *p;
  neo_list outputs;
} outcome;

static outcome outcome_of(neo_arena *a, const neo_gen_program *g) {
  neo_str why;
  neo_str_init(&why, a);
  outcome y = {neo_gen_interp(a, g), g->m->entries.at[0].outputs};
  if (neo_interp_run(y.p, 0, &why))
    fail_msg("%s", neo_str_text(&why));
  return y;
}

static double error_of(const double *errors, int64_t k) {
  return errors ? errors[k] : 0;
}

static void compare(const neo_gen_program *g, outcome x, outcome y) {
  for (uint32_t k = 0; k < x.outputs.n; k++) {
    neo_tensor t = {neo_list_at(g->m, x.outputs, k)};
    const neo_values *a = neo_interp_tensor(x.p, t), *b = neo_interp_tensor(y.p, t);
    const double *of_a = neo_interp_errors(x.p, t), *of_b = neo_interp_errors(y.p, t);
    assert_int_equal(a->n, b->n);
    for (int64_t i = 0; i < a->n; i++)
      if (!neo_gen_same((neo_type)neo_tensor_at(g->m, t)->type, a->at[i],
                        error_of(of_a, i) + error_of(of_b, i), b->at[i]))
        fail_msg("seed %llu: %s differs at %lld", (unsigned long long)g->seed,
                 neo_name_text(g->m->names, neo_tensor_at(g->m, t)->name), (long long)i);
  }
}

/* The most directions in which a sum of the program is filtered. */
static uint32_t directions_of(const neo_module *m) {
  uint32_t most = 0;
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    const char *name = neo_name_text(m->names, m->tensors.at[t].name);
    uint32_t n = 0;
    for (; strncmp(name, "sums.", 5) == 0; name += 5)
      n++;
    most = n > most ? n : most;
  }
  return most;
}

/* If something of the program of this seed is filtered, its outputs are the same. In how many
 * directions is it? */
static uint32_t check_seed(uint64_t seed) {
  static const neo_gen_options o = {.max_defs = 3,
                                    .max_work = 4000,
                                    .has = NEO_GEN_TYPES | NEO_GEN_RUNTIME_SIZES |
                                           NEO_GEN_REDUCTIONS | NEO_GEN_GUARDS};
  neo_arena a;
  neo_str why;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&why, &a);
  neo_gen_program g = neo_gen_make(&a, seed, &o), h = neo_gen_make(&a, seed, &o);
  size_t n = h.m->defs.n;
  assert_int_equal(neo_pass_call(h.m, &(neo_pass_target){0}, always), NEO_OK);
  bool filtered = h.m->defs.n > n;
  uint32_t directions = directions_of(h.m);
  if (neo_module_check(h.m, &why))
    fail_msg("seed %llu: %s", (unsigned long long)seed, neo_str_text(&why));
  if (filtered)
    compare(&g, outcome_of(&a, &g), outcome_of(&a, &h));
  neo_arena_free(&a);
  return directions;
}

static void random_programs_stay_the_same(void **state) {
  (void)state;
  const char *from = getenv("NEO_TEST_SEED");
  int filtered = 0, twice = 0;
  for (uint64_t seed = from ? strtoull(from, NULL, 10) : 1, k = 0; k < 3000; k++) {
    uint32_t directions = check_seed(seed + k);
    filtered += directions > 0;
    twice += directions > 1;
  }
  assert_true(filtered >= 30 && twice >= 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matrices_filter),
      cmocka_unit_test(errors_grow_slowly),
      cmocka_unit_test(errors_are_those_expected),
      cmocka_unit_test(a_sliding_sum_is_filtered),
      cmocka_unit_test(phases_of_a_stride_are_summed),
      cmocka_unit_test(images_of_many_channels_are_filtered),
      cmocka_unit_test(two_directions_are_filtered),
      cmocka_unit_test(directions_are_as_many_as_pay),
      cmocka_unit_test(three_directions_are_filtered),
      cmocka_unit_test(what_gains_nothing_stays),
      cmocka_unit_test(what_is_no_window_alone_stays),
      cmocka_unit_test(rounded_operands_stay),
      cmocka_unit_test(values_stay_the_same),
      cmocka_unit_test(random_programs_stay_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

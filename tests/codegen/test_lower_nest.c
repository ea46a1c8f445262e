/* Sums inside of sums: whatever stands between them, the reference interpreter, the loop
 * interpreter with threads in a random order, and machine code agree; the tensor between them is in
 * no kernel's memory. */
#include "base/machine.h"
#include "tests/codegen/lower_test.h"
#include "tests/random/seeds.h"
#include <stdio.h>

/* Nests whatever can be. */
static neo_profile eager(void) {
  neo_profile p = neo_machine_named("sm_90a")->profile;
  p.products_per_s = 1e30;
  p.room_s = 1;
  return p;
}

typedef enum { PLAIN, NARROW, SPLIT, WAYS } way; /* of products: f32, of bf16, three of tf32 */

/* Blocks of rows, among all schedules of a text's kernels; by warps where products are rounded. */
static int check_way(const char *text, int n_random, way w) {
  neo_profile p = eager();
  neo_seeds s = neo_seeds_of(1, 1);
  int tiled = 0, by_warps = 0, unused = 0;
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    lower_options o = {.seed = seed, .n_random = n_random, .fusion = {.profile = &p}};
    o.narrow = w == NARROW;
    o.split = w == SPLIT;
    o.gpu = true;
    o.tiled = &tiled;
    o.by_warps = &by_warps;
    lower_check(text, &o);
    o.gpu = false;
    o.tiled = &unused;
    o.by_warps = NULL;
    o.n_random = 1;
    o.jit = w == PLAIN;
    lower_check(text, &o);
  }
  return w == PLAIN ? tiled : by_warps;
}

static int check(const char *text, int n_random) {
  return check_way(text, n_random, PLAIN);
}

/* At least so many blocks of rows, and so many by warps in each of the ways that these have. */
static void check_ways(const char *text, int n_random, int blocks, int by_warps) {
  assert_true(check_way(text, n_random, PLAIN) >= blocks);
  for (way w = NARROW; w < WAYS; w++)
    assert_true(check_way(text, n_random, w) >= by_warps);
}

#define INPUTS                                                                             \
  "size B 1..2\nsize N 1..23\ninput Q : f32 [B, N, 2, 19]\ninput K : f32 [B, 37, 2, 19]\n" \
  "input V : f32 [B, 37, 2, 23]\ninput dY : f32 [B, N, 2, 23]\ninput M : bool [B, 37]\n"   \
  "input b : f32 [N, 37]\n"

#define SCORES                                                                     \
  "temp S : f32 [B, 2, N, 37]\n"                                                   \
  "def S[b: B, h: 2, i: N, j: 37] =\n  sum[d: 19] Q[b, i, h, d] * K[b, j, h, d]\n" \
  "  then acc0 * 0.2\n"

static void attention_has_no_square_of_its_length(void **state) {
  (void)state;
  check_ways(INPUTS SCORES "temp Z : f32 [B, 2, N]\ntemp Y : f32 [B, N, 2, 23]\n"
                           "def Z[b: B, h: 2, i: N] =\n  logsumexp[j: 37] S[b, h, i, j]\n"
                           "def Y[b: B, i: N, h: 2, e: 23] =\n"
                           "  sum[j: 37] exp(S[b, h, i, j] - Z[b, h, i]) * V[b, j, h, e]\n"
                           "entry forward f: y = Y\n",
             4, 7, 2);
}

static void masks_and_biases_stand_between_the_sums(void **state) {
  (void)state;
  check_ways(INPUTS SCORES
             "temp T : f32 [B, 2, N, 37]\ntemp m : f32 [B, 2, N]\ntemp s : f32 [B, 2, N]\n"
             "temp Y : f32 [B, N, 2, 23]\n"
             "def T[b: B, h: 2, i: N, j: 37] =\n"
             "  select(M[b, j], S[b, h, i, j] + b[i, j], -30.0)\n"
             "def m[b: B, h: 2, i: N] =\n  max[j: 37] where j <= i;\n  T[b, h, i, j]\n"
             "def s[b: B, h: 2, i: N] =\n  sum[j: 37] where j <= i;\n"
             "  exp(T[b, h, i, j] - m[b, h, i])\n"
             "def Y[b: B, i: N, h: 2, e: 23] =\n  sum[j: 37] where j <= i;\n"
             "  exp(T[b, h, i, j] - m[b, h, i]) * V[b, j, h, e]\n"
             "  then acc0 / s[b, h, i]\n"
             "entry forward f: y = Y\n",
             4, 7, 2);
}

#define GRADIENTS                                                                     \
  "temp P : f32 [B, 2, N, 37]\ntemp D : f32 [B, 2, N]\ntemp dS : f32 [B, 2, N, 37]\n" \
  "def P[b: B, h: 2, i: N, j: 37] =\n  sum[e: 23] dY[b, i, h, e] * V[b, j, h, e]\n"   \
  "def D[b: B, h: 2, i: N] =\n  sum[j: 37] -(exp(S[b, h, i, j]) * P[b, h, i, j])\n"   \
  "def dS[b: B, h: 2, i: N, j: 37] =\n"                                               \
  "  (P[b, h, i, j] + D[b, h, i]) * exp(S[b, h, i, j])\n"

static void gradients_have_two_inner_sums(void **state) {
  (void)state;
  check_ways(INPUTS SCORES GRADIENTS "temp dQ : f32 [B, N, 2, 19]\ntemp dK : f32 [B, 37, 2, 19]\n"
                                     "temp dV : f32 [B, 37, 2, 23]\n"
                                     "def dQ[b: B, i: N, h: 2, d: 19] =\n"
                                     "  sum[j: 37] dS[b, h, i, j] * K[b, j, h, d]\n"
                                     "def dK[b: B, j: 37, h: 2, d: 19] =\n"
                                     "  sum[i: N] dS[b, h, i, j] * Q[b, i, h, d]\n"
                                     "def dV[b: B, j: 37, h: 2, e: 23] =\n"
                                     "  sum[i: N] dY[b, i, h, e] * exp(S[b, h, i, j])\n"
                                     "entry forward f: q = dQ, k = dK, v = dV\n",
             4, 13, 3);
}

/* Steps along two axes, an inner sum over two, numbers of 64 bits, a result that is added to. */
static void sums_go_over_several_axes(void **state) {
  (void)state;
  assert_true(check("size N 1..9\ninput Q : f64 [N, 2, 2]\ninput K : f64 [5, 4, 2, 2]\n"
                    "input V : f64 [5, 4, 6, 3]\ninput X : f64 [N, 3, 6]\n"
                    "temp S : f64 [N, 5, 4]\ntemp M : f64 [N]\ntemp Y : f64 [N, 3, 6]\n"
                    "def S[i: N, j: 5, k: 4] =\n  sum[c: 2, d: 2] Q[i, c, d] * K[j, k, c, d]\n"
                    "def M[i: N] =\n  mean[j: 5, k: 4] abs(S[i, j, k])\n  then acc0 * acc0\n"
                    "def Y[i: N, c: 3, e: 6] =\n"
                    "  sum[j: 5, k: 4] V[j, k, e, c] * tanh(S[i, j, k] - M[i])\n"
                    "  then acc0 + X[i, c, e]\n"
                    "entry forward f: y = Y\n",
                    4) > 6);
}

/* Elements that a mask excludes may be NaN: they are not multiplied by zero. */
static void masked_steps_may_be_no_numbers(void **state) {
  (void)state;
  assert_true(check("size N 1..9\ninput Q : f32 [N, 2]\ninput K : f32 [21, 2]\n"
                    "input u : f32 [21]\ninput V : f32 [21, 12]\ntemp S : f32 [N, 21]\n"
                    "temp W : f32 [21, 12]\ntemp Y : f32 [N, 12]\n"
                    "def W[j: 21, e: 12] =\n  V[j, e] + sqrt(u[j])\n"
                    "def S[i: N, j: 21] =\n  sum[d: 2] Q[i, d] * K[j, d]\n"
                    "def Y[i: N, e: 12] =\n  sum[j: 21] where 0.0 < u[j];\n"
                    "  S[i, j] * W[j, e]\n"
                    "entry forward f: y = Y\n",
                    4) > 0);
}

/* Not by zero, nor by what another row of the same block takes. */
static void masked_steps_of_some_rows_may_be_no_numbers(void **state) {
  (void)state;
  check_ways("size N 1..53\ninput Q : f32 [N, 5]\ninput K : f32 [61, 5]\n"
             "input V : f32 [61, 12]\ntemp S : f32 [N, 61]\n"
             "temp W : f32 [61, 12]\ntemp Y : f32 [N, 12]\n"
             "def W[j: 61, e: 12] =\n  V[j, e] / select(j % 11 == 5, 0.0, 1.0)\n"
             "def S[i: N, j: 61] =\n  sum[d: 5] Q[i, d] * K[j, d]\n"
             "def Y[i: N, e: 12] =\n  sum[j: 61] where 2 * j <= 3 * i + 4;\n"
             "  S[i, j] * W[j, e]\n"
             "entry forward f: y = Y\n",
             4, 1, 1);
}

/* Windows that slide, from below and above, ranges that depend on rows, and a factor that is zero
 * elsewhere. */
static void steps_that_no_row_takes_are_left_out(void **state) {
  static const char *const sum[] = {
      "sum[j: 61] where j < i + 3 and i <= j + 7;\n  S[i, j] * V[j, e]",
      "sum[j: i..61] S[i, j] * V[j, e]",
      "sum[j: min(i + 2, 61)] where 40 <= 3 * j + i;\n  S[i, j] * V[j, e]",
      "sum[j: 61] where j + N <= i;\n  S[i, j] * V[j, e]",
      "sum[j: 61] select(j <= 2 * i, S[i, j], 0.0) * V[j, e]",
      "sum[j: 61] where i64(n[0]) * 9 <= j + i;\n  S[i, j] * V[j, e]"};
  (void)state;
  for (size_t k = 0; k < sizeof sum / sizeof *sum; k++) {
    char text[700];
    snprintf(text, sizeof text,
             "size N 1..53\ninput Q : f32 [N, 5]\ninput K : f32 [61, 5]\n"
             "input V : f32 [61, 12]\ninput n : i32 [1] < 5\ntemp S : f32 [N, 61]\n"
             "temp Y : f32 [N, 12]\n"
             "def S[i: N, j: 61] =\n  sum[d: 5] Q[i, d] * K[j, d]\n"
             "def Y[i: N, e: 12] =\n  %s\nentry forward f: y = Y\n",
             sum[k]);
    check_ways(text, 3, 1, 1);
  }
}

/* Softmax of no elements, of excluded ones, with infinities: the same as in two passes. */
static void logsumexps_hold_for_infinities(void **state) {
  static const char *const body[] = {
      "select(i < j + 3, -inf, S[i, j])", "select(i == j + 3, inf, S[i, j])",
      "select(i < j + 3, -inf, select(j == 2, inf, S[i, j]))", "S[i, j] * 200.0 - 1000.0"};
  (void)state;
  for (size_t k = 0; k < sizeof body / sizeof *body; k++) {
    char text[600];
    snprintf(text, sizeof text,
             "size N 1..13\ninput Q : f32 [N, 3]\ninput K : f32 [21, 3]\n"
             "temp S : f32 [N, 21]\ntemp Z : f32 [N]\n"
             "def S[i: N, j: 21] =\n  sum[d: 3] Q[i, d] * K[j, d]\n"
             "def Z[i: N] =\n  logsumexp[j: 21] %s%s\nentry forward f: z = Z\n",
             k % 2 ? "where j < i;\n  " : "", body[k]);
    assert_true(check(text, 3) > 0);
  }
}

/* The schedules of the text's kernels that are in stages. */
static int count_staged(const char *text, way w) {
  neo_profile p = eager();
  neo_seeds s = neo_seeds_of(1, 1);
  int staged = 0;
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    lower_options o = {.seed = seed, .n_random = 40, .fusion = {.profile = &p}};
    o.narrow = w == NARROW;
    o.split = w == SPLIT;
    o.gpu = true;
    o.staged = &staged;
    lower_check(text, &o);
  }
  return staged;
}

/* Copied past the registers, of bf16, tf32 and f32, and through them, where heads are odd, or an
 * operand is a product; masked. */
static void operands_of_steps_come_in_stages(void **state) {
  static const struct {
    const char *type, *round;
    int head, columns;
    const char *where;
  } of[] = {{"bf16", "f32", 64, 40, "where j <= i + 3;"},
            {"bf16", "f32", 128, 128, ""},
            {"bf16", "f32", 19, 21, "where j <= i;"},
            {"f32", "tf32", 64, 24, "where i <= j and j < i + 20;"},
            {"f32", "tf32", 11, 13, ""}};
  (void)state;
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    char text[1000];
    const char *t = of[k].type, *r = of[k].round, *back = *t == 'b' ? "f32(bf16(" : "tf32((";
    int h = of[k].head, e = of[k].columns;
    snprintf(text, sizeof text,
             "size N 1..53\ninput Q : %s [N, 2, %d]\ninput K : %s [61, 2, %d]\n"
             "input V : %s [61, 2, %d]\ntemp S : f32 [2, N, 61]\ntemp Z : f32 [2, N]\n"
             "temp Y : f32 [N, 2, %d]\n"
             "def S[h: 2, i: N, j: 61] =\n  sum[d: %d] %s(Q[i, h, d]) * %s(K[j, h, d])\n"
             "  then acc0 * 0.1\n"
             "def Z[h: 2, i: N] =\n  logsumexp[j: 61] %s\n  S[h, i, j]\n"
             "def Y[i: N, h: 2, e: %d] =\n  sum[j: 61] %s\n"
             "  %sexp(S[h, i, j] - Z[h, i]))) * %s(V[j, h, e])\n"
             "entry forward f: y = Y\n",
             t, h, t, h, t, e, e, h, r, r, of[k].where, e, of[k].where, back, r);
    assert_true(count_staged(text, PLAIN) > 0);
  }
  static const char *const other[] = {"Q[b, i, h, d]", "(Q[b, i, h, d] * Q[b, i, h, d])"};
  for (int k = 0; k < 2; k++) {
    char text[1500];
    snprintf(text, sizeof text,
             INPUTS SCORES GRADIENTS "temp dQ : f32 [B, N, 2, 19]\ntemp dK : f32 [B, 37, 2, 19]\n"
                                     "def dQ[b: B, i: N, h: 2, d: 19] =\n"
                                     "  sum[j: 37] dS[b, h, i, j] * K[b, j, h, d]\n"
                                     "def dK[b: B, j: 37, h: 2, d: 19] =\n"
                                     "  sum[i: N] dS[b, h, i, j] * %s\n"
                                     "entry forward f: q = dQ, k = dK\n",
             other[k]);
    assert_true(count_staged(text, SPLIT) > 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attention_has_no_square_of_its_length),
      cmocka_unit_test(masks_and_biases_stand_between_the_sums),
      cmocka_unit_test(gradients_have_two_inner_sums),
      cmocka_unit_test(sums_go_over_several_axes),
      cmocka_unit_test(masked_steps_may_be_no_numbers),
      cmocka_unit_test(masked_steps_of_some_rows_may_be_no_numbers),
      cmocka_unit_test(steps_that_no_row_takes_are_left_out),
      cmocka_unit_test(logsumexps_hold_for_infinities),
      cmocka_unit_test(operands_of_steps_come_in_stages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Contractions of pairs, on the matrix unit and by dots of vectors: the reference interpreter, the
 * loop interpreter and machine code agree, for shapes that divide and shapes that do not. Units are
 * plain code; dots are instructions too, where this processor has them. */
#include "base/random.h"
#include "codegen/llvm/target.h"
#include "tests/codegen/lower_test.h"
#include <limits.h>
#include <stdio.h>

static bool has_vectors(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

static bool has_dots(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

/* The fewest kernels of pairs among all schedules, of all units. */
static int check(const char *text, uint64_t seed, int n_random) {
  static const char *const units[] = {"x86-64-v3+tiles", "x86-64-v3+dots", "znver4"};
  int fewest = INT_MAX;
  for (int k = 0; k < 2 + (has_dots() && seed <= 3); k++) {
    int n = 0;
    lower_options o = {.seed = seed, .n_random = n_random, .narrow = true, .tiled = &n};
    o.mcpu = units[k];
    o.jit = k == 2 || (has_vectors() && seed == 1);
    lower_check(text, &o);
    fewest = n < fewest ? n : fewest;
  }
  return fewest;
}

static void products_of_all_layouts_run_on_pairs(void **state) {
  (void)state;
  static const char *const text =
      "size B 1..40\ninput X : f32 [B, 67]\ninput W : f32 [67, 35]\ninput c : f32 [35]\n"
      "temp Y : f32 [B, 35]\ntemp G : f32 [67, 35]\ntemp D : f32 [B, 67]\n"
      "def Y[b: B, j: 35] =\n  sum[i: 67] X[b, i] * W[i, j]\n  then relu(acc0 + c[j])\n"
      "def G[i: 67, j: 35] =\n  sum[b: B] X[b, i] * Y[b, j]\n  then acc0\n"
      "def D[b: B, i: 67] =\n  sum[j: 35] Y[b, j] * W[i, j]\n  then acc0\n";
  int tiled = 0;
  for (uint64_t seed = 1; seed <= 3; seed++)
    tiled += check(text, seed, 9);
  assert_true(tiled > 5);
}

static void whole_tiles_need_no_zeros(void **state) {
  (void)state;
  assert_true(check("input X : f32 [32, 64]\ninput W : f32 [64, 48]\ntemp Y : f32 [32, 48]\n"
                    "def Y[b: 32, j: 48] =\n  sum[i: 64] X[b, i] * W[i, j]\n  then acc0\n",
                    1, 6) > 0);
}

static void batches_of_products_run_on_pairs(void **state) {
  (void)state;
  assert_true(
      check("input Q : f32 [3, 19, 34]\ninput K : f32 [3, 21, 34]\ntemp S : f32 [3, 19, 21]\n"
            "def S[h: 3, i: 19, j: 21] =\n  sum[d: 34] Q[h, i, d] * K[h, j, d]\n"
            "  then acc0 * 0.25\n",
            1, 6) > 0);
}

static void windows_with_else_run_on_pairs(void **state) {
  (void)state;
  static const char *const text =
      "input X : f32 [2, 5, 9, 17]\ninput F : f32 [20, 5, 3, 3]\ntemp Y : f32 [2, 20, 9, 17]\n"
      "def Y[n: 2, k: 20, p: 9, q: 17] =\n  sum[c: 5, r: 3, s: 3] F[k, c, r, s] * "
      "(X[n, c, p + r - 1, q + s - 1] else 0.0)\n  then acc0\n";
  for (uint64_t seed = 1; seed <= 2; seed++)
    assert_true(check(text, seed, 6) > 0);
}

/* Steps in pairs, an odd one with zero beside it, as they are read in place. */
static void operands_that_lie_in_pairs_are_read_as_they_lie(void **state) {
  (void)state;
  for (int steps = 62; steps <= 67; steps++) {
    char text[400];
    snprintf(text, sizeof text,
             "size B 1..40\ninput X : f32 [B, %d]\ninput P : bf16 [3, %d, 16, 2]\n"
             "temp Y : f32 [B, 45]\ndef Y[b: B, j: 45] =\n  sum[i: %d] X[b, i] * "
             "f32(P[j / 16, i / 2, j %% 16, i %% 2])\n  then acc0\n",
             steps, (steps + 1) / 2, steps);
    assert_true(check(text, steps == 65 ? 1 : 9, 6) > 1);
  }
}

static void one_row_runs_on_dots(void **state) {
  (void)state;
  lower_options o = {.seed = 1, .n_random = 6, .narrow = true, .mcpu = "x86-64-v3+dots"};
  int n = 0;
  o.tiled = &n;
  o.jit = has_vectors();
  lower_check("input X : f32 [67]\ninput W : f32 [67, 90]\ntemp Y : f32 [90]\n"
              "def Y[j: 90] =\n  sum[i: 67] X[i] * W[i, j]\n  then acc0\n",
              &o);
  lower_check("input X : f32 [130]\ninput P : bf16 [6, 65, 16, 2]\ntemp Y : f32 [90]\n"
              "def Y[j: 90] =\n  sum[i: 130] X[i] * f32(P[j / 16, i / 2, j % 16, i % 2])\n"
              "  then acc0\n",
              &o);
  assert_true(n > 2);
}

static void products_that_are_not_wanted_rounded_stay_as_they_are(void **state) {
  (void)state;
  assert_int_equal(check("input X : f32 [32, 64]\ntemp s : f32 [32]\n"
                         "def s[b: 32] =\n  sum[i: 64] X[b, i] * X[b, i]\n  then acc0\n",
                         1, 6),
                   0);
}

/* Sizes, layouts and what follows the sum from a seed. */
static void random_products_run_on_pairs(void **state) {
  (void)state;
  int tiled = 0;
  for (uint64_t seed = 1; seed <= 10; seed++) {
    uint64_t x = seed * 77;
    int m = 1 + (int)(neo_splitmix(&x) % 50), n = 1 + (int)(neo_splitmix(&x) % 50);
    int k = 1 + (int)(neo_splitmix(&x) % 80), h = 1 + (int)(neo_splitmix(&x) % 3);
    bool a = neo_splitmix(&x) & 1, b = neo_splitmix(&x) & 1, r = neo_splitmix(&x) & 1;
    char text[1000];
    snprintf(text, sizeof text,
             "input A : f32 [%d, %d, %d]\ninput B : f32 [%d, %d]\ntemp Y : f32 [%d, %d]\n"
             "def Y[i: %d, j: %d] =\n  sum[k: %d, h: %d] A[%s, h] * B[%s]\n  then acc0 + 1.0\n",
             a ? m : k, a ? k : m, h, b ? k * h : n, b ? n : k * h, r ? n : m, r ? m : n, r ? n : m,
             r ? m : n, k, h, a ? (r ? "j, k" : "i, k") : (r ? "k, j" : "k, i"),
             b ? (r ? "k * %d + h, i" : "k * %d + h, j") : (r ? "i, k * %d + h" : "j, k * %d + h"));
    char whole[1000];
    snprintf(whole, sizeof whole, text, h); /* the factor of the second operand */
    tiled += check(whole, seed, 4);
  }
  assert_true(tiled > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_of_all_layouts_run_on_pairs),
      cmocka_unit_test(whole_tiles_need_no_zeros),
      cmocka_unit_test(batches_of_products_run_on_pairs),
      cmocka_unit_test(windows_with_else_run_on_pairs),
      cmocka_unit_test(operands_that_lie_in_pairs_are_read_as_they_lie),
      cmocka_unit_test(one_row_runs_on_dots),
      cmocka_unit_test(products_that_are_not_wanted_rounded_stay_as_they_are),
      cmocka_unit_test(random_products_run_on_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

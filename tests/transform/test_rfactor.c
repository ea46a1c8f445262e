/* Long reductions to few elements: what becomes parts, and that values stay the same (data are
 * small integers, so that sums are exact in any order). */
#include "tests/transform/world.h"

#define HEAD                                                                                   \
  "neo-ir 1\nmodule t\nsize N 0..700\ninput x : f64 [N, 300]\ninput v : f64 [150001]\n"        \
  "input w : f64 [3, 160000]\ninput k : i32 [150001] < 9\ntemp L : f64 []\ntemp M : f64 [3]\n" \
  "temp K : i32 []\ntemp A : bool []\n"

#define becomes(def, parts, whole) becomes_by(neo_pass_rfactor, HEAD, def, parts, whole)

static void an_axis_that_suits_is_the_parts(void **state) {
  (void)state;
  becomes("def @1 L[] =\n  sum[n: N, d: 300] sqrt(x[n, d])\n  then sqrt(acc0)\n"
          "entry forward forward: L = L\n",
          "partial.L[n: N] =\n    sum[d: 300] sqrt(x[n, d])",
          "sum[n: N] partial.L[n]\n    then sqrt(acc0)");
}

static void else_ranges_of_the_longest_axis_are(void **state) {
  (void)state;
  becomes("def @1 M[i: 3] =\n  max[j: 160000] w[i, j]\n  then acc0\nentry forward forward: M = M\n",
          "partial.M[i: 3, part: 16] =\n    max[j: 10000] w[i, 10000 * part + j]",
          "max[part: 16] partial.M[i, part]");
}

static void an_axis_of_few_positions_or_one_that_starts_late_is_not(void **state) {
  (void)state;
  becomes("temp F : f64 []\ndef @1 F[] =\n  max[i: 3, j: 160000] w[i, j]\n  then acc0\n"
          "entry forward forward: F = F\n",
          "max[i: 3, j: 10000] w[i, 10000 * part + j]", "max[part: 16] partial.F[part]");
  becomes("temp F : f64 []\ndef @1 F[] =\n  max[i: 1..300, j: 1000] x[j % N, i]\n  then acc0\n"
          "entry forward forward: F = F\n",
          "max[i: 1..300] x[j % N, i]", "max[j: 1000] partial.F[j]");
}

static void a_winners_place_that_nobody_reads_is_dropped(void **state) {
  (void)state;
  becomes("def @1 M[i: 3] =\n  max[j: 160000] w[i, j], j\n  then acc0\n"
          "entry forward forward: M = M\n",
          "max[j: 10000] w[i, 10000 * part + j]\n", "max[part: 16] partial.M[i, part]\n");
}

static void the_last_range_may_be_shorter(void **state) {
  (void)state;
  becomes("def @1 L[] =\n  sum[j: 150001] v[j]\n  then acc0\nentry forward forward: L = L\n",
          "sum[j: min(9376, 150001 - 9376 * part)] v[9376 * part + j]",
          "sum[part: 16] partial.L[part]");
}

static void a_mean_is_a_sum_over_its_count(void **state) {
  (void)state;
  becomes("def @1 L[] =\n  mean[n: N, d: 300] x[n, d]\n  then acc0\nentry forward forward: L = L\n",
          "sum[d: 300] x[n, d]", "then acc0 / f64(N * 300)");
}

static void conditions_stay_with_the_parts(void **state) {
  (void)state;
  becomes("def @1 L[] =\n  sum[j: 150001] where i64(k[j]) == 3; v[j]\n  then acc0\n"
          "entry forward forward: L = L\n",
          "where i64(k[9376 * part + j]) == 3;", "sum[part: 16] partial.L[part]");
}

static void what_is_short_or_wide_stays(void **state) {
  (void)state;
  becomes("def @1 L[] =\n  sum[j: 1000] v[j]\n  then acc0\nentry forward forward: L = L\n", NULL,
          "sum[j: 1000] v[j]");
  becomes(
      "temp W : f64 [300]\ndef @1 W[d: 300] =\n  sum[n: N, j: 300] x[n, d] * x[n, j]\n  then acc0\n"
      "entry forward forward: W = W\n",
      NULL, "sum[n: N, j: 300] x[n, d] * x[n, j]");
}

static void winners_and_means_under_conditions_stay(void **state) {
  (void)state;
  becomes("temp I : i64 []\ndef @1 I[] =\n  max[j: 150001] v[j], j\n  then acc1\n"
          "entry forward forward: I = I\n",
          NULL, "max[j: 150001] v[j], j");
  becomes("def @1 L[] =\n  mean[j: 150001] where i64(k[j]) == 3; v[j]\n  then acc0\n"
          "entry forward forward: L = L\n",
          NULL, "mean[j: 150001]");
}

/* ---- of a GPU */

static neo_status split_for_gpu(const neo_pass_context *pass) {
  neo_pass_context gpu = *pass;
  gpu.target = &(neo_pass_target){.gpu_threads = 132 * 1024};
  return neo_pass_rfactor(&gpu);
}

#define GPU_HEAD                                                                            \
  "neo-ir 1\nmodule t\nsize N 0..700\ninput X : f32 [16, 56, 56, 64]\n"                     \
  "input D : f32 [16, 56, 56, 64]\n"                                                        \
  "input A : f32 [4096, 512]\ninput B : f32 [50000, 130]\ninput R : f32 [3, 1000000]\n"     \
  "temp G : f32 [64, 64]\ntemp P : f32 [512, 512]\ntemp s : f32 [64]\ntemp c : f32 [130]\n" \
  "temp r : f32 [3]\n"

#define gpu_becomes(def, parts, whole) becomes_by(split_for_gpu, GPU_HEAD, def, parts, whole)

static void a_gpu_shares_products_of_few_tiles(void **state) {
  (void)state;
  gpu_becomes(
      "def @1 G[k: 64, c: 64] =\n  sum[n: 16, p: 56, q: 56] D[n, p, q, k] * X[n, p, q, c]\n"
      "  then acc0\nentry forward forward: G = G\n",
      "partial.G[p: 56, k: 64, c: 64] =\n    sum[n: 16, q: 56] D[n, p, q, k] * X[n, p, q, c]",
      "sum[p: 56] partial.G[p, k, c]");
  gpu_becomes("def @1 P[i: 512, j: 512] =\n  sum[b: 4096] A[b, i] * A[b, j]\n  then acc0\n"
              "entry forward forward: P = P\n",
              "partial.P[part: 4, i: 512, j: 512] =\n    sum[b: 1024] A[1024 * part + b, i] * "
              "A[1024 * part + b, j]",
              "sum[part: 4] partial.P[part, i, j]");
}

static void a_gpu_shares_sums_of_columns_and_of_long_rows(void **state) {
  (void)state;
  gpu_becomes("def @1 s[c: 64] =\n  sum[n: 16, p: 56, q: 56] X[n, p, q, c]\n  then acc0\n"
              "entry forward forward: s = s\n",
              "partial.s[p: 56, c: 64] =\n    sum[n: 16, q: 56] X[n, p, q, c]",
              "sum[p: 56] partial.s[p, c]");
  gpu_becomes("def @1 c[j: 130] =\n  sum[i: 50000] B[i, j]\n  then acc0\n"
              "entry forward forward: c = c\n",
              "partial.c[part: 50, j: 130]", "partial.c[part, j]");
  gpu_becomes("def @1 r[i: 3] =\n  max[j: 1000000] R[i, j]\n  then acc0\n"
              "entry forward forward: r = r\n",
              "partial.r[part: 160, i: 3] =\n    max[j: 6250] R[i, 6250 * part + j]",
              "max[part: 160] partial.r[part, i]");
}

static void what_fills_a_gpu_stays(void **state) {
  (void)state;
  gpu_becomes("temp W : f32 [4096, 4096]\ndef @1 W[i: 4096, j: 4096] =\n  sum[b: 512] A[i, b] * "
              "A[j, b]\n  then acc0\nentry forward forward: W = W\n",
              NULL, "sum[b: 512] A[i, b] * A[j, b]");
  gpu_becomes("temp w : f32 [4096]\ndef @1 w[i: 4096] =\n  sum[b: 512] A[i, b]\n  then acc0\n"
              "entry forward forward: w = w\n",
              NULL, "sum[b: 512] A[i, b]");
}

/* ---- values */

static void same_by(neo_pass_fn *pass, const char *def, int64_t size) {
  world before, after;
  load_two(&before, HEAD, def);
  load_two(&after, HEAD, def);
  apply(&after, pass);
  assert_non_null(strstr(text_of(&after), "partial."));
  const neo_values *x = neo_interp_output(values_of(&before, size), 0);
  const neo_values *y = neo_interp_output(values_of(&after, size), 0);
  for (int64_t i = 0; i < x->n; i++)
    if (memcmp(&x->at[i], &y->at[i], sizeof x->at[i]) &&
        !(x->at[i].f != x->at[i].f && y->at[i].f != y->at[i].f))
      fail_msg("%g and %g in\n%s", x->at[i].f, y->at[i].f, text_of(&after));
  neo_arena_free(&before.arena);
  neo_arena_free(&after.arena);
}

static void same(const char *def, int64_t size) {
  same_by(neo_pass_rfactor, def, size);
}

static void values_stay_the_same_on_a_gpu(void **state) {
  (void)state;
  same_by(split_for_gpu,
          "def @1 M[i: 3] =\n  max[j: 160000, e: 2] where j % 7 != i; w[i, j] - f64(j * e)\n"
          "  then acc0\n"
          "entry forward forward: M = M\n",
          1);
  same_by(split_for_gpu,
          "def @1 L[] =\n  sum[n: N, d: 300, e: 4] where d % 3 != e; x[n, d]\n  then acc0\n"
          "entry forward forward: L = L\n",
          350);
  same_by(split_for_gpu,
          "temp C : f64 [300]\n"
          "def @1 C[d: 300] =\n  sum[n: N, e: 10] x[n, d] * f64(e)\n  then acc0\n"
          "entry forward forward: C = C\n",
          350);
}

static void values_stay_the_same(void **state) {
  (void)state;
  for (int64_t size = 0; size <= 700; size += 350) {
    same("def @1 L[] =\n  sum[n: N, d: 300] x[n, d]\n  then acc0 + 1.0f64\n"
         "entry forward forward: L = L\n",
         size);
    same("def @1 L[] =\n  mean[n: N, d: 300] x[n, d]\n  then acc0\n"
         "entry forward forward: L = L\n",
         size);
    same("def @1 L[] =\n  max[n: N, d: 300] where d <= n; x[n, d] - f64(d)\n  then acc0\n"
         "entry forward forward: L = L\n",
         size);
    same("def @1 L[] =\n  sum[d: 300, n: N, e: d + 1] x[n, d] * x[n, e]\n  then acc0\n"
         "entry forward forward: L = L\n",
         size);
  }
  same("def @1 M[i: 3] =\n  min[j: 160000] where -0.5f64 < w[i, j]; w[i, j] * f64(j % 7)\n"
       "  then acc0\n"
       "entry forward forward: M = M\n",
       1);
  same("def @1 K[] =\n  sum[j: 150001] where j % 3 == 1; k[j]\n  then acc0\n"
       "entry forward forward: K = K\n",
       1);
  same("def @1 A[] =\n  any[j: 150001] 0.5f64 < v[j] and i64(k[j]) == 4\n  then acc0\n"
       "entry forward forward: A = A\n",
       1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_axis_that_suits_is_the_parts),
      cmocka_unit_test(else_ranges_of_the_longest_axis_are),
      cmocka_unit_test(an_axis_of_few_positions_or_one_that_starts_late_is_not),
      cmocka_unit_test(a_winners_place_that_nobody_reads_is_dropped),
      cmocka_unit_test(the_last_range_may_be_shorter),
      cmocka_unit_test(a_mean_is_a_sum_over_its_count),
      cmocka_unit_test(conditions_stay_with_the_parts),
      cmocka_unit_test(what_is_short_or_wide_stays),
      cmocka_unit_test(winners_and_means_under_conditions_stay),
      cmocka_unit_test(a_gpu_shares_products_of_few_tiles),
      cmocka_unit_test(a_gpu_shares_sums_of_columns_and_of_long_rows),
      cmocka_unit_test(what_fills_a_gpu_stays),
      cmocka_unit_test(values_stay_the_same),
      cmocka_unit_test(values_stay_the_same_on_a_gpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Windows that stick out: which sums become a product and its fold, what the product is, and that
 * values stay the same (data are multiples of 1/4, so that sums are exact in any order). */
#include "tests/transform/world.h"

#define HEAD                                                                                \
  "neo-ir 1\nmodule t\nsize N 0..3\ninput D : f32 [N, 200, 6]\ninput F : f32 [200, 5, 9]\n" \
  "input E : f32 [200, 6, 5]\ninput G : f32 [200, 5, 9, 7]\n"                               \
  "temp X : f32 [N, 5, 20]\ntemp Y : f32 [5, 20, 11]\ntemp Z : f32 [5, 6]\n"                \
  "temp W : f32 [5, 24]\n"
#define LINE                                                                                 \
  "def @1 X[n: N, c: 5, z: 20] =\n  sum[k: 200, p: max(0, (z - 7) / 2)..min(6, z / 2 + 1)] " \
  "D[n, k, p] * F[k, c, z - 2 * p]\n  then acc0 + 1.0\nentry forward forward: X = X\n"
#define PLANE                                                                                 \
  "def @1 Y[c: 5, y: 20, z: 11] =\n  sum[p: max(0, (y - 7) / 2)..min(6, y / 2 + 1), k: 200, " \
  "q: max(0, z - 6)..min(5, z + 1)] G[k, c, y - p * 2, z - q] * E[k, p, q]\n  then acc0\n"    \
  "entry forward forward: Y = Y\n"

#define becomes(def, product, sum) becomes_by(neo_pass_col2im, HEAD, def, product, sum)

static void stays(const char *def) {
  world w;
  load_two(&w, HEAD, def);
  apply(&w, neo_pass_col2im);
  if (strstr(text_of(&w), "col2im."))
    fail_msg("a fold in\n%s", text_of(&w));
  neo_arena_free(&w.arena);
}

static void windows_become_a_product_and_its_sum(void **state) {
  (void)state;
  becomes(LINE, "col2im.X[c: 5, r: 9, n: N, p: 6] =\n    sum[k: 200] D[n, k, p] * F[k, c, r]",
          "sum[p: max(0, (z - 7) / 2)..min(6, z / 2 + 1)] col2im.X[c, z - 2 * p, n, p]\n"
          "    then acc0 + 1.0");
  becomes(
      PLANE,
      "col2im.Y[c: 5, r: 9, r_2: 7, p: 6, q: 5] =\n    sum[k: 200] G[k, c, r, r_2] * E[k, p, q]",
      "col2im.Y[c, y - p * 2, z - q, p, q]");
}

static void the_factor_that_lies_along_the_sum_is_not_last(void **state) {
  (void)state;
  becomes(
      "input A : f32 [6, 2000]\ninput B : f32 [2000, 5, 9]\n"
      "def @1 Y[c: 5, y: 20, z: 11] =\n  sum[k: 2000, p: max(0, (y - 7) / 2)..min(6, y / 2 + 1)] "
      "B[k, c, y - 2 * p] * A[p, k]\n  then acc0 + f32(z)\nentry forward forward: Y = Y\n",
      "col2im.Y[p: 6, c: 5, r: 9] =", "col2im.Y[p, c, y - 2 * p]");
}

static void conditions_stay_with_the_sum(void **state) {
  (void)state;
  becomes("def @1 W[c: 5, z: 24] =\n  sum[k: 200, p: 6] where 3 * p <= z and z - 3 * p < 9; "
          "E[k, p, c] * F[k, c, z - 3 * p]\n  then acc0\nentry forward forward: W = W\n",
          "col2im.W[c: 5, r: 9, p: 6] =\n    sum[k: 200] E[k, p, c] * F[k, c, r]",
          "sum[p: 6] where 3 * p <= z and z - 3 * p < 9;\n    col2im.W[c, z - 3 * p, p]");
}

static void what_gains_nothing_stays(void **state) {
  (void)state;
  /* few windows stick out: 64 outputs of 60 positions */
  stays("input S : f32 [200, 60]\ninput T : f32 [200, 5]\ntemp U : f32 [64]\ndef @1 U[z: 64] =\n"
        "  sum[k: 200, p: max(0, z - 4)..min(60, z + 1)] S[k, p] * T[k, z - p]\n  then acc0\n"
        "entry forward forward: U = U\n");
  /* a short sum */
  stays("input S : f32 [8, 6]\ninput T : f32 [8, 9]\ntemp U : f32 [20]\ndef @1 U[z: 20] =\n"
        "  sum[k: 8, p: max(0, (z - 7) / 2)..min(6, z / 2 + 1)] S[k, p] * T[k, z - 2 * p]\n"
        "  then acc0\nentry forward forward: U = U\n");
  /* windows over an input that lies there: none sticks out */
  stays("def @1 Z[c: 5, z: 6] =\n  sum[k: 200, r: 4] F[k, c, z + r] * E[k, r, c]\n  then acc0\n"
        "entry forward forward: Z = Z\n");
}

static void what_is_not_a_window_alone_stays(void **state) {
  (void)state;
  /* the output axis is read elsewhere as well */
  stays(
      "input V : f32 [200, 20]\ndef @1 X[n: N, c: 5, z: 20] =\n  sum[k: 200, p: max(0, (z - 7) / 2)"
      "..min(6, z / 2 + 1)] V[k, z] * D[n, k, p] * F[k, c, z - 2 * p]\n  then acc0\n"
      "entry forward forward: X = X\n");
  /* a condition looks inside of the sum */
  stays(
      "def @1 X[n: N, c: 5, z: 20] =\n  sum[k: 200, p: max(0, (z - 7) / 2)..min(6, z / 2 + 1)] "
      "where p < k; D[n, k, p] * F[k, c, z - 2 * p]\n  then acc0\nentry forward forward: X = X\n");
}

static void what_cannot_be_read_for_all_pairs_stays(void **state) {
  (void)state;
  /* p + q is in R where the condition holds alone */
  stays("input R : f32 [200, 7]\ndef @1 Y[c: 5, y: 20, z: 11] =\n"
        "  sum[k: 200, p: max(0, (y - 7) / 2)..min(6, y / 2 + 1), q: max(0, z - 6)..min(5, z + 1)] "
        "where p + q < 7; G[k, c, y - p * 2, z - q] * R[k, p + q]\n  then acc0\n"
        "entry forward forward: Y = Y\n");
}

/* ---- values */

static void same(const char *def, int64_t size) {
  world before, after;
  load_two(&before, HEAD, def);
  load_two(&after, HEAD, def);
  apply(&after, neo_pass_col2im);
  assert_non_null(strstr(text_of(&after), "col2im."));
  const neo_values *x = neo_interp_output(values_of(&before, size), 0);
  const neo_values *y = neo_interp_output(values_of(&after, size), 0);
  assert_int_equal(x->n, y->n);
  for (int64_t i = 0; i < x->n; i++)
    if (x->at[i].f != y->at[i].f)
      fail_msg("%g and %g in\n%s", x->at[i].f, y->at[i].f, text_of(&after));
  neo_arena_free(&before.arena);
  neo_arena_free(&after.arena);
}

static void values_stay_the_same(void **state) {
  (void)state;
  for (int64_t size = 0; size <= 3; size++)
    same(LINE, size);
  same(PLANE, 1);
  same("def @1 W[c: 5, z: 24] =\n  sum[k: 200, p: 6] where 3 * p <= z and z - 3 * p < 9; "
       "E[k, p, c] * F[k, c, z - 3 * p]\n  then acc0\nentry forward forward: W = W\n",
       1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_become_a_product_and_its_sum),
      cmocka_unit_test(the_factor_that_lies_along_the_sum_is_not_last),
      cmocka_unit_test(conditions_stay_with_the_sum),
      cmocka_unit_test(what_gains_nothing_stays),
      cmocka_unit_test(what_is_not_a_window_alone_stays),
      cmocka_unit_test(what_cannot_be_read_for_all_pairs_stays),
      cmocka_unit_test(values_stay_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Corners of the rules: one small module each, against central differences, or against values that
 * can be said by hand where differences do not exist. */
#include "ir/print.h"
#include "tests/autodiff/grad_world.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEAD "neo-ir 1\nmodule t\n"
#define SQUARES(y, axes, at) \
  "def L[] =\n  sum[" axes "] " y "[" at "] * " y "[" at "]\n  then acc0\n"

/* Parses, differentiates; inputs hold `x` in turn; checks the elements of `name`. */
static void expect(const char *text, const double *x, size_t n_x, const char *name,
                   const double *want, size_t n) {
  grad_world w;
  grad_begin(&w);
  w.m = neo_module_parse(&w.arena, w.names, w.diags, "test", text, strlen(text));
  if (!w.m)
    fail_msg("%s", grad_messages(&w));
  grad_pass(&w);
  int64_t sizes[8] = {0};
  for (uint32_t k = 1; k < w.m->sizes.n; k++)
    sizes[k] = w.m->sizes.at[k].hi;
  neo_interp *p = neo_interp_new(&w.arena, w.m, sizes, 7);
  for (uint32_t t = 1; t < w.m->tensors.n; t++) {
    neo_type type = (neo_type)w.m->tensors.at[t].type;
    if (w.m->tensors.at[t].role != NEO_ROLE_INPUT)
      continue;
    neo_values *v = neo_interp_tensor(p, (neo_tensor){t});
    for (int64_t k = 0; k < v->n; k++)
      v->at[k] = neo_value_cast(type, NEO_F64_T, (neo_value){.f = x[(size_t)k % n_x]});
  }
  neo_tensor out = neo_tensor_find(w.m, name);
  grad_eval(p, &w, out);
  neo_values *v = neo_interp_tensor(p, out);
  assert_int_equal(v->n, n);
  for (size_t k = 0; k < n; k++)
    if (!(fabs(v->at[k].f - want[k]) <= 1e-6 * (1 + fabs(want[k]))))
      fail_msg("%s[%zu] is %.9g, not %.9g", name, k, v->at[k].f, want[k]);
  neo_arena_free(&w.arena);
}
#define EXPECT(text, x, name, want) \
  expect(text, x, sizeof(x) / sizeof *(x), name, want, sizeof(want) / sizeof *(want))

/* ---- index systems */

static void a_range_that_depends_on_the_axis_solved_for_is_differentiated(void **state) {
  (void)state;
  grad_check(HEAD "input X : f64 [9]\ntemp Y : f64 [5]\ntemp L : f64 []\ntemp dX : f64 [9]\n"
                  "def Y[i: 5] =\n  sum[k: 0..i + 1] X[i + k]\n  then acc0\n" //
             SQUARES("Y", "i: 5", "i") "gradient of L for X into dX\n");
  grad_check(HEAD "input X : f64 [22]\ntemp L : f64 []\ntemp dX : f64 [22]\n"
                  "def L[] =\n  sum[i: 4, j: i..2*i + 1, k: j - i..j + 1] X[3*i + j + k] * X[k]\n"
                  "  then acc0\n"
                  "gradient of L for X into dX\n");
  grad_check(HEAD "input X : f64 [5, 5]\ninput N : i32 [5] < 6\ntemp Y : f64 [5]\ntemp L : f64 []\n"
                  "temp dX : f64 [5, 5]\n"
                  "def Y[b: 5] =\n  sum[t: 0..i64(N[b])] X[4 - b, t]\n  then acc0\n" //
             SQUARES("Y", "b: 5", "b") "gradient of L for X into dX\n");
}

static void digits_over_sizes_that_may_be_zero_are_differentiated(void **state) {
  (void)state;
  grad_check(HEAD "size N 0..4\ninput X : f64 [5, N + 1]\ntemp Y : f64 [4*N + 4]\ntemp L : f64 []\n"
                  "temp dX : f64 [5, N + 1]\n"
                  "def Y[i: 4*N + 4] = X[i / (N + 1), i % (N + 1)]\n" //
             SQUARES("Y", "i: 4*N + 4", "i") "gradient of L for X into dX\n");
  grad_check(HEAD "size N 0..4\ninput X : f64 [9, 9]\ntemp Y : f64 [9]\ntemp L : f64 []\n"
                  "temp dX : f64 [9, 9]\n"
                  "def Y[i: 9] = X[i / (N - 2), (i % (N - 2)) + 2]\n" //
             SQUARES("Y", "i: 9", "i") "gradient of L for X into dX\n");
}

static void negative_coefficients_and_floors_are_differentiated(void **state) {
  (void)state;
  grad_check(HEAD "input X : f64 [13]\ntemp Y : f64 [5, 3]\ntemp L : f64 []\ntemp dX : f64 [13]\n"
                  "def Y[i: 5, j: 3] = (X[4 - 2*i - 3*j] else 0.5f64) + X[(2*j - i) / 3 + 2]\n" //
             SQUARES("Y", "i: 5, j: 3", "i, j") "gradient of L for X into dX\n");
}

static void indices_with_branches_are_differentiated(void **state) {
  (void)state;
  static const char *const index[] = {"abs(i - 3)", "select(i < 2, 2 - i, i - 2)", "max(i - 1, 0)",
                                      "min(i + 1, 4)", "clamp(2*i - 3, 0, 4)"};
  for (size_t k = 0; k < sizeof index / sizeof *index; k++) {
    char text[512];
    snprintf(text, sizeof text,
             HEAD "input X : f64 [5]\ninput S : f64 [6]\ntemp Y : f64 [6]\ntemp L : f64 []\n"
                  "temp dX : f64 [5]\ndef Y[i: 6] = X[%s] * S[i]\n" //
             SQUARES("Y", "i: 6", "i") "gradient of L for X into dX\n",
             index[k]);
    grad_check(text);
  }
}

static void reads_stay_behind_the_conditions_that_keep_them_in_range(void **state) {
  (void)state;
  /* the table is longer than the lookup's index, whose read stands behind the sum's condition */
  grad_check(HEAD "input T : f64 [4]\ninput Y : i32 [5] < 4\ntemp R : f64 []\ntemp dT : f64 [4]\n"
                  "def R[] =\n  sum[k: 5] where k < 4;\n  T[i64(Y[k + 1])] * T[i64(Y[k])]\n"
                  "  then acc0\n"
                  "gradient of R for T into dT\n");
  /* conditions and their order, in a select */
  grad_check(HEAD "input X : f64 [6]\ninput M : bool [3]\ntemp Y : f64 [6]\ntemp L : f64 []\n"
                  "temp dX : f64 [6]\n"
                  "def Y[i: 6] = select(i < 3, X[i], exp(select(M[i - 3], X[i], X[i - 1])))\n" //
             SQUARES("Y", "i: 6", "i") "gradient of L for X into dX\n");
  /* rows that the read tensor has and the reader lacks; lengths of the rows that exist */
  grad_check(HEAD
             "input X : f64 [7, 2]\ninput W : f64 [4]\ninput N : i32 [3] < 5\ntemp S : f64 [3]\n"
             "temp L : f64 []\ntemp dX : f64 [7, 2]\ntemp dW : f64 [4]\n"
             "def S[b: 3] =\n  sum[k: 4] where k < i64(N[b]);\n  X[b, 0] * W[k] + X[b + 4, 1]\n"
             "  then acc0\n" //
             SQUARES("S", "b: 3", "b") "gradient of L for X, W into dX, dW\n");
}

static void guards_behind_a_conversion_hold(void **state) {
  (void)state;
  static const double x[] = {0, 4}, want[] = {0, 1.0 / 4};
  EXPECT(HEAD "input X : f64 [2]\ntemp L : f64 []\ntemp dX : f64 [2]\n"
              "def L[] =\n  sum[i: 2] select(0.0f64 < X[i], f64(f32(sqrt(X[i]))), 0.0f64)\n"
              "  then acc0\n"
              "gradient of L for X into dX\n",
         x, "dX", want);
}

/* ---- reducers */

static void a_maximum_over_dependent_ranges_has_one_winner(void **state) {
  (void)state;
  /* i*(5 - i) + k meets itself: positions must not */
  grad_check(HEAD "input X : f64 [5, 5]\ntemp R : f64 []\ntemp dX : f64 [5, 5]\n"
                  "def R[] =\n  max[i: 5, k: 0..5 - i] X[i, k]\n  then acc0 * acc0\n"
                  "gradient of R for X into dX\n");
  static const double x[] = {1, 1, 1, 1}, want[] = {1, 0, 0, 0};
  EXPECT(HEAD "input X : f64 [4]\ntemp R : f64 []\ntemp dX : f64 [4]\n"
              "def R[] =\n  max[i: 4] X[i]\n  then acc0\ngradient of R for X into dX\n",
         x, "dX", want);
}

static void a_payload_that_repeats_does_not_tell_the_winner(void **state) {
  (void)state;
  static const double x[] = {1, 3, 2, 3}, want[] = {0, 1, 0, 0};
  EXPECT(HEAD "input X : f64 [4]\ntemp R : f64 []\ntemp P : i64 []\ntemp dX : f64 [4]\n"
              "def (R, P)[] =\n  max[i: 4] X[i], i % 2\n  then acc0, acc1\n"
              "gradient of R for X into dX\n",
         x, "dX", want);
}

static void a_maximum_under_a_condition_is_differentiated(void **state) {
  (void)state;
  grad_check(HEAD "input X : f64 [3, 6]\ntemp Y : f64 [3]\ntemp L : f64 []\ntemp dX : f64 [3, 6]\n"
                  "def Y[b: 3] =\n  max[i: 6] where i % 2 != b;\n  X[b, i]\n  then acc0\n" //
             SQUARES("Y", "b: 3", "b") "gradient of L for X into dX\n");
}

static void a_product_with_zeros_and_conditions_is_differentiated(void **state) {
  (void)state;
  static const double x[] = {2, 0, 3}, want[] = {0, 6, 0};
  EXPECT(HEAD "input X : f64 [3]\ntemp R : f64 []\ntemp dX : f64 [3]\n"
              "def R[] =\n  prod[i: 3] X[i]\n  then acc0\ngradient of R for X into dX\n",
         x, "dX", want);
  grad_check(HEAD "input X : f64 [4, 5]\ntemp Y : f64 [4]\ntemp L : f64 []\ntemp dX : f64 [4, 5]\n"
                  "def Y[b: 4] =\n  prod[i: 1..b + 2, k: i..i + 1] where i != 2;\n  X[b, i]\n"
                  "  then acc0\n" //
             SQUARES("Y", "b: 4", "b") "gradient of L for X into dX\n");
}

static void nothing_gets_no_gradient_from_mean_maximum_and_logsumexp(void **state) {
  (void)state;
  static const double x[] = {1, 2}, none[] = {0, 0, 0, 0};
  static const char *const reducers[] = {"mean", "max", "logsumexp", "prod"};
  for (size_t k = 0; k < 4; k++) {
    char text[512];
    snprintf(text, sizeof text,
             HEAD "size N 0..0\ninput X : f64 [2, 2]\ntemp R : f64 [2]\ninput S : f64 [2]\n"
                  "temp dX : f64 [2, 2]\ndef R[b: 2] =\n  %s[i: N] X[b, i]\n  then acc0\n"
                  "gradient of R seed S for X into dX\n",
             reducers[k]);
    EXPECT(text, x, "dX", none);
  }
}

static void logsumexp_of_minus_infinities_gets_no_gradient(void **state) {
  (void)state;
  static const double x[] = {-INFINITY, -INFINITY}, none[] = {0, 0};
  static const double y[] = {-INFINITY, 3}, one[] = {0, 1};
  static const char text[] =
      HEAD "input X : f64 [2]\ntemp R : f64 []\ntemp dX : f64 [2]\n"
           "def R[] =\n  logsumexp[i: 2] X[i]\n  then acc0\ngradient of R for X into dX\n";
  EXPECT(text, x, "dX", none);
  EXPECT(text, y, "dX", one);
}

static void a_mean_of_more_than_f16_can_count_has_a_gradient(void **state) {
  (void)state;
  static const double x[] = {1}, want[] = {5.9604644775390625e-08 * 168};
  EXPECT(HEAD "input X : f16 []\ninput S : f16 []\ntemp R : f16 []\ntemp G : f16 [100000]\n"
              "temp Y : f16 [100000]\ntemp dY : f16 [100000]\ntemp D : f16 []\n"
              "def Y[i: 100000] = X[]\n"
              "def R[] =\n  mean[i: 100000] Y[i]\n  then acc0\n"
              "def D[] = dY[99]\n"
              "gradient of R seed S for Y into dY\n",
         x, "D", want);
}

/* ---- element functions */

static void a_clamp_with_crossed_ends_is_its_upper_end(void **state) {
  (void)state;
  static const double x[] = {1}, zero[] = {0}, one[] = {1};
  static const char text[] = HEAD
      "input X : f64 []\ninput A : f64 []\ninput B : f64 []\ntemp R : f64 []\ntemp dX : f64 []\n"
      "temp dA : f64 []\ntemp dB : f64 []\n"
      "def R[] = clamp(X[], A[] + 3.0f64, B[] + 1.0f64)\n"
      "gradient of R for X, A, B into dX, dA, dB\n";
  EXPECT(text, x, "dX", zero);
  EXPECT(text, x, "dA", zero);
  EXPECT(text, x, "dB", one);
}

static void a_quotient_by_a_number_is_differentiated(void **state) {
  (void)state;
  static const double x[] = {3, -1}, by_2[] = {1.5, -0.5}, by_1[] = {6, -2};
  EXPECT(HEAD "input X : f64 [2]\ntemp L : f64 []\ntemp dX : f64 [2]\n"
              "def L[] =\n  sum[i: 2] X[i] / 2.0f64 * (X[i] / 2.0f64)\n  then acc0\n"
              "gradient of L for X into dX\n",
         x, "dX", by_2);
  EXPECT(HEAD "input X : f64 [2]\ntemp L : f64 []\ntemp dX : f64 [2]\n"
              "def L[] =\n  sum[i: 2] X[i] / 1.0f64 * (X[i] / 1.0f64)\n  then acc0\n"
              "gradient of L for X into dX\n",
         x, "dX", by_1);
}

/* 0/0 in the branch that is not taken. */
static void a_quotient_in_a_branch_not_taken_has_no_gradient(void **state) {
  (void)state;
  static const double x[] = {0, 2}, want[] = {0, -0.375};
  EXPECT(HEAD
         "input X : f64 [2]\ntemp Y : f64 [2]\ntemp L : f64 []\ntemp dX : f64 [2]\n"
         "def Y[i: 2] = select(0.0f64 < X[i], (X[i] - X[i] * 0.5f64 + 1.0f64) / (X[i] * X[i]), "
         "0.0f64)\n"
         "def L[] =\n  sum[i: 2] Y[i]\n  then acc0\ngradient of L for X into dX\n",
         x, "dX", want);
}

static void a_power_of_zero_is_constant(void **state) {
  (void)state;
  static const double x[] = {0}, zero[] = {0};
  EXPECT(HEAD "input X : f64 []\ninput P : f64 []\ntemp R : f64 []\ntemp dX : f64 []\n"
              "def R[] = pow(X[], P[])\ngradient of R for X into dX\n",
         x, "dX", zero);
}

static void conversions_between_floats_pass_gradients(void **state) {
  (void)state;
  static const double x[] = {0.5, 2}, want[] = {1.5, 6};
  EXPECT(HEAD
         "input X : f16 [2]\ntemp R : f32 []\ntemp dX : f16 [2]\n"
         "def R[] =\n  sum[i: 2] f32(bf16(X[i])) * f32(X[i]) * 1.5\n  then acc0 * 0.5 + acc0 * "
         "0.5\n"
         "gradient of R for X into dX\n",
         x, "dX", want);
}

/* ---- requests */

static void what_y_does_not_depend_on_has_gradient_zero(void **state) {
  (void)state;
  static const double x[] = {1, 2}, zero[] = {0, 0}, two[] = {2, 4};
  static const char text[] =
      HEAD "input X : f64 [2]\ninput Z : f64 [2]\ntemp R : f64 []\ntemp dX : f64 [2]\n"
           "temp dZ : f64 [2]\ntemp eX : f64 [2]\ntemp dR : f64 []\n"
           "def R[] =\n  sum[i: 2] X[i] * X[i]\n  then acc0\n"
           "gradient of R for Z, X, X, R into dZ, dX, eX, dR\n";
  static const double one[] = {1};
  EXPECT(text, x, "dZ", zero);
  EXPECT(text, x, "dX", two);
  EXPECT(text, x, "eX", two);
  EXPECT(text, x, "dR", one);
}

static void a_tensor_on_the_way_is_asked_for_too(void **state) {
  (void)state;
  static const double x[] = {1, 2}, dH[] = {6, 12}, dX[] = {18, 36};
  static const char text[] =
      HEAD "input X : f64 [2]\ntemp H : f64 [2]\ntemp R : f64 []\ntemp dX : f64 [2]\n"
           "temp dH : f64 [2]\n"
           "def H[i: 2] = X[i] * 3.0f64\ndef R[] =\n  sum[i: 2] H[i] * H[i]\n  then acc0\n"
           "gradient of R for H, X into dH, dX\n";
  EXPECT(text, x, "dH", dH);
  EXPECT(text, x, "dX", dX);
}

static void several_results_of_one_definition_are_differentiated(void **state) {
  (void)state;
  grad_check(HEAD "input X : f64 [3, 4]\ntemp A : f64 [3]\ntemp B : f64 [3]\ntemp L : f64 []\n"
                  "temp dX : f64 [3, 4]\n"
                  "def (A, B)[i: 3] =\n  sum[k: 4] X[i, k] * X[i, k]\n"
                  "  then sqrt(acc0), acc0 * X[2 - i, 0]\n"
                  "def L[] =\n  sum[i: 3] A[i] * B[2 - i]\n  then acc0\n"
                  "gradient of L for X into dX\n");
}

static void pieces_are_differentiated(void **state) {
  (void)state;
  grad_check(HEAD "input X : f64 [3]\ntemp Y : f64 [6]\ntemp L : f64 []\ntemp dX : f64 [3]\n"
                  "def Y[i: 3] at [2*i] =\n  max[k: 3] X[k] * X[i]\n  then exp(acc0)\n"
                  "def Y[i: 3] at [2*i + 1] =\n  mean[k: i + 1] X[k] + X[i]\n  then acc0 * acc0\n"
                  "def L[] =\n  sum[i: 6, j: 6] Y[i] * Y[j] * f64(i + 1)\n  then acc0\n"
                  "gradient of L for X into dX\n");
}

#define CUSTOM                                                                           \
  HEAD "input X : f64 [2]\ntemp Y : f64 [2]\ntemp R : f64 []\ncotangent dy : f64 [2]\n"  \
       "temp dx : f64 [2]\ntemp dX : f64 [2]\n"                                          \
       "def Y[i: 2] = floor(X[i])\n"                                                     \
       "def dx[i: 1] at [i] = dy[i] * X[i]\ndef dx[i: 1] at [i + 1] = X[i + 1] * X[i]\n" \
       "def R[] =\n  sum[i: 2] Y[i] * 3.0f64\n  then acc0\n"                             \
       "custom X -> Y with dy -> dx\n"                                                   \
       "gradient of R for X into dX\n"

static void a_function_with_its_own_gradient_uses_it_whole(void **state) {
  (void)state;
  static const double x[] = {2, 5}, want[] = {6, 10};
  EXPECT(CUSTOM, x, "dX", want);
}

static void the_second_derivative_goes_through_the_clause(void **state) {
  (void)state;
  /* S = dX0^2 + dX1^2 with dX0 = 3 X0, dX1 = X1 X0 */
  static const double x[] = {2, 5}, want[] = {18 * 2 + 2 * 25 * 2, 2 * 5 * 4};
  EXPECT(CUSTOM "temp S : f64 []\ntemp ddX : f64 [2]\n"
                "def S[] =\n  sum[i: 2] dX[i] * dX[i]\n  then acc0\n"
                "gradient of S for X into ddX\n",
         x, "ddX", want);
}

static void the_gradient_of_a_gradient_of_reducers_is_right(void **state) {
  (void)state;
  grad_check(HEAD "input X : f64 [3, 4]\ntemp a : f64 [3]\ntemp b : f64 [3]\ntemp c : f64 [3]\n"
                  "temp y : f64 []\ntemp dX : f64 [3, 4]\ntemp L : f64 []\ntemp ddX : f64 [3, 4]\n"
                  "def a[i: 3] =\n  logsumexp[k: 4] X[i, k]\n  then acc0\n"
                  "def b[i: 3] =\n  prod[k: 4] X[i, k]\n  then tanh(acc0)\n"
                  "def c[i: 3] =\n  mean[k: 0..i + 1] X[i, k] * X[2 - i, k]\n  then acc0 * acc0\n"
                  "def y[] =\n  sum[i: 3] a[i] * b[i] + c[i] * a[2 - i]\n  then acc0\n"
                  "def L[] =\n  sum[i: 3, k: 4] dX[i, k] * dX[i, k] * X[0, k]\n  then acc0\n"
                  "gradient of y for X into dX\ngradient of L for X into ddX\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_range_that_depends_on_the_axis_solved_for_is_differentiated),
      cmocka_unit_test(digits_over_sizes_that_may_be_zero_are_differentiated),
      cmocka_unit_test(negative_coefficients_and_floors_are_differentiated),
      cmocka_unit_test(indices_with_branches_are_differentiated),
      cmocka_unit_test(reads_stay_behind_the_conditions_that_keep_them_in_range),
      cmocka_unit_test(guards_behind_a_conversion_hold),
      cmocka_unit_test(a_maximum_over_dependent_ranges_has_one_winner),
      cmocka_unit_test(a_payload_that_repeats_does_not_tell_the_winner),
      cmocka_unit_test(a_maximum_under_a_condition_is_differentiated),
      cmocka_unit_test(a_product_with_zeros_and_conditions_is_differentiated),
      cmocka_unit_test(nothing_gets_no_gradient_from_mean_maximum_and_logsumexp),
      cmocka_unit_test(logsumexp_of_minus_infinities_gets_no_gradient),
      cmocka_unit_test(a_mean_of_more_than_f16_can_count_has_a_gradient),
      cmocka_unit_test(a_clamp_with_crossed_ends_is_its_upper_end),
      cmocka_unit_test(a_quotient_by_a_number_is_differentiated),
      cmocka_unit_test(a_quotient_in_a_branch_not_taken_has_no_gradient),
      cmocka_unit_test(a_power_of_zero_is_constant),
      cmocka_unit_test(conversions_between_floats_pass_gradients),
      cmocka_unit_test(what_y_does_not_depend_on_has_gradient_zero),
      cmocka_unit_test(a_tensor_on_the_way_is_asked_for_too),
      cmocka_unit_test(several_results_of_one_definition_are_differentiated),
      cmocka_unit_test(pieces_are_differentiated),
      cmocka_unit_test(a_function_with_its_own_gradient_uses_it_whole),
      cmocka_unit_test(the_second_derivative_goes_through_the_clause),
      cmocka_unit_test(the_gradient_of_a_gradient_of_reducers_is_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

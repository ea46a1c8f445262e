/* The parts of a gradient: what it reads from memory, what it sums over, and what is not
 * computed at all. That its values are right is tested by differences elsewhere. */
#include "ir/print.h"
#include "tests/autodiff/grad_world.h"
#include <string.h>

#define HEAD "neo-ir 1\nmodule t\n"
#define SQUARES(y, axes, at) \
  "def L[] =\n  sum[" axes "] " y "[" at "] * " y "[" at "]\n  then acc0\n"

/* The module after the pass, as text; in the arena of w, which the caller frees. */
static const char *only_differentiated(grad_world *w, const char *text) {
  neo_str got;
  grad_begin(w);
  w->m = neo_module_parse(&w->arena, w->names, w->diags, "t", text, strlen(text));
  if (!w->m)
    fail_msg("%s", grad_messages(w));
  grad_pass(w);
  neo_str_init(&got, &w->arena);
  neo_module_print(w->m, &got);
  return neo_str_text(&got);
}

/* The same, and its values are right. */
static const char *differentiated(grad_world *w, const char *text) {
  grad_check(text);
  return only_differentiated(w, text);
}

static void has(const char *text, const char *part) {
  if (!strstr(text, part))
    fail_msg("no '%s' in\n%s", part, text);
}

static void has_not(const char *text, const char *part) {
  if (strstr(text, part))
    fail_msg("'%s' in\n%s", part, text);
}

static void slopes_read_the_functions_own_value(void **state) {
  (void)state;
  grad_world w;
  const char *text = differentiated(
      &w, HEAD "input X : f64 [9]\ntemp T : f64 [9]\ntemp L : f64 []\ntemp dX : f64 [9]\n"
               "def T[b: 9] = tan(X[b])\n" //
      SQUARES("T", "b: 9", "b") "gradient of L for X into dX\n");
  has(text, "T[z0] * T[z0]");
  has_not(strstr(text, "def @2"), "tan");
  neo_arena_free(&w.arena);
}

static void an_adjoint_of_a_lookup_has_its_axes_in_the_order_of_the_indices(void **state) {
  (void)state;
  grad_world w;
  const char *text = differentiated(
      &w, HEAD "input H : f64 [5, 3]\ninput F : i32 [7] < 5\ninput K : i32 [7] < 4\n"
               "temp T : f64 [4, 3]\ntemp L : f64 []\ntemp dH : f64 [5, 3]\n"
               "def T[v: 4, j: 3] =\n  sum[e: 7] where K[e] == i32(v);\n"
               "  H[i64(F[e]), j]\n  then acc0\n" //
      SQUARES("T", "v: 4, j: 3", "v, j") "gradient of L for H into dH\n");
  has(text, "d.looked.H : f64 [7, 3]");
  neo_arena_free(&w.arena);
}

static void a_winners_gradient_is_a_sum_over_a_data_equation(void **state) {
  (void)state;
  grad_world w;
  const char *text = differentiated(
      &w, HEAD "input X : f64 [9]\ninput C : f64 [3]\ntemp M : f64 [3]\ntemp L : f64 []\n"
               "temp dX : f64 [9]\n"
               "def M[b: 3] =\n  max[k: 9] X[k] * C[b]\n  then acc0\n" //
      SQUARES("M", "b: 3", "b") "gradient of L for X into dX\n");
  has(text, "sum[b: 3] where at.M[b] == z0;");
  neo_arena_free(&w.arena);
}

/* The sum of C has a value, which is kept; nothing asks for its adjoint. */
static void a_sum_that_does_not_depend_on_x_has_no_adjoint(void **state) {
  (void)state;
  grad_world w;
  const char *text = differentiated(
      &w, HEAD "input X : f64 [9]\ninput C : f64 [9, 4]\ntemp E : f64 [9]\ntemp L : f64 []\n"
               "temp dX : f64 [9]\n"
               "def E[b: 9] =\n  sum[j: 4] C[b, j]\n  then acc0 * X[b]\n" //
      SQUARES("E", "b: 9", "b") "gradient of L for X into dX\n");
  has(text, "acc.E[z0]");
  has_not(text, "d.acc.E");
  neo_arena_free(&w.arena);
}

static void of_two_axes_the_longer_one_is_solved_for(void **state) {
  (void)state;
  grad_world w;
  const char *text =
      only_differentiated(/* K without bounds: as long as can be */
                          &w, HEAD
                          "input X : f64 [9]\ninput K : i32 [4]\ntemp U : f64 [4]\ntemp L : f64 []\n"
                          "temp dX : f64 [9]\n"
                          "def U[b: 4] =\n  sum[j: 0..i64(K[b]), i: 3] X[i + j]\n  then acc0\n" //
                          SQUARES("U", "b: 4", "b") "gradient of L for X into dX\n");
  has(text, "sum[b: 4, i: max(0, z0 - i64(K[b]) + 1)..min(3, z0 + 1)]");
  neo_arena_free(&w.arena);
}

/* Channels are digits; every element has one place to come from. */
static void the_gradient_of_a_shuffle_has_no_sum(void **state) {
  (void)state;
  grad_world w;
  const char *text = differentiated(
      &w, HEAD "input X : f64 [12]\ntemp Y : f64 [12]\ntemp L : f64 []\ntemp dX : f64 [12]\n"
               "def Y[i: 12] = X[i % 3 * 4 + i / 3]\n" //
      SQUARES("Y", "i: 12", "i") "gradient of L for X into dX\n");
  has(text, "dX[z0: 12] = d.Y[z0 % 4 * 3 + z0 / 4]");
  neo_arena_free(&w.arena);
}

/* The lookup's adjoint is no tensor of its own: its axes form no box. */
static void the_gradient_of_a_sum_by_keys_is_a_lookup(void **state) {
  (void)state;
  grad_world w;
  const char *text = differentiated(
      &w,
      HEAD "input X : f64 [9, 2]\ninput K : i32 [9, 2] < 4\ntemp T : f64 [4]\ntemp L : f64 []\n"
           "temp dX : f64 [9, 2]\n"
           "def T[n: 4] =\n  sum[p: 9, k: 2] where K[p, k] == i32(n);\n  X[p, k]\n  then acc0\n" //
      SQUARES("T", "n: 4", "n") "gradient of L for X into dX\n");
  has_not(strstr(text, "dX["), "sum");
  neo_arena_free(&w.arena);
}

static void lookups_over_ranges_that_lean_on_each_other_are_differentiated(void **state) {
  (void)state;
  grad_world w;
  const char *text = differentiated(
      &w, HEAD "input T : f64 [20, 5]\ninput W : f64 [5, 6]\ninput I : i32 [9, 9] < 20\n"
               "temp E : f64 [9, 6]\ntemp L : f64 []\ntemp dT : f64 [20, 5]\n"
               "def E[b: 9, j: 6] =\n  sum[t: 0..b + 1, e: 5] T[i64(I[b, t]), e] * W[e, j]\n"
               "  then acc0\n" //
      SQUARES("E", "b: 9, j: 6", "b, j") "gradient of L for T into dT\n");
  has_not(text, "d.looked.T");
  neo_arena_free(&w.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slopes_read_the_functions_own_value),
      cmocka_unit_test(an_adjoint_of_a_lookup_has_its_axes_in_the_order_of_the_indices),
      cmocka_unit_test(a_winners_gradient_is_a_sum_over_a_data_equation),
      cmocka_unit_test(a_sum_that_does_not_depend_on_x_has_no_adjoint),
      cmocka_unit_test(of_two_axes_the_longer_one_is_solved_for),
      cmocka_unit_test(the_gradient_of_a_shuffle_has_no_sum),
      cmocka_unit_test(the_gradient_of_a_sum_by_keys_is_a_lookup),
      cmocka_unit_test(lookups_over_ranges_that_lean_on_each_other_are_differentiated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A reduction whose condition, bound or index holds the result of another one, which the same
 * kernel computes: that result differs from row to row, and so do the condition, the bound and the
 * index. */
#include "tests/pipeline/plan_world.h"

#define HEAD "neo-ir 1\nmodule t\ninput x : f32 [19, 5]\ninput T : f32 [5, 3]\n"
#define WINNER \
  "temp a : i32 [19] < 5\ndef @1 a[n: 19] =\n  max[t: 5] x[n, t], t\n  then i32(acc1)\n"
#define MEAN "temp a : f32 [19]\ndef @1 a[n: 19] =\n  mean[t: 5] x[n, t]\n"
#define COUNT "temp a : i32 [19]\ndef @1 a[n: 19] =\n  sum[t: 5] i32(0.0 < x[n, t])\n"
#define ANY "temp a : bool [19]\ndef @1 a[n: 19] =\n  any[t: 5] 1.0 < x[n, t]\n"
#define END "entry forward forward: y = y\n"
#define RESULT "temp y : f32 [19]\ndef @2 y[n: 19] =\n"

static void check(const char *text, size_t kernels) {
  for (int kind = KERNELS_INTERPRETED; kind <= KERNELS_EMULATED; kind++) {
    plan_world w;
    world_open(&w);
    world_parse(&w, text);
    world_begin(&w, (kernel_kind)kind, NULL);
    assert_int_equal(w.c.grouping.groups.n, kernels);
    world_check(&w, 1);
    world_close(&w);
  }
}

static void a_condition_on_the_winner_differs_between_rows(void **state) {
  (void)state;
  check(HEAD WINNER RESULT "  sum[t: 5] where t != i64(a[n]);\n  x[n, t]\n" END, 1);
  check(HEAD WINNER RESULT "  min[t: 5] where t < i64(a[n]);\n  x[n, t], t\n" END, 1);
  check(HEAD WINNER RESULT "  mean[t: 5] where i64(a[n]) <= t;\n  x[n, t]\n" END, 1);
}

static void a_condition_on_a_mean_differs_between_rows(void **state) {
  (void)state;
  check(HEAD MEAN RESULT "  max[t: 5] where 0.0 < a[n];\n  x[n, t], t\n" END, 1);
  check(HEAD MEAN RESULT "  logsumexp[t: 5] where 0.0 < a[n];\n  x[n, t]\n" END, 1);
}

static void a_condition_on_whether_any_element_is_large_differs_between_rows(void **state) {
  (void)state;
  check(HEAD ANY RESULT "  sum[t: 5] where a[n];\n  x[n, t]\n" END, 1);
}

static void a_length_that_was_counted_differs_between_rows(void **state) {
  (void)state;
  check(HEAD COUNT RESULT "  prod[t: 5] where i32(t) < a[n];\n  x[n, t]\n" END, 1);
  check(HEAD COUNT RESULT "  sum[t: clamp(i64(a[n]), 0, 5)] x[n, t]\n" END, 2);
}

static void a_lookup_of_the_winner_differs_between_rows(void **state) {
  (void)state;
  check(HEAD WINNER RESULT "  sum[d: 3] T[i64(a[n]), d]\n" END, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_condition_on_the_winner_differs_between_rows),
      cmocka_unit_test(a_condition_on_a_mean_differs_between_rows),
      cmocka_unit_test(a_condition_on_whether_any_element_is_large_differs_between_rows),
      cmocka_unit_test(a_length_that_was_counted_differs_between_rows),
      cmocka_unit_test(a_lookup_of_the_winner_differs_between_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Random programs of loops in loops, three deep: scans and loops with conditions, on counters and on what is computed, in
 * one another, in arms of a case and in vertex functions; gradients in f64. Machine code gives what the reference
 * interpreter gives, every second program with all loops in the plan and two threads. `tools/pairs --nested` runs more of
 * them; tests/test_pairs.sh and tests/test_pairs_gradients.sh hold some against the evaluator and against differences. */
#include "tests/effort.h"
#include "tests/pairs/drive.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

enum { COUNT = 70, VERTEX_COUNT = 20, DEVICE_COUNT = 25 };

static void equal_the_interpreter(pairs_drawer *draw, uint64_t n) {
  static pairs_table t;
  pairs_drive d = {.draw = draw, .first = 1, .n = neo_test_count(n), .variants = 15, .jobs = 2};
  if (pairs_drive_run(&d, &t))
    fail_msg("%u programs of %u fail", t.failed, t.programs);
  assert_true(t.rejected <=
              2 + t.programs / 12); /* gradients of what does not depend on an input */
  assert_true(t.promised * 10 >= t.compared * 8);
}

static void loops_in_loops_equal_the_interpreter(void **state) {
  (void)state;
  equal_the_interpreter(pairs_draw_nested, COUNT);
}

static void those_in_vertex_functions_do_too(void **state) {
  (void)state;
  equal_the_interpreter(pairs_draw_nested_vertices, VERTEX_COUNT);
}

/* Their inner loops have a few slices of memory there, too, which one persistent kernel writes again and again. */
static void on_the_emulated_device_they_do_too(void **state) {
  static pairs_table t;
  pairs_drive d = {.draw = pairs_draw_nested,
                   .first = 1,
                   .n = neo_test_count(DEVICE_COUNT),
                   .variants = 15,
                   .jobs = 2,
                   .target = "nvptx:sm_90a+host"};
  (void)state;
  if (NEO_TEST_SANITIZED)
    skip(); /* the stacks of emulated threads are not the sanitizers' */
  if (pairs_drive_run(&d, &t))
    fail_msg("%u programs of %u fail", t.failed, t.programs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_in_loops_equal_the_interpreter),
      cmocka_unit_test(those_in_vertex_functions_do_too),
      cmocka_unit_test(on_the_emulated_device_they_do_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

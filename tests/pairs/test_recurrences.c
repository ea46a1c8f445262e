/* Random programs with recurrences: machine code gives what the reference interpreter gives, however
 * they are scheduled and fused. `tools/pairs --recurrences` runs more of them. */
#include "tests/effort.h"
#include "tests/pairs/drive.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

enum { COUNT = 100, DEVICE_COUNT = 80 };

static void equal_the_interpreter(pairs_drawer *draw) {
  static pairs_table t;
  pairs_drive d = {.draw = draw,
                   .first = 1,
                   .n = neo_test_count(COUNT),
                   .variants = 50,
                   .jobs = 2};
  if (pairs_drive_run(&d, &t))
    fail_msg("%u programs of %u fail", t.failed, t.programs);
  assert_true(t.rejected <= 2 + t.programs / 25); /* the generator's fault */
  assert_true(t.promised * 10 >= t.compared * 8);
}

static void recurrences_equal_the_interpreter(void **state) {
  (void)state;
  equal_the_interpreter(pairs_draw_recurrent);
}

static void those_with_every_option_do_too(void **state) {
  (void)state;
  equal_the_interpreter(pairs_draw_wide_recurrent);
}

/* Three of four programs have all that can be in persistent kernels, loops too; the number of blocks on the
 * device, the order in which they run, and graphs vary with the seed. */
static void on_the_emulated_device_they_do_too(void **state) {
  static pairs_table t;
  pairs_drive d = {.draw = pairs_draw_recurrent,
                   .first = 1,
                   .n = neo_test_count(DEVICE_COUNT),
                   .variants = 50,
                   .jobs = 2,
                   .target = "nvptx:sm_90a+host"};
  (void)state;
  if (NEO_TEST_SANITIZED)
    skip(); /* the stacks of emulated threads are not the sanitizers' */
  if (pairs_drive_run(&d, &t))
    fail_msg("%u programs of %u fail", t.failed, t.programs);
  assert_true(2 * t.grid_loops > t.loops && t.grid_launches > t.programs / 4);
}

/* Programs that were wrong once:
 *
 *   346  a running sum that is made smaller, and does not end with the sum of all
 *   538  a recurrence that shares loops through what follows their rounds
 *   605  rounds beyond those of a product that is made for a block of them
 *   630  a segment of a round of which nobody reads anything
 *   680  an element of a wavefront that is 0 and read
 *  1267, 2064, 5001  a box that is cut from the adjoint of a recurrence moves the elements that it reads
 *  5319  a sum that reads, with an else, beyond the rounds that have checkpoints */
static void programs_that_were_wrong_equal_the_interpreter(void **state) {
  static const uint64_t seeds[] = {346, 538, 605, 630, 680, 1267, 2064, 5001, 5319};
  (void)state;
  for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++) {
    static pairs_table t;
    pairs_drive d = {
        .draw = pairs_draw_recurrent, .first = seeds[k], .n = 1, .variants = 90, .jobs = 1};
    if (pairs_drive_run(&d, &t))
      fail_msg("seed %llu fails", (unsigned long long)seeds[k]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recurrences_equal_the_interpreter),
      cmocka_unit_test(those_with_every_option_do_too),
      cmocka_unit_test(on_the_emulated_device_they_do_too),
      cmocka_unit_test(programs_that_were_wrong_equal_the_interpreter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

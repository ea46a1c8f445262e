/* When an entry leaves the pool for the calling thread, and when it comes back. */
#include "runtime/cpu/crowd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MS = 1000000 };

static void note(neo_rti_crowd *c, int times, int64_t ns, int64_t waited) {
  for (int k = 0; k < times; k++)
    neo_rti_crowd_note(c, neo_rti_crowd_alone(c) ? 1 : 2, ns, waited);
}

static int runs_alone(neo_rti_crowd *c, int64_t ns) {
  int n = 0;
  for (; neo_rti_crowd_alone(c) && n < 100000; n++)
    neo_rti_crowd_note(c, 1, ns, 0);
  return n;
}

static void runs_that_do_not_wait_stay_on_the_pool(void **state) {
  (void)state;
  neo_rti_crowd c = {0};
  note(&c, 1000, MS, MS / 3);
  assert_false(neo_rti_crowd_alone(&c));
}

static void some_runs_that_wait_are_not_enough(void **state) {
  (void)state;
  neo_rti_crowd c = {0};
  for (int k = 0; k < 100; k++) {
    note(&c, 3, 40 * MS, 39 * MS);
    note(&c, 1, MS, 0);
    assert_false(neo_rti_crowd_alone(&c));
  }
}

static void an_entry_that_waits_runs_alone_for_longer_each_time(void **state) {
  (void)state;
  neo_rti_crowd c = {0};
  note(&c, 4, 40 * MS, 39 * MS);
  assert_true(neo_rti_crowd_alone(&c)); /* the probe */
  assert_int_equal(runs_alone(&c, MS), 1 + 64);
  note(&c, 2, 40 * MS, 39 * MS);
  assert_int_equal(runs_alone(&c, MS), 1 + 128);
  for (int k = 0; k < 10; k++) {
    note(&c, 2, 40 * MS, 39 * MS);
    runs_alone(&c, MS);
  }
  note(&c, 2, 40 * MS, 39 * MS);
  assert_int_equal(runs_alone(&c, MS), 1 + 4096);
}

static void it_stays_on_the_pool_when_nobody_else_wants_the_cores_any_more(void **state) {
  (void)state;
  neo_rti_crowd c = {0};
  note(&c, 4, 40 * MS, 39 * MS);
  runs_alone(&c, MS);
  note(&c, 1000, MS / 2, MS / 10);
  assert_false(neo_rti_crowd_alone(&c));
  note(&c, 4, 40 * MS, 39 * MS); /* as if it were the first time */
  assert_int_equal(runs_alone(&c, MS), 1 + 64);
}

static void a_probe_that_is_no_quicker_is_the_last_one_for_long(void **state) {
  (void)state;
  neo_rti_crowd c = {0};
  note(&c, 4, 40 * MS, 30 * MS);
  assert_int_equal(runs_alone(&c, 38 * MS), 1);
  note(&c, 1000, 40 * MS, 30 * MS);
  assert_false(neo_rti_crowd_alone(&c));
  note(&c, 24 + 4, 40 * MS, 30 * MS);
  assert_true(neo_rti_crowd_alone(&c));
}

static void work_that_many_threads_share_is_not_tried_alone(void **state) {
  (void)state;
  neo_rti_crowd c = {0};
  for (int k = 0; k < 100; k++)
    neo_rti_crowd_note(&c, 64, 40 * MS, 24 * MS); /* 16 ms of the caller, of 64 threads */
  assert_false(neo_rti_crowd_alone(&c));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_that_do_not_wait_stay_on_the_pool),
      cmocka_unit_test(some_runs_that_wait_are_not_enough),
      cmocka_unit_test(an_entry_that_waits_runs_alone_for_longer_each_time),
      cmocka_unit_test(it_stays_on_the_pool_when_nobody_else_wants_the_cores_any_more),
      cmocka_unit_test(a_probe_that_is_no_quicker_is_the_last_one_for_long),
      cmocka_unit_test(work_that_many_threads_share_is_not_tried_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

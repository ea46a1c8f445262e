/* The table of the kinds of steps (base/steps.def). */
#include "runtime/model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum {
#define STEP(id, text, args, writes, of_kind) ROW_##id,
#include "base/steps.def"
#undef STEP
  KINDS
};

static void each_kind_of_step_has_a_text(void **state) {
  (void)state;
  for (uint8_t op = 0; op < KINDS; op++)
    assert_non_null(neo_rti_step_kind(&(neo_rt_step){.op = op}));
  assert_null(neo_rti_step_kind(&(neo_rt_step){.op = KINDS}));
}

static void each_flag_belongs_to_a_kind(void **state) {
  (void)state;
  for (unsigned flag = NEO_RT_STEP_KEYLESS; flag <= NEO_RT_STEP_WHOLE; flag *= 2) {
    int own = 0;
    for (uint8_t op = 0; op < KINDS; op++)
      own += !neo_rti_step_alien_flags(&(neo_rt_step){.op = op, .flags = (uint16_t)flag});
    assert_int_equal(own, 1);
  }
}

static void a_step_writes_what_its_record_says(void **state) {
  (void)state;
  neo_rt_step run = {.op = NEO_RT_STEP_RUN, .n = 3, .n_written = 1},
              any = {.op = NEO_RT_STEP_RUN, .n = 3}, copy = {.op = NEO_RT_STEP_COPY},
              loop = {.op = NEO_RT_STEP_LOOP, .n = 7},
              asks = {.op = NEO_RT_STEP_LOOP, .flags = NEO_RT_STEP_ASKS};
  assert_int_equal(neo_rti_step_args(&run), 3);
  assert_false(neo_rti_step_writes(&run, 1));
  assert_true(neo_rti_step_writes(&run, 2));
  assert_true(neo_rti_step_writes(&any, 0));
  assert_int_equal(neo_rti_step_args(&copy), 2);
  assert_true(neo_rti_step_writes(&copy, 0));
  assert_false(neo_rti_step_writes(&copy, 1));
  assert_int_equal(neo_rti_step_args(&loop), 0);
  assert_int_equal(neo_rti_step_args(&asks), 1);
  assert_false(neo_rti_step_writes(&asks, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_kind_of_step_has_a_text),
      cmocka_unit_test(each_flag_belongs_to_a_kind),
      cmocka_unit_test(a_step_writes_what_its_record_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

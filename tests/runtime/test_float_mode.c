/* Results depend on neither the rounding nor the traps of the caller, and a call leaves both as
 * they are. */
#define _GNU_SOURCE 1 /* feenableexcept */
#include "runtime/element.h"
#include "tests/runtime/toy.h"

#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/status.h"

static uint64_t trained(int32_t threads, int before, int after) {
  fesetround(before);
  neo_rt_ctx *c = toy_create(threads, 3);
  fesetround(after);
  toy_train(c, 0, 60);
  assert_int_equal(fegetround(), after);
  fesetround(FE_TONEAREST);
  uint64_t digest = toy_digest(c);
  neo_rt_destroy(c);
  return digest;
}

static void the_rounding_of_the_caller_changes_no_result_on_any_number_of_threads(void **state) {
  (void)state;
  uint64_t want = trained(1, FE_TONEAREST, FE_TONEAREST);
  const int mode[] = {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO};
  for (int32_t threads = 1; threads <= 3; threads++)
    for (int before = 0; before < 3; before++)
      for (int after = 0; after < 3; after++)
        assert_int_equal(trained(threads, mode[before], mode[after]), want);
}

static void a_caller_that_traps_exceptions_gets_results(void **state) {
  (void)state;
  float x[8] = {0}, l[20], inf = 1e38f;
  int64_t n = 2;
  void *args[] = {x, l};
  for (int32_t threads = 1; threads <= 3; threads++) {
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_INEXACT);
    neo_rt_ctx *c = toy_create(threads, 1);
    float w[40];
    assert_int_equal(neo_rt_get(c, W, w, sizeof w), NEO_OK);
    for (int k = 0; k < 40; k++)
      w[k] = k < 20 ? 1e38f : -1e38f;
    assert_int_equal(neo_rt_set(c, W, w, sizeof w), NEO_OK);
    memcpy(x, (float[]){inf, inf, inf, inf, 1, 2, 3, 4}, sizeof x);
    assert_int_equal(neo_rt_call(c, FORWARD, &n, args), NEO_OK); /* infinity less infinity */
    assert_int_equal(neo_rt_set_scalar(c, "lr", 1e-4), NEO_OK);
    int trapped = fegetexcept();
    fedisableexcept(FE_ALL_EXCEPT);
    assert_int_equal(trapped, FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_INEXACT);
    assert_true(l[0] != l[0]);
    neo_rt_destroy(c);
  }
}

static void numbers_are_converted_to_the_nearest(void **state) {
  (void)state;
  const double third = 1.0 / 3;
  float want = (float)third, got = 0;
  const int mode[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (int k = 0; k < 3; k++) {
    fesetround(mode[k]);
    neo_rti_convert(NEO_RT_F64, &third, NEO_RT_F32, &got, 1);
    fesetround(FE_TONEAREST);
    assert_true(got == want);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_rounding_of_the_caller_changes_no_result_on_any_number_of_threads),
      cmocka_unit_test(a_caller_that_traps_exceptions_gets_results),
      cmocka_unit_test(numbers_are_converted_to_the_nearest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Variants of kernels for machines that have more. */
#include "tests/runtime/toy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 1000, CHUNK = 100 };
enum { TEN = 3 }; /* program: a constant */

/* Z = 3 V in ten chunks: the variant's own units. */
static int32_t thrice(const neo_rt_args *a) {
  float *z = a->buf[0];
  const float *v = a->buf[1];
  for (int64_t i = a->lo * CHUNK; i < a->hi * CHUNK && i < a->size[1]; i++)
    z[i] = 3 * v[i];
  return 0;
}

/* The result for 1: 2 by the kernel, 3 by its variant. */
static float result_of(const char *needs, int32_t threads) {
  neo_rt_model m = twice_model;
  neo_rt_kernel k = m.kernels[0];
  neo_rt_ctx *ctx;
  neo_rt_config config = {.struct_size = sizeof config, .threads = threads};
  float v[N], z[N];
  int64_t n = N;
  k.needs = needs;
  k.fast = thrice;
  k.fast_units = TEN;
  m.kernels = &k;
  assert_int_equal(neo_rt_create(&m, &config, &ctx), 0);
  for (int i = 0; i < N; i++)
    v[i] = 1;
  void *args[] = {v, z};
  assert_int_equal(neo_rt_call(ctx, 0, &n, args), 0);
  for (int i = 1; i < N; i++)
    assert_true(z[i] == z[0]);
  neo_rt_destroy(ctx);
  return z[0];
}

static void a_variant_runs_where_the_machine_has_what_it_needs(void **state) {
  (void)state;
  for (int32_t threads = 1; threads <= 4; threads++) {
    assert_true(result_of("", threads) == 3);
#if defined(__x86_64__)
    assert_true(result_of("sse2,cmov", threads) == 3);
#endif
  }
}

static void the_kernel_itself_runs_elsewhere(void **state) {
  (void)state;
  for (int32_t threads = 1; threads <= 4; threads++) {
    assert_true(result_of(NULL, threads) == 2);
    assert_true(result_of("no-such-unit", threads) == 2);
    assert_true(result_of("sse2,no-such-unit", threads) == 2);
  }
}

static void a_variant_with_bad_units_is_refused(void **state) {
  (void)state;
  neo_rt_model m = twice_model;
  neo_rt_kernel k = m.kernels[0];
  neo_rt_ctx *ctx;
  k.needs = "";
  k.fast = thrice;
  k.fast_units = -1;
  m.kernels = &k;
  assert_int_not_equal(neo_rt_create(&m, NULL, &ctx), 0);
  neo_rt_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_variant_runs_where_the_machine_has_what_it_needs),
      cmocka_unit_test(the_kernel_itself_runs_elsewhere),
      cmocka_unit_test(a_variant_with_bad_units_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

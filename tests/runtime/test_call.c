/* Entries called on plain pointers. */
#include "tests/runtime/toy.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/model.h"

/* Every allocation of the process is counted, unless a sanitizer owns malloc. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define COUNTS_ALLOCATIONS 1
static size_t n_allocations;
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *malloc(size_t n) {
  __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED);
  return __libc_malloc(n);
}
void *calloc(size_t n, size_t size) {
  __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED);
  return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n) {
  __atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED);
  return __libc_realloc(p, n);
}
#endif

typedef struct {
  neo_rt_ctx *ctx;
  float x[256 * 4], l[256 * 10], loss;
  int32_t y[256];
} fixture;

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->ctx = toy_create(2, 1);
  toy_data(256, f->x, f->y);
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  neo_rt_destroy(f->ctx);
  free(f);
  return 0;
}

static void expect_failure(neo_rt_ctx *ctx, neo_rt_status got, neo_rt_status want,
                           const char *message) {
  assert_string_equal(neo_rt_error(ctx), message);
  assert_int_equal(got, want);
}

static void an_entry_computes_for_every_batch_size(void **state) {
  fixture *f = *state;
  float w[40];
  assert_int_equal(neo_rt_get(f->ctx, W, w, sizeof w), NEO_OK);
  const int64_t batches[] = {1, 2, 3, 17, 255, 256};
  for (int k = 0; k < 6; k++) {
    int64_t n = batches[k];
    void *args[] = {f->x, f->l};
    memset(f->l, 0xff, sizeof f->l);
    assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, args), NEO_OK);
    for (int64_t b = 0; b < n; b++)
      for (int j = 0; j < 10; j++) {
        float want = 0;
        for (int i = 0; i < 4; i++)
          want += f->x[b * 4 + i] * w[i * 10 + j];
        assert_true(want == f->l[b * 10 + j]);
      }
    for (int64_t i = n * 10; i < 2560; i++)
      assert_true(f->l[i] != f->l[i]); /* not touched */
  }
}

static void sizes_outside_their_bounds_are_named(void **state) {
  fixture *f = *state;
  void *args[] = {f->x, f->l};
  int64_t n = 300;
  expect_failure(f->ctx, neo_rt_call(f->ctx, FORWARD, &n, args), NEO_SHAPE,
                 "B: 300 is not in [1, 256]");
  n = 0;
  expect_failure(f->ctx, neo_rt_call(f->ctx, FORWARD, &n, args), NEO_SHAPE,
                 "B: 0 is not in [1, 256]");
  n = INT64_MIN;
  assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, args), NEO_SHAPE);
}

static void null_pointers_are_named(void **state) {
  fixture *f = *state;
  void *args[] = {NULL, f->l};
  int64_t n = 2;
  expect_failure(f->ctx, neo_rt_call(f->ctx, FORWARD, &n, args), NEO_NULL,
                 "X: pointer is null (toy.expr:2:7)");
  expect_failure(f->ctx, neo_rt_call(f->ctx, FORWARD, NULL, args), NEO_NULL,
                 "forward: the pointer to the sizes is null");
  expect_failure(f->ctx, neo_rt_call(f->ctx, FORWARD, &n, NULL), NEO_NULL,
                 "forward: the pointer to the arguments is null");
  assert_int_equal(neo_rt_call(NULL, FORWARD, &n, args), NEO_NULL);
}

static void an_index_outside_its_bound_is_named_with_its_position(void **state) {
  fixture *f = *state;
  void *args[] = {f->x, f->y, NULL, &f->loss};
  int64_t n = 7;
  f->y[3] = 12;
  f->y[5] = -1;
  expect_failure(f->ctx, neo_rt_call(f->ctx, TEST, &n, args), NEO_RANGE,
                 "Y[3]: value 12 is not in [0, 10) (toy.expr:3:7)");
  f->y[3] = 9;
  expect_failure(f->ctx, neo_rt_call(f->ctx, TEST, &n, args), NEO_RANGE,
                 "Y[5]: value -1 is not in [0, 10) (toy.expr:3:7)");
  n = 5; /* what lies behind the batch does not matter */
  assert_int_equal(neo_rt_call(f->ctx, TEST, &n, args), NEO_OK);
}

static void a_bool_other_than_0_and_1_is_refused(void **state) {
  fixture *f = *state;
  uint8_t flags[4] = {1, 0, 1, 1};
  float e[2] = {10, 20}, s = 0;
  memset(f->x, 0, sizeof f->x);
  void *args[] = {f->x, e, flags, &s};
  int64_t n = 4;
  assert_int_equal(neo_rt_call(f->ctx, HALF, &n, args), NEO_OK);
  assert_true(s == 33);
  flags[2] = 7;
  expect_failure(f->ctx, neo_rt_call(f->ctx, HALF, &n, args), NEO_RANGE,
                 "F[2]: value 7 is not in [0, 2) (toy.expr:5:7)");
}

/* The scan against the definition, for every integer type, bound, length and place of the bad one.
 * */
static void every_integer_type_is_scanned_to_the_last_element(void **state) {
  (void)state;
  enum { N = 2100 }; /* more than a block of the scan */
  static unsigned char data[N * 8];
  const int64_t bounds[] = {0, 1, 5, 127, 128, 255, 256, INT64_C(1) << 31, INT64_MAX};
  const int64_t values[] = {-1, 0, 4, 5, 126, 127, 128, 254, 255, 1000, INT32_MIN, INT64_MIN};
  for (uint8_t type = NEO_RT_I64; type <= NEO_RT_U8; type++)
    for (int b = 0; b < 9; b++)
      for (int v = 0; v < 12; v++)
        for (int64_t at = 0; at < N; at += N - 1) {
          memset(data, 0, sizeof data);
          neo_rti_convert(NEO_RT_I64, &values[v], type,
                          data + (size_t)at * neo_rti_type_bytes(type), 1);
          int64_t x = neo_rti_int_at(type, data, at);
          int64_t want = bounds[b] == 0 ? 0 : x < 0 || x >= bounds[b] ? at : -1;
          assert_int_equal(neo_rti_scan(type, data, N, bounds[b]), want);
          assert_int_equal(neo_rti_scan(type, data, at, bounds[b]), bounds[b] == 0 && at ? 0 : -1);
        }
}

static void an_output_may_be_null(void **state) {
  fixture *f = *state;
  int64_t n = 9;
  void *all[] = {f->x, f->y, f->l, &f->loss}, *none[] = {f->x, f->y, NULL, NULL};
  float loss = 0;
  void *one[] = {f->x, f->y, NULL, &loss};
  assert_int_equal(neo_rt_call(f->ctx, TEST, &n, all), NEO_OK);
  assert_int_equal(neo_rt_call(f->ctx, TEST, &n, none), NEO_OK);
  assert_int_equal(neo_rt_call(f->ctx, TEST, &n, one), NEO_OK);
  assert_true(f->loss > 0 && loss == f->loss);
}

static void a_parameter_may_be_an_output(void **state) {
  fixture *f = *state;
  int64_t n = 3;
  float w[40], kept[40];
  void *args[] = {f->x, f->y, NULL, w};
  assert_int_equal(neo_rt_call(f->ctx, STEP, &n, args), NEO_OK);
  assert_int_equal(neo_rt_get(f->ctx, W, kept, sizeof kept), NEO_OK);
  assert_memory_equal(w, kept, sizeof w);
}

static void overlapping_and_misaligned_memory_is_refused(void **state) {
  fixture *f = *state;
  int64_t n = 2;
  void *over[] = {f->x, (char *)f->x + 28}, *odd[] = {(char *)f->x + 2, f->l};
  expect_failure(f->ctx, neo_rt_call(f->ctx, FORWARD, &n, over), NEO_ARGUMENT,
                 "L: overlaps X (toy.expr:12:1)");
  expect_failure(f->ctx, neo_rt_call(f->ctx, FORWARD, &n, odd), NEO_ARGUMENT,
                 "X: pointer is not aligned to 4 bytes (toy.expr:2:7)");
  void *beside[] = {f->x, f->x + 8};
  assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, beside), NEO_OK);
}

static void only_entries_for_callers_can_be_called(void **state) {
  fixture *f = *state;
  expect_failure(f->ctx, neo_rt_call(f->ctx, 99, NULL, NULL), NEO_NAME, "toy has no entry 99");
  expect_failure(f->ctx, neo_rt_call(f->ctx, -1, NULL, NULL), NEO_NAME, "toy has no entry -1");
  expect_failure(f->ctx, neo_rt_call(f->ctx, INIT, NULL, NULL), NEO_STATE,
                 "init: initialisation is run by reset");
}

static void a_refused_training_step_changes_nothing(void **state) {
  fixture *f = *state;
  toy_train(f->ctx, 0, 3);
  uint64_t before = toy_digest(f->ctx);
  int64_t n = 7;
  void *args[] = {f->x, f->y, &f->loss, NULL};
  f->y[6] = 10;
  assert_int_equal(neo_rt_call(f->ctx, STEP, &n, args), NEO_RANGE);
  args[0] = NULL;
  assert_int_equal(neo_rt_call(f->ctx, STEP, &n, args), NEO_NULL);
  n = 257;
  assert_int_equal(neo_rt_call(f->ctx, STEP, &n, args), NEO_SHAPE);
  assert_int_equal(toy_digest(f->ctx), before);
  assert_int_equal(neo_rt_step_count(f->ctx), 3);
}

static void a_failing_kernel_fails_the_entry_on_any_number_of_threads(void **state) {
  for (int32_t threads = 1; threads <= 4; threads++) {
    neo_rt_ctx *ctx = toy_create(threads, 1);
    expect_failure(ctx, neo_rt_call(ctx, FAIL, NULL, NULL), NEO_INTERNAL,
                   "toy: a kernel of entry fail failed");
    assert_int_equal(neo_rt_step_count(ctx), 0);
    neo_rt_destroy(ctx);
  }
  (void)state;
}

static neo_rt_ctx *cancellable(int32_t threads, const volatile int32_t *cancel) {
  neo_rt_ctx *ctx;
  neo_rt_config config = {
      .struct_size = sizeof config, .threads = threads, .seed = 1, .cancel = cancel};
  assert_int_equal(neo_rt_create(&toy_model, &config, &ctx), NEO_OK);
  return ctx;
}

static void a_cancelled_call_ends_and_the_next_one_runs(void **state) {
  fixture *f = *state;
  for (int32_t threads = 1; threads <= 3; threads++) {
    volatile int32_t cancel = 0;
    neo_rt_ctx *ctx = cancellable(threads, &cancel);
    void *args[] = {f->x, f->l};
    int64_t n = 256;
    cancel = 1;
    expect_failure(ctx, neo_rt_call(ctx, FORWARD, &n, args), NEO_INTERRUPTED,
                   "toy: entry forward was cancelled");
    cancel = 0;
    assert_int_equal(neo_rt_call(ctx, FORWARD, &n, args), NEO_OK);
    neo_rt_destroy(ctx);
  }
}

static void a_training_step_is_never_cancelled(void **state) {
  fixture *f = *state;
  volatile int32_t cancel = 0;
  neo_rt_ctx *ctx = cancellable(2, &cancel);
  void *args[] = {f->x, f->y, &f->loss, NULL};
  int64_t n = 256;
  cancel = 1;
  assert_int_equal(neo_rt_call(ctx, STEP, &n, args), NEO_OK);
  assert_int_equal(neo_rt_step_count(ctx), 1);
  neo_rt_destroy(ctx);
}

static void kernels_get_seed_step_and_call(void **state) {
  int64_t key[3];
  void *args[] = {key};
  neo_rt_ctx *ctx = toy_create(1, 77);
  for (int64_t i = 0; i < 3; i++) {
    assert_int_equal(neo_rt_call(ctx, KEY, NULL, args), NEO_OK);
    assert_true(key[0] == 77 && key[1] == 0 && key[2] == i);
  }
  toy_train(ctx, 0, 2);
  assert_int_equal(neo_rt_call(ctx, KEY, NULL, args), NEO_OK);
  assert_true(key[1] == 2 && key[2] == 3);
  assert_int_equal(neo_rt_reset(ctx, 5), NEO_OK);
  assert_int_equal(neo_rt_call(ctx, KEY, NULL, args), NEO_OK);
  assert_true(key[0] == 5 && key[1] == 0 && key[2] == 0);
  neo_rt_destroy(ctx);
  (void)state;
}

static void training_is_bitwise_equal_for_any_number_of_threads(void **state) {
  uint64_t digest = 0;
  for (int32_t threads = 1; threads <= 4; threads++) {
    neo_rt_ctx *ctx = toy_create(threads, 3);
    float first = toy_train(ctx, 0, 1), last = toy_train(ctx, 1, 300);
    assert_true(last != first && last - last == 0); /* it moves, and stays finite */
    if (threads == 1)
      digest = toy_digest(ctx);
    assert_int_equal(toy_digest(ctx), digest);
    assert_int_equal(neo_rt_step_count(ctx), 301);
    neo_rt_destroy(ctx);
  }
  (void)state;
}

static void copies_move_all_bytes_of_every_length(void **state) {
  fixture *f = *state;
  enum { MOST = 100000 };
  float *v = malloc(MOST * sizeof *v), *z = malloc((MOST + 1) * sizeof *z);
  for (int i = 0; i < MOST; i++)
    v[i] = (float)i;
  const int64_t lengths[] = {0, 1, 16383, 16384, 16385, 65536, 99999, MOST};
  for (int k = 0; k < 8; k++) {
    int64_t n = lengths[k];
    void *args[] = {n ? v : NULL, z};
    memset(z, 0xff, (MOST + 1) * sizeof *z);
    assert_int_equal(neo_rt_call(f->ctx, COPY, &n, args), NEO_OK);
    assert_memory_equal(v, z, (size_t)n * sizeof *v);
    assert_true(z[n] != z[n]);
  }
  free(v);
  free(z);
}

static void nothing_allocates_in_calls_no_larger_than_those_before(void **state) {
#ifdef COUNTS_ALLOCATIONS
  fixture *f = *state;
  int64_t n = 100;
  void *args[] = {f->x, f->y, &f->loss, NULL}, *test[] = {f->x, f->y, NULL, NULL};
  void *probe = malloc(1);
  assert_true(n_allocations > 0); /* the counter counts */
  free(probe);
  size_t before = 0;
  for (int i = 0; i < 50; i++) {
    neo_rt_status a = neo_rt_call(f->ctx, STEP, &n, args);
    neo_rt_status b = neo_rt_call(f->ctx, TEST, &n, test);
    before = i ? before : n_allocations;
    n = 1 + n * 7 % 100;
    if (a || b)
      before = 0;
  }
  assert_int_equal(n_allocations, before);
#else
  (void)state;
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(an_entry_computes_for_every_batch_size, set_up, tear_down),
      cmocka_unit_test_setup_teardown(sizes_outside_their_bounds_are_named, set_up, tear_down),
      cmocka_unit_test_setup_teardown(null_pointers_are_named, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_index_outside_its_bound_is_named_with_its_position, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(a_bool_other_than_0_and_1_is_refused, set_up, tear_down),
      cmocka_unit_test(every_integer_type_is_scanned_to_the_last_element),
      cmocka_unit_test_setup_teardown(an_output_may_be_null, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_parameter_may_be_an_output, set_up, tear_down),
      cmocka_unit_test_setup_teardown(overlapping_and_misaligned_memory_is_refused, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(only_entries_for_callers_can_be_called, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_refused_training_step_changes_nothing, set_up, tear_down),
      cmocka_unit_test(a_failing_kernel_fails_the_entry_on_any_number_of_threads),
      cmocka_unit_test_setup_teardown(a_cancelled_call_ends_and_the_next_one_runs, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(a_training_step_is_never_cancelled, set_up, tear_down),
      cmocka_unit_test(kernels_get_seed_step_and_call),
      cmocka_unit_test(training_is_bitwise_equal_for_any_number_of_threads),
      cmocka_unit_test_setup_teardown(copies_move_all_bytes_of_every_length, set_up, tear_down),
      cmocka_unit_test_setup_teardown(nothing_allocates_in_calls_no_larger_than_those_before,
                                      set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#define _GNU_SOURCE 1 /* mkstemp */
/* Cached call-invariant values are made again when what they follow from has changed, and only then: a
 * hand-written model counts how often. */
#include "include/neo/dlpack.h"
#include "include/neo/neo_rt.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* param W[16] = 1;  setting s = 0;  K = 2 W + s, kept;  output forward: Y[16] = K
 * step: W = W + 1;  idle: a training entry that updates nothing;  fail: makes K, then fails */
enum { W, S, Y, N_TENSORS, B_K = N_TENSORS, N_BUFS };
enum { INIT, FORWARD, STEP, IDLE, FAIL, N_ENTRIES };
enum { N = 16 };
static int made;

static int32_t init(const neo_rt_args *a) {
  for (int i = 0; i < N; i++)
    ((float *)a->buf[0])[i] = 1;
  *(float *)a->buf[1] = 0;
  return 0;
}
static int32_t make(const neo_rt_args *a) {
  made++;
  for (int i = 0; i < N; i++)
    ((float *)a->buf[0])[i] = 2 * ((float *)a->buf[1])[i] + *(float *)a->buf[2];
  return 0;
}
static int32_t update(const neo_rt_args *a) {
  for (int i = 0; i < N; i++)
    ((float *)a->buf[0])[i] += 1;
  return 0;
}
static int32_t fail_now(const neo_rt_args *a) {
  (void)a;
  return 1;
}

static const int64_t programs[] = {NEO_RT_OP_CONST, 1,     NEO_RT_OP_END,
                                   NEO_RT_OP_CONST, N,     NEO_RT_OP_END,
                                   NEO_RT_OP_CONST, 4 * N, NEO_RT_OP_END};
enum { P1 = 0, PN = 3, P4N = 6 };
static const int32_t extents[] = {PN};
static const neo_rt_tensor tensors[] = {
    [W] = {"W", "k.expr:1:1", NEO_RT_ROLE_PARAM, NEO_RT_F32, 1, 1, 0, 0, -1, 0, W},
    [S] = {"s", "k.expr:2:1", NEO_RT_ROLE_SETTING, NEO_RT_F32, 0, 1, 0, 0, -1, 0, S},
    [Y] = {"Y", "k.expr:3:1", NEO_RT_ROLE_OUTPUT, NEO_RT_F32, 1, 0, 0, 0, -1, 0, Y}};
static const neo_rt_buf bufs[] = {[W] = {NEO_RT_MEM_PARAM, NEO_RT_F32, 0, 4 * N, 0, 0, 0},
                                  [S] = {NEO_RT_MEM_STATE, NEO_RT_F32, 0, 4, 0, 0, 0},
                                  [Y] = {NEO_RT_MEM_CALLER, NEO_RT_F32, Y, 4 * N, 0, 0, 0},
                                  [B_K] = {NEO_RT_MEM_CACHED, NEO_RT_F32, 0, 4 * N, 0, 0, 0}};
static const neo_rt_kernel kernels[] = {{.name = "init", .fn = init, .units = P1},
                                        {.name = "make", .fn = make, .units = P1},
                                        {.name = "update", .fn = update, .units = P1},
                                        {.name = "fail", .fn = fail_now, .units = P1}};
static const int32_t args[] = {W, S, B_K, W, S, Y, B_K, W};
static const neo_rt_step steps[] = {
    {NEO_RT_STEP_RUN, 0, 0, 0, 0, 2, 0},    {NEO_RT_STEP_RUN, 0, 0, 1, 2, 3, 1},
    {NEO_RT_STEP_COPY, 0, 0, P4N, 5, 2, 0}, {NEO_RT_STEP_RUN, 0, 0, 2, 7, 1, 0},
    {NEO_RT_STEP_RUN, 0, 0, 1, 2, 3, 1},    {NEO_RT_STEP_RUN, 0, 0, 3, 7, 1, 0}};
static const int32_t entry_args[] = {Y}, sources[] = {W, S}, writes[] = {W};
static const neo_rt_cached cached[] = {{0, 2}};
static const neo_rt_entry entries[] = {
    [INIT] = {.name = "init", .kind = NEO_RT_ENTRY_INIT, .n_steps = 1},
    [FORWARD] = {.name = "forward",
                 .kind = NEO_RT_ENTRY_FORWARD,
                 .first_step = 1,
                 .n_steps = 2,
                 .n_args = 1},
    [STEP] =
        {.name = "step", .kind = NEO_RT_ENTRY_TRAIN, .first_step = 3, .n_steps = 1, .n_writes = 1},
    [IDLE] = {.name = "idle", .kind = NEO_RT_ENTRY_TRAIN, .first_step = 4},
    [FAIL] = {.name = "fail", .kind = NEO_RT_ENTRY_TRAIN, .first_step = 4, .n_steps = 2}};
static const neo_rt_model model = {.abi = NEO_RT_ABI,
                                   .name = "k",
                                   .prefix = "k",
                                   .source_hash = "0",
                                   .target = "test",
                                   .features = "",
                                   .n_tensors = N_TENSORS,
                                   .n_bufs = N_BUFS,
                                   .n_kernels = 4,
                                   .n_steps = 6,
                                   .n_entries = N_ENTRIES,
                                   .tensors = tensors,
                                   .bufs = bufs,
                                   .kernels = kernels,
                                   .steps = steps,
                                   .entries = entries,
                                   .extents = extents,
                                   .args = args,
                                   .entry_args = entry_args,
                                   .programs = programs,
                                   .param_bytes = 4 * N,
                                   .state_bytes = 4,
                                   .n_cached = 1,
                                   .cached = cached,
                                   .cached_sources = sources,
                                   .entry_writes = writes,
                                   .cached_bytes = 4 * N};

static neo_rt_ctx *create(void) {
  neo_rt_config config = {.struct_size = sizeof config, .threads = 2};
  neo_rt_ctx *c;
  assert_int_equal(neo_rt_create(&model, &config, &c), NEO_RT_OK);
  made = 0;
  return c;
}

/* Calls forward: all of the result is `y`, and K was made `n` times in all. */
static void expect(neo_rt_ctx *c, float y, int n) {
  float out[N];
  void *a[] = {out};
  assert_int_equal(neo_rt_call(c, FORWARD, NULL, a), NEO_RT_OK);
  for (int i = 0; i < N; i++)
    assert_true(out[i] == y);
  assert_int_equal(made, n);
}

static void a_kept_value_is_made_once(void **state) {
  (void)state;
  neo_rt_ctx *c = create();
  expect(c, 2, 1);
  expect(c, 2, 1);
  assert_int_equal(neo_rt_call(c, IDLE, NULL, NULL), NEO_RT_OK);
  expect(c, 2, 1);
  neo_rt_destroy(c);
}

static void an_entry_that_updates_a_source_makes_it_anew(void **state) {
  (void)state;
  neo_rt_ctx *c = create();
  expect(c, 2, 1);
  for (int k = 1; k < 4; k++) {
    assert_int_equal(neo_rt_call(c, STEP, NULL, NULL), NEO_RT_OK);
    expect(c, (float)(2 + 2 * k), 1 + k);
  }
  neo_rt_destroy(c);
}

static void set_reset_and_load_make_it_anew(void **state) {
  (void)state;
  char path[] = "/tmp/neo-keep-XXXXXX";
  float w[N];
  neo_rt_ctx *c = create();
  expect(c, 2, 1);
  for (int i = 0; i < N; i++)
    w[i] = 5;
  assert_int_equal(neo_rt_set(c, W, w, sizeof w), NEO_RT_OK);
  expect(c, 10, 2);
  assert_int_equal(neo_rt_set_scalar(c, "s", 3), NEO_RT_OK);
  expect(c, 13, 3);
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(neo_rt_save(c, path, NULL, 0), NEO_RT_OK);
  assert_int_equal(neo_rt_reset(c, 1), NEO_RT_OK);
  expect(c, 2, 4);
  assert_int_equal(neo_rt_load(c, path), NEO_RT_OK);
  expect(c, 13, 5);
  expect(c, 13, 5);
  unlink(path);
  neo_rt_destroy(c);
}

static void what_the_caller_can_write_to_is_never_up_to_date(void **state) {
  (void)state;
  static _Alignas(64) float mine[N];
  int64_t shape[16], extent[1] = {N};
  neo_dl_tensor dl = {.data = mine,
                      .device = {NEO_DL_CPU, 0},
                      .ndim = 1,
                      .dtype = {NEO_DL_FLOAT, 32, 1},
                      .shape = extent};
  neo_rt_ctx *c = create();
  expect(c, 2, 1);
  assert_int_equal(neo_rt_bind(c, W, &dl), NEO_RT_OK);
  expect(c, 0, 2);
  for (int i = 0; i < N; i++)
    mine[i] = 4;
  expect(c, 8, 3);
  assert_int_equal(neo_rt_bind(c, W, NULL), NEO_RT_OK);
  expect(c, 8, 4);
  expect(c, 8, 4);
  assert_int_equal(neo_rt_view(c, W, &dl, shape), NEO_RT_OK);
  for (int i = 0; i < N; i++)
    ((float *)dl.data)[i] = 6;
  expect(c, 12, 5);
  neo_rt_destroy(c);
}

static void a_call_that_fails_leaves_it_to_be_made_again(void **state) {
  (void)state;
  neo_rt_ctx *c = create();
  assert_int_equal(neo_rt_call(c, FAIL, NULL, NULL), NEO_RT_E_INTERNAL);
  assert_int_equal(made, 1);
  expect(c, 2, 2);
  neo_rt_destroy(c);
}

static void a_record_with_a_bad_keep_is_refused(void **state) {
  (void)state;
  static const int32_t bad[] = {W, Y};
  neo_rt_model m = model;
  neo_rt_ctx *c;
  m.cached_sources = bad;
  assert_int_equal(neo_rt_create(&m, NULL, &c), NEO_RT_E_INTERNAL);
  neo_rt_destroy(c);
  m = model;
  m.n_cached = 0;
  assert_int_equal(neo_rt_create(&m, NULL, &c), NEO_RT_E_INTERNAL);
  neo_rt_destroy(c);
  m = model;
  m.cached_bytes = 8;
  assert_int_equal(neo_rt_create(&m, NULL, &c), NEO_RT_E_INTERNAL);
  neo_rt_destroy(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_kept_value_is_made_once),
      cmocka_unit_test(an_entry_that_updates_a_source_makes_it_anew),
      cmocka_unit_test(set_reset_and_load_make_it_anew),
      cmocka_unit_test(what_the_caller_can_write_to_is_never_up_to_date),
      cmocka_unit_test(a_call_that_fails_leaves_it_to_be_made_again),
      cmocka_unit_test(a_record_with_a_bad_keep_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

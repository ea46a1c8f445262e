/* Memory that a context shares with its caller: what an entry writes lies in the memory of nothing
 * else, and index values that the caller may have written are looked at. */
#include "include/neo/dlpack.h"
#include "tests/runtime/toy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/status.h"

typedef struct {
  _Alignas(64) float own[256];
  neo_rt_ctx *ctx;
  float x[256 * 4], l[256 * 10], loss;
  int32_t y[256];
} fixture;

static int set_up(void **state) {
  fixture *f = aligned_alloc(64, (sizeof *f + 63) / 64 * 64);
  memset(f, 0, sizeof *f);
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

static const neo_dl_type f32 = {NEO_DL_FLOAT, 32, 1}, i32 = {NEO_DL_INT, 32, 1};

static neo_dl_tensor tensor(void *data, neo_dl_type type, int rank, int64_t *shape) {
  return (neo_dl_tensor){data, {NEO_DL_CPU, 0}, rank, type, shape, NULL, 0};
}

static void expect(neo_rt_ctx *ctx, neo_rt_status got, neo_rt_status want, const char *message) {
  assert_string_equal(neo_rt_error(ctx), message);
  assert_int_equal(got, want);
}

static void *view(neo_rt_ctx *ctx, int32_t tensor) {
  int64_t shape[16];
  neo_dl_tensor dl;
  assert_int_equal(neo_rt_view(ctx, tensor, &dl, shape), NEO_OK);
  return dl.data;
}

static int64_t w_shape[] = {4, 10};

static neo_rt_status bind(neo_rt_ctx *ctx, int32_t number, float *p) {
  neo_dl_tensor t = tensor(p, f32, 2, w_shape);
  return neo_rt_bind(ctx, number, &t);
}

/* ------------------------------------------------------------ overlaps */

static void an_input_in_the_store_of_what_the_entry_updates_is_refused(void **state) {
  fixture *f = *state;
  float *m = view(f->ctx, M);
  int64_t n = 2;
  void *args[] = {m, f->y, &f->loss, NULL};
  uint64_t before = toy_digest(f->ctx);
  expect(f->ctx, neo_rt_call(f->ctx, STEP, &n, args), NEO_ARGUMENT,
         "X: overlaps m, which this entry updates (toy.expr:2:7)");
  args[0] = m + 38; /* its last two elements, and what lies after them */
  expect(f->ctx, neo_rt_call(f->ctx, STEP, &n, args), NEO_ARGUMENT,
         "X: overlaps m, which this entry updates (toy.expr:2:7)");
  assert_int_equal(toy_digest(f->ctx), before);
  assert_int_equal(bind(f->ctx, W, f->own), NEO_OK);
  args[0] = f->own + 36;
  expect(f->ctx, neo_rt_call(f->ctx, STEP, &n, args), NEO_ARGUMENT,
         "X: overlaps W, which this entry updates (toy.expr:2:7)");
  args[0] = f->own + 40; /* beside it */
  assert_int_equal(neo_rt_call(f->ctx, STEP, &n, args), NEO_OK);
}

static void an_input_in_a_store_that_is_only_read_is_taken(void **state) {
  fixture *f = *state;
  int64_t n = 3;
  float *m = view(f->ctx, M), want[30], got[30], copy[40];
  for (int i = 0; i < 40; i++)
    m[i] = copy[i] = (float)i;
  void *args[] = {m, got}, *other[] = {copy, want};
  assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, other), NEO_OK);
  assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, args), NEO_OK);
  assert_memory_equal(got, want, sizeof want);
  memcpy(f->own, copy, sizeof copy);
  assert_int_equal(bind(f->ctx, M, f->own), NEO_OK);
  args[0] = f->own;
  assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, args), NEO_OK);
  assert_memory_equal(got, want, sizeof want);
}

static void inputs_may_share_their_memory(void **state) {
  fixture *f = *state;
  int64_t n = 4;
  float s = 0;
  memset(f->x, 0, sizeof f->x);
  void *args[] = {f->x, f->x + 1, f->x, &s};
  assert_int_equal(neo_rt_call(f->ctx, HALF, &n, args), NEO_OK);
}

static void an_output_in_the_memory_of_a_bound_parameter_is_refused(void **state) {
  fixture *f = *state;
  int64_t n = 2;
  void *args[] = {f->x, f->own + 36}, *early[] = {f->x, f->own + 64 - 19}, *apart[] = {f->x, f->l};
  assert_int_equal(bind(f->ctx, W, f->own), NEO_OK);
  expect(f->ctx, neo_rt_call(f->ctx, FORWARD, &n, args), NEO_ARGUMENT,
         "L: overlaps W, which is bound (toy.expr:12:1)");
  assert_int_equal(bind(f->ctx, M, f->own + 64), NEO_OK);
  expect(f->ctx, neo_rt_call(f->ctx, FORWARD, &n, early), NEO_ARGUMENT,
         "L: overlaps m, which is bound (toy.expr:12:1)");
  assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, apart), NEO_OK);
  assert_int_equal(neo_rt_bind(f->ctx, W, NULL), NEO_OK);
  assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, args), NEO_OK);
}

static void two_tensors_in_one_memory_are_refused(void **state) {
  fixture *f = *state;
  assert_int_equal(bind(f->ctx, W, f->own + 48), NEO_OK);
  expect(f->ctx, bind(f->ctx, M, f->own + 48), NEO_ARGUMENT,
         "m: overlaps W, which is bound (toy.expr:9:7)");
  expect(f->ctx, bind(f->ctx, M, f->own + 16), NEO_ARGUMENT,
         "m: overlaps W, which is bound (toy.expr:9:7)");
  expect(f->ctx, bind(f->ctx, M, f->own + 80), NEO_ARGUMENT,
         "m: overlaps W, which is bound (toy.expr:9:7)");
  assert_int_equal(bind(f->ctx, M, f->own + 96), NEO_OK);
  assert_int_equal(bind(f->ctx, LAST, f->own), NEO_OK);
  expect(f->ctx, bind(f->ctx, LAST, f->own + 112), NEO_ARGUMENT,
         "last: overlaps m, which is bound (toy.expr:11:7)");
  assert_int_equal(bind(f->ctx, W, f->own + 48), NEO_OK); /* where it is already */
  expect(f->ctx, bind(f->ctx, W, view(f->ctx, LAST)), NEO_ARGUMENT,
         "W: overlaps last, which is bound (toy.expr:8:7)");
}

static void a_tensor_in_the_store_of_another_is_refused(void **state) {
  fixture *f = *state;
  expect(f->ctx, bind(f->ctx, W, view(f->ctx, M)), NEO_ARGUMENT,
         "W: overlaps the context's own memory (toy.expr:8:7)");
}

static void what_the_context_works_in_is_no_input(void **state) {
  fixture *f = *state;
  int64_t n = 2, used = neo_rt_arena_size(&toy_model, 1);
  size_t bytes = ((size_t)used + 4096) / 64 * 64;
  float *arena = aligned_alloc(64, bytes);
  memset(arena, 0, bytes);
  neo_rt_config config = {.arena = arena, .arena_bytes = bytes, .threads = 1};
  neo_rt_ctx *c = NULL;
  assert_int_equal(neo_rt_create(&toy_model, &config, &c), NEO_OK);
  void *args[] = {arena + 512, f->l}, *after[] = {arena + used / 4 + 16, f->l};
  expect(c, neo_rt_call(c, FORWARD, &n, args), NEO_ARGUMENT,
         "X: overlaps the context's own memory (toy.expr:2:7)");
  assert_int_equal(neo_rt_call(c, FORWARD, &n, after), NEO_OK);
  neo_rt_destroy(c);
  free(arena);
}

/* ------------------------------------------------------------ values */

static void an_index_state_written_through_a_view_is_checked_in_every_call(void **state) {
  fixture *f = *state;
  int64_t n = 1;
  void *args[] = {f->x, f->l};
  int32_t *pick = view(f->ctx, PICK), seven = 7;
  *pick = 9;
  assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, args), NEO_OK);
  *pick = 10;
  expect(f->ctx, neo_rt_call(f->ctx, FORWARD, &n, args), NEO_RANGE,
         "pick: value 10 is not in [0, 10) (toy.expr:10:7)");
  assert_int_equal(neo_rt_set(f->ctx, PICK, &seven, sizeof seven), NEO_OK);
  assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, args), NEO_OK);
  *pick = -1;
  assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, args), NEO_RANGE);
  assert_int_equal(neo_rt_reset(f->ctx, 1), NEO_OK);
  assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, args), NEO_OK);
}

static void values_that_come_back_from_bound_memory_are_checked(void **state) {
  fixture *f = *state;
  static _Alignas(64) int32_t pick[1] = {4};
  int64_t n = 1;
  void *args[] = {f->x, f->l};
  neo_dl_tensor t = tensor(pick, i32, 0, NULL);
  assert_int_equal(neo_rt_bind(f->ctx, PICK, &t), NEO_OK);
  *pick = 77;
  expect(f->ctx, neo_rt_bind(f->ctx, PICK, NULL), NEO_RANGE,
         "pick: value 77 is not in [0, 10) (toy.expr:10:7)");
  *pick = 5; /* the memory is the caller's again */
  expect(f->ctx, neo_rt_call(f->ctx, FORWARD, &n, args), NEO_RANGE,
         "pick: value 77 is not in [0, 10) (toy.expr:10:7)");
  assert_int_equal(neo_rt_set(f->ctx, PICK, pick, sizeof *pick), NEO_OK);
  assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, args), NEO_OK);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      T(an_input_in_the_store_of_what_the_entry_updates_is_refused),
      T(an_input_in_a_store_that_is_only_read_is_taken),
      T(inputs_may_share_their_memory),
      T(an_output_in_the_memory_of_a_bound_parameter_is_refused),
      T(two_tensors_in_one_memory_are_refused),
      T(a_tensor_in_the_store_of_another_is_refused),
      T(what_the_context_works_in_is_no_input),
      T(an_index_state_written_through_a_view_is_checked_in_every_call),
      T(values_that_come_back_from_bound_memory_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

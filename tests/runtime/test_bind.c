/* DLPack tensors in and out; reading and writing by number and by name. */
#include "include/neo/dlpack.h"
#include "tests/runtime/toy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/status.h"

typedef struct {
  neo_rt_ctx *ctx;
  float x[256 * 4], l[256 * 10];
  int32_t y[256];
  int64_t shape[4];
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

static const neo_dl_type f32 = {NEO_DL_FLOAT, 32, 1}, i32 = {NEO_DL_INT, 32, 1};

static neo_dl_tensor tensor(void *data, neo_dl_type type, int rank, int64_t *shape) {
  return (neo_dl_tensor){data, {NEO_DL_CPU, 0}, rank, type, shape, NULL, 0};
}

static void expect(neo_rt_ctx *ctx, neo_rt_status got, neo_rt_status want, const char *message) {
  assert_string_equal(neo_rt_error(ctx), message);
  assert_int_equal(got, want);
}

static void bound_tensors_give_what_pointers_give(void **state) {
  fixture *f = *state;
  int64_t n = 5, x_shape[] = {5, 4}, l_shape[] = {5, 10};
  float want[50];
  void *args[] = {f->x, want};
  neo_dl_tensor x = tensor(f->x, f32, 2, x_shape), l = tensor(f->l, f32, 2, l_shape);
  int64_t strides[] = {4, 1};
  x.strides = strides;
  l.byte_offset = 80;
  assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, args), NEO_OK);
  assert_int_equal(neo_rt_bind(f->ctx, X, &x), NEO_OK);
  assert_int_equal(neo_rt_bind(f->ctx, L, &l), NEO_OK);
  assert_int_equal(neo_rt_run(f->ctx, FORWARD), NEO_OK);
  assert_memory_equal(want, f->l + 20, sizeof want);
  assert_int_equal(neo_rt_bind(f->ctx, L, NULL), NEO_OK); /* an output that nobody wants */
  assert_int_equal(neo_rt_run(f->ctx, FORWARD), NEO_OK);
  assert_int_equal(neo_rt_bind(f->ctx, X, NULL), NEO_OK);
  expect(f->ctx, neo_rt_run(f->ctx, FORWARD), NEO_NULL, "X: no tensor is bound (toy.expr:2:7)");
}

static void a_tensor_of_another_type_shape_or_layout_is_refused(void **state) {
  fixture *f = *state;
  int64_t shape[] = {5, 3, 1}, strides[] = {1, 5};
  neo_dl_tensor x = tensor(f->x, f32, 2, shape);
  expect(f->ctx, neo_rt_bind(f->ctx, X, &x), NEO_SHAPE, "X: dim 1 is 3, expected 4 (toy.expr:2:7)");
  shape[1] = 4;
  shape[0] = 300;
  expect(f->ctx, neo_rt_bind(f->ctx, X, &x), NEO_SHAPE,
         "X: dim 0 is 300, but B must be in [1, 256] (toy.expr:2:7)");
  shape[0] = 5;
  x.ndim = 3;
  expect(f->ctx, neo_rt_bind(f->ctx, X, &x), NEO_SHAPE, "X: rank is 3, expected 2 (toy.expr:2:7)");
  x.ndim = 2;
  x.strides = strides;
  expect(f->ctx, neo_rt_bind(f->ctx, X, &x), NEO_SHAPE,
         "X: stride of dim 1 is 5, expected 1: not contiguous and row-major (toy.expr:2:7)");
  x.strides = NULL;
  x.dtype = i32;
  expect(f->ctx, neo_rt_bind(f->ctx, X, &x), NEO_TYPE,
         "X: type is i32, expected f32 (toy.expr:2:7)");
  x.dtype = (neo_dl_type){NEO_DL_COMPLEX, 64, 1};
  expect(f->ctx, neo_rt_bind(f->ctx, X, &x), NEO_TYPE,
         "X: type is DLPack code 5 with 64 bits and 1 lanes, expected f32 (toy.expr:2:7)");
  x.dtype = f32;
  x.device.type = NEO_DL_CUDA;
  expect(f->ctx, neo_rt_bind(f->ctx, X, &x), NEO_UNSUPPORTED,
         "X: the tensor is on device type 2, expected the CPU (toy.expr:2:7)");
  x.device.type = NEO_DL_CPU;
  x.data = NULL;
  expect(f->ctx, neo_rt_bind(f->ctx, X, &x), NEO_NULL, "X: pointer is null (toy.expr:2:7)");
  x.data = f->x;
  x.shape = NULL;
  expect(f->ctx, neo_rt_bind(f->ctx, X, &x), NEO_NULL, "X: the shape is null (toy.expr:2:7)");
  expect(f->ctx, neo_rt_bind(f->ctx, 99, &x), NEO_NAME, "toy has no tensor 99");
}

static void sizes_of_bound_tensors_must_agree(void **state) {
  fixture *f = *state;
  int64_t x_shape[] = {64, 4}, y_shape[] = {32}, e_shape[] = {30};
  uint8_t flags[64] = {0};
  neo_dl_tensor x = tensor(f->x, f32, 2, x_shape), y = tensor(f->y, i32, 1, y_shape);
  neo_dl_tensor e = tensor(f->l, f32, 1, e_shape);
  neo_dl_tensor flag = tensor(flags, (neo_dl_type){NEO_DL_BOOL, 8, 1}, 1, x_shape);
  assert_int_equal(neo_rt_bind(f->ctx, X, &x), NEO_OK);
  assert_int_equal(neo_rt_bind(f->ctx, Y, &y), NEO_OK);
  expect(f->ctx, neo_rt_run(f->ctx, TEST), NEO_SHAPE,
         "Y: dim 0 is 32, but X has B = 64 (toy.expr:3:7)");
  assert_int_equal(neo_rt_bind(f->ctx, E, &e), NEO_OK);
  assert_int_equal(neo_rt_bind(f->ctx, F, &flag), NEO_OK);
  expect(f->ctx, neo_rt_run(f->ctx, HALF), NEO_SHAPE, "E: dim 0 is 30, expected 32 (toy.expr:4:7)");
  e_shape[0] = 32;
  assert_int_equal(neo_rt_bind(f->ctx, E, &e), NEO_OK);
  assert_int_equal(neo_rt_run(f->ctx, HALF), NEO_OK);
  f->y[9] = 10;
  y_shape[0] = 64;
  assert_int_equal(neo_rt_bind(f->ctx, Y, &y), NEO_OK);
  expect(f->ctx, neo_rt_run(f->ctx, TEST), NEO_RANGE,
         "Y[9]: value 10 is not in [0, 10) (toy.expr:3:7)");
}

static void an_empty_tensor_needs_no_memory(void **state) {
  fixture *f = *state;
  int64_t shape[] = {0};
  neo_dl_tensor v = tensor(NULL, f32, 1, shape);
  assert_int_equal(neo_rt_bind(f->ctx, V, &v), NEO_OK);
  assert_int_equal(neo_rt_run(f->ctx, COPY), NEO_OK);
}

static void a_bound_parameter_is_trained_in_the_callers_memory(void **state) {
  fixture *f = *state;
  static _Alignas(64) float w[40], moved[44];
  int64_t shape[] = {4, 10};
  neo_rt_ctx *other = toy_create(1, 1);
  assert_int_equal(neo_rt_get(f->ctx, W, w, sizeof w), NEO_OK);
  neo_dl_tensor t = tensor(w, f32, 2, shape);
  assert_int_equal(neo_rt_bind(f->ctx, W, &t), NEO_OK);
  toy_train(f->ctx, 0, 10);
  toy_train(other, 0, 10);
  float want[40];
  assert_int_equal(neo_rt_get(other, W, want, sizeof want), NEO_OK);
  assert_memory_equal(w, want, sizeof w);
  assert_int_equal(neo_rt_bind(f->ctx, W, NULL), NEO_OK); /* the values come back */
  memset(w, 0, sizeof w);
  assert_int_equal(toy_digest(f->ctx), toy_digest(other));
  t = tensor(moved + 4, f32, 2, shape);
  expect(f->ctx, neo_rt_bind(f->ctx, W, &t), NEO_ARGUMENT,
         "W: pointer is not aligned to 64 bytes (toy.expr:8:7)");
  neo_rt_destroy(other);
}

static void bound_index_states_are_checked_when_bound_and_at_every_call(void **state) {
  fixture *f = *state;
  static _Alignas(64) int32_t pick[1] = {10};
  neo_dl_tensor t = tensor(pick, i32, 0, NULL);
  expect(f->ctx, neo_rt_bind(f->ctx, PICK, &t), NEO_RANGE,
         "pick: value 10 is not in [0, 10) (toy.expr:10:7)");
  pick[0] = 4;
  assert_int_equal(neo_rt_bind(f->ctx, PICK, &t), NEO_OK);
  int64_t n = 1;
  void *args[] = {f->x, f->l};
  assert_int_equal(neo_rt_call(f->ctx, FORWARD, &n, args), NEO_OK);
  pick[0] = -5;
  expect(f->ctx, neo_rt_call(f->ctx, FORWARD, &n, args), NEO_RANGE,
         "pick: value -5 is not in [0, 10) (toy.expr:10:7)");
}

static void a_view_shows_and_changes_the_parameter(void **state) {
  fixture *f = *state;
  int64_t shape[16];
  float w[40];
  neo_dl_tensor t;
  assert_int_equal(neo_rt_view(f->ctx, W, &t, shape), NEO_OK);
  assert_true(t.ndim == 2 && shape[0] == 4 && shape[1] == 10 && t.dtype.code == NEO_DL_FLOAT);
  assert_true(t.strides[0] == 10 && t.strides[1] == 1);
  ((float *)t.data)[7] = 42;
  assert_int_equal(neo_rt_get(f->ctx, W, w, sizeof w), NEO_OK);
  assert_true(w[7] == 42);
  expect(f->ctx, neo_rt_view(f->ctx, X, &t, shape), NEO_ARGUMENT,
         "X: an input is not kept in the context (toy.expr:2:7)");
}

static void get_and_set_copy_exactly(void **state) {
  fixture *f = *state;
  float w[40], back[40];
  int32_t pick = 10;
  for (int i = 0; i < 40; i++)
    w[i] = (float)i;
  assert_int_equal(neo_rt_set(f->ctx, W, w, sizeof w), NEO_OK);
  assert_int_equal(neo_rt_get(f->ctx, W, back, sizeof back), NEO_OK);
  assert_memory_equal(w, back, sizeof w);
  expect(f->ctx, neo_rt_set(f->ctx, W, w, 80), NEO_SHAPE,
         "W: size is 80 bytes, expected 160 (toy.expr:8:7)");
  expect(f->ctx, neo_rt_get(f->ctx, W, NULL, 160), NEO_NULL, "W: pointer is null (toy.expr:8:7)");
  expect(f->ctx, neo_rt_set(f->ctx, PICK, &pick, 4), NEO_RANGE,
         "pick: value 10 is not in [0, 10) (toy.expr:10:7)");
  expect(f->ctx, neo_rt_get(f->ctx, -1, w, 4), NEO_NAME, "toy has no tensor -1");
}

static void settings_are_set_by_name(void **state) {
  fixture *f = *state;
  float lr;
  assert_int_equal(neo_rt_get(f->ctx, LR, &lr, sizeof lr), NEO_OK);
  assert_true(lr == 0.5f);
  assert_int_equal(neo_rt_set_scalar(f->ctx, "lr", 1e-4), NEO_OK);
  assert_int_equal(neo_rt_get(f->ctx, LR, &lr, sizeof lr), NEO_OK);
  assert_true(lr == 1e-4f);
  expect(f->ctx, neo_rt_set_scalar(f->ctx, "lrr", 1), NEO_NAME,
         "toy has no setting 'lrr'; did you mean 'lr'?");
  expect(f->ctx, neo_rt_set_scalar(f->ctx, "momentum", 1), NEO_NAME,
         "toy has no setting 'momentum'");
  expect(f->ctx, neo_rt_set_scalar(f->ctx, "W", 1), NEO_NAME,
         "W: is not a scalar setting, but parameter of rank 2 (toy.expr:8:7)");
  expect(f->ctx, neo_rt_set_scalar(f->ctx, NULL, 1), NEO_NULL, "the name of a setting is null");
}

static void a_setting_that_its_type_has_no_number_for_is_refused(void **state) {
  fixture *f = *state;
  float lr;
  expect(f->ctx, neo_rt_set_scalar(f->ctx, "lr", 1e39), NEO_RANGE,
         "lr: 9.9999999999999994e+38 is no f32 (toy.expr:7:7)");
  assert_int_equal(neo_rt_get(f->ctx, LR, &lr, sizeof lr), NEO_OK);
  assert_true(lr == 0.5f);
  assert_int_equal(neo_rt_set_scalar(f->ctx, "lr", INFINITY), NEO_OK);
}

static void names_are_found(void **state) {
  (void)state;
  assert_int_equal(neo_rt_find(&toy_model, "W"), W);
  assert_int_equal(neo_rt_find(&toy_model, "nothing"), -1);
  assert_int_equal(neo_rt_find(&toy_model, NULL), -1);
  assert_int_equal(neo_rt_find_entry(&toy_model, "step"), STEP);
  assert_int_equal(neo_rt_find_entry(&toy_model, "nothing"), -1);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      T(bound_tensors_give_what_pointers_give),
      T(a_tensor_of_another_type_shape_or_layout_is_refused),
      T(sizes_of_bound_tensors_must_agree),
      T(an_empty_tensor_needs_no_memory),
      T(a_bound_parameter_is_trained_in_the_callers_memory),
      T(bound_index_states_are_checked_when_bound_and_at_every_call),
      T(a_view_shows_and_changes_the_parameter),
      T(get_and_set_copy_exactly),
      T(settings_are_set_by_name),
      T(a_setting_that_its_type_has_no_number_for_is_refused),
      T(names_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

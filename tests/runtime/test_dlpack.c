/* include/neo/dlpack.h beside DLPack's own header, of which these are the names and the layout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13 } DLDeviceType;

typedef enum {
  kDLInt = 0U,
  kDLUInt = 1U,
  kDLFloat = 2U,
  kDLBfloat = 4U,
  kDLComplex = 5U,
  kDLBool = 6U
} DLDataTypeCode;

typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;

#include "include/neo/dlpack.h"

#define SAME(member)                                                             \
  assert_int_equal(offsetof(DLTensor, member), offsetof(neo_dl_tensor, member)); \
  assert_int_equal(sizeof((DLTensor){0}.member), sizeof((neo_dl_tensor){0}.member))

static void both_headers_say_the_same_layout(void **state) {
  (void)state;
  SAME(data);
  SAME(device);
  SAME(ndim);
  SAME(dtype);
  SAME(shape);
  SAME(strides);
  SAME(byte_offset);
  assert_int_equal(sizeof(DLTensor), sizeof(neo_dl_tensor));
}

static void a_tensor_of_dlpack_is_read_through_our_type(void **state) {
  (void)state;
  float x[6] = {0};
  int64_t shape[] = {2, 3}, strides[] = {3, 1};
  DLTensor theirs = {x, {kDLCUDAHost, 4}, 2, {kDLBfloat, 16, 1}, shape, strides, 8};
  neo_dl_tensor ours;
  memcpy(&ours, &theirs, sizeof ours);
  assert_ptr_equal(ours.data, x);
  assert_int_equal(ours.device.type, NEO_DL_CUDA_HOST);
  assert_int_equal(ours.device.id, 4);
  assert_int_equal(ours.ndim, 2);
  assert_int_equal(ours.dtype.code, NEO_DL_BFLOAT);
  assert_int_equal(ours.dtype.bits, 16);
  assert_int_equal(ours.dtype.lanes, 1);
  assert_ptr_equal(ours.shape, shape);
  assert_ptr_equal(ours.strides, strides);
  assert_int_equal(ours.byte_offset, 8);
}

static void numbers_are_dlpacks(void **state) {
  (void)state;
  assert_int_equal(NEO_DL_CPU, kDLCPU);
  assert_int_equal(NEO_DL_CUDA, kDLCUDA);
  assert_int_equal(NEO_DL_CUDA_HOST, kDLCUDAHost);
  assert_int_equal(NEO_DL_CUDA_MANAGED, kDLCUDAManaged);
  assert_int_equal(NEO_DL_INT, kDLInt);
  assert_int_equal(NEO_DL_UINT, kDLUInt);
  assert_int_equal(NEO_DL_FLOAT, kDLFloat);
  assert_int_equal(NEO_DL_BFLOAT, kDLBfloat);
  assert_int_equal(NEO_DL_COMPLEX, kDLComplex);
  assert_int_equal(NEO_DL_BOOL, kDLBool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_headers_say_the_same_layout),
      cmocka_unit_test(a_tensor_of_dlpack_is_read_through_our_type),
      cmocka_unit_test(numbers_are_dlpacks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

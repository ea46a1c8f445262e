/* Tensors of DLPack's layout (https://dmlc.github.io/dlpack/latest/c_api.html, version 1): how
 * array libraries hand tensors to each other in memory.
 *
 * The types have names of their own, so a program may include DLPack's header as well, before or
 * after this one. A `DLTensor *` of that header, or of a library that has one, is passed on as
 * `(neo_dl_tensor *)t`: both have the same members in the same places, of the same values. */
#ifndef NEO_DLPACK_H
#define NEO_DLPACK_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of memory; libraries know more devices than these. */
enum {
  NEO_DL_CPU = 1,
  NEO_DL_CUDA = 2,      /* `data` is an address of the device */
  NEO_DL_CUDA_HOST = 3, /* pinned memory of the host */
  NEO_DL_CUDA_MANAGED = 13
};

/* Kinds of elements. */
enum {
  NEO_DL_INT = 0,
  NEO_DL_UINT = 1,
  NEO_DL_FLOAT = 2,
  NEO_DL_BFLOAT = 4,
  NEO_DL_COMPLEX = 5,
  NEO_DL_BOOL = 6 /* a byte each: 0 or 1 */
};

typedef struct {
  int32_t type; /* NEO_DL_CPU, ... */
  int32_t id;   /* number of the device; 0 for the host */
} neo_dl_device;

typedef struct {
  uint8_t code;   /* NEO_DL_INT, ... */
  uint8_t bits;   /* bits of an element: 32 for f32 */
  uint16_t lanes; /* 1: elements are no vectors */
} neo_dl_type;

/* It owns nothing: neither the elements nor the two arrays of `ndim` numbers. */
typedef struct neo_dl_tensor {
  void *data; /* the first element is byte_offset after it */
  neo_dl_device device;
  int32_t ndim;
  neo_dl_type dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; null: row-major without gaps */
  uint64_t byte_offset;
} neo_dl_tensor;

#ifdef __cplusplus
}
#endif
#endif

/* element.c: types of elements, and tests of single elements and of all elements.
 *
 * A scan looks at blocks without a branch (an unsigned comparison covers both ends of the range),
 * which vectorises; only a bad block is searched for its first bad element. */
#include "runtime/element.h"

typedef struct {
  const char *name;
  uint8_t bytes;
  bool is_int;
} type_info;
static const type_info types[] = {
    [NEO_RT_F64] = {"f64", 8, false},      [NEO_RT_F32] = {"f32", 4, false},
    [NEO_RT_F16] = {"f16", 2, false},      [NEO_RT_BF16] = {"bf16", 2, false},
    [NEO_RT_I64] = {"i64", 8, true},       [NEO_RT_I32] = {"i32", 4, true},
    [NEO_RT_I8] = {"i8", 1, true},         [NEO_RT_U8] = {"u8", 1, true},
    [NEO_RT_BOOL] = {"bool", 1, false},    [NEO_RTI_FILE_I16] = {"i16", 2, true},
    [NEO_RTI_FILE_U16] = {"u16", 2, true}, [NEO_RTI_FILE_U32] = {"u32", 4, true},
    [NEO_RTI_FILE_U64] = {"u64", 8, true}};
enum { N_TYPES = NEO_RT_BOOL + 1 };

size_t neo_rti_type_bytes(uint8_t type) {
  return type < N_TYPES ? types[type].bytes : 0;
}
const char *neo_rti_type_name(uint8_t type) {
  return type < N_TYPES ? types[type].name : "?";
}
bool neo_rti_type_is_int(uint8_t type) {
  return type < N_TYPES && types[type].is_int;
}

size_t neo_rti_file_type_bytes(uint8_t type) {
  return type < NEO_RTI_N_FILE_TYPES ? types[type].bytes : 0;
}
const char *neo_rti_file_type_name(uint8_t type) {
  return type < NEO_RTI_N_FILE_TYPES ? types[type].name : "?";
}

/* ------------------------------------------------------------ integers */

enum { BLOCK = 2048 };

#define SCAN(name, T)                                   \
  static int64_t name(const T *p, int64_t n, T bound) { \
    for (int64_t at = 0; at < n; at += BLOCK) {         \
      int64_t end = n - at < BLOCK ? n : at + BLOCK;    \
      unsigned bad = 0;                                 \
      for (int64_t i = at; i < end; i++)                \
        bad |= p[i] >= bound;                           \
      for (int64_t i = at; bad && i < end; i++)         \
        if (p[i] >= bound)                              \
          return i;                                     \
    }                                                   \
    return -1;                                          \
  }
SCAN(scan_64, uint64_t)
SCAN(scan_32, uint32_t)
SCAN(scan_8, uint8_t)

/* The smaller bound: as unsigned numbers negative ones are large, so bounds end at the sign bit. */
static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

int64_t neo_rti_scan(uint8_t type, const void *p, int64_t n, int64_t bound) {
  if (bound < 0)
    bound = 0;
  switch (type) {
  case NEO_RT_I64:
    return scan_64(p, n, (uint64_t)bound);
  case NEO_RT_I32:
    return scan_32(p, n, (uint32_t)least(bound, INT64_C(1) << 31));
  case NEO_RT_I8:
    return scan_8(p, n, (uint8_t)least(bound, 128));
  case NEO_RT_U8:
    return bound > 255 ? -1 : scan_8(p, n, (uint8_t)bound);
  case NEO_RT_BOOL:
    return scan_8(p, n, 2);
  default:
    return -1;
  }
}

int64_t neo_rti_int_at(uint8_t type, const void *p, int64_t i) {
  switch (type) {
  case NEO_RT_I64:
    return ((const int64_t *)p)[i];
  case NEO_RT_I32:
    return ((const int32_t *)p)[i];
  case NEO_RT_I8:
    return ((const int8_t *)p)[i];
  default:
    return ((const uint8_t *)p)[i];
  }
}

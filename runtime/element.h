/* element.h: the elements of tensors and arrays: types, values, conversions.
 *
 * A type is a number of enum neo_rt_type. Files have more types (enum neo_rti_file_type), which no
 * tensor of a model has. Elements are laid out as in C: aligned, in the machine's byte order. */
#pragma once
#include "include/neo/neo_rt.h"
#include <stdbool.h>

enum { NEO_RTI_MAX_RANK = 16 };

size_t neo_rti_type_bytes(uint8_t type); /* 0 for an unknown type */
/* The name of a type ("f32"), or "?". Constant text. */
const char *neo_rti_type_name(uint8_t type);
/* Whether the type is i64, i32, i8 or u8. */
bool neo_rti_type_is_int(uint8_t type);

/* Types that only files have, after those of enum neo_rt_type. */
enum neo_rti_file_type {
  NEO_RTI_FILE_I16 = NEO_RT_BOOL + 1,
  NEO_RTI_FILE_U16,
  NEO_RTI_FILE_U32,
  NEO_RTI_FILE_U64,
  NEO_RTI_N_FILE_TYPES
};
/* The same for all types in files. */
size_t neo_rti_file_type_bytes(uint8_t type);
/* The same for all types in files. Constant text. */
const char *neo_rti_file_type_name(uint8_t type);

/* Element i of n at p, of an integer type or bool. */
int64_t neo_rti_int_at(uint8_t type, const void *p, int64_t i);
/* The index of the first of n elements outside of [0, bound), or -1. For integers of all types; the
 * bound of a bool is always 2; floats have none. */
int64_t neo_rti_scan(uint8_t type, const void *p, int64_t n, int64_t bound);

/* Converts n elements. Between floats: to nearest, ties to even; float to integer truncates and
 * saturates, NaN gives 0; integers wrap; to bool: "not zero". */
void neo_rti_convert(uint8_t from, const void *src, uint8_t to, void *dst, int64_t n);
/* Conversions between f64 and the bits of f16 and bf16, to nearest, ties to even. */
uint16_t neo_rti_f16_of(double x);
double neo_rti_f16_to(uint16_t h);
uint16_t neo_rti_bf16_of(double x);
double neo_rti_bf16_to(uint16_t h);

/* a*b for non-negative sizes; false if it overflows int64. */
static inline bool neo_rti_mul(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}

/* convert.c: conversions of elements, as in the language: to nearest even between floats (f16 and
 * bf16 directly from the wide value, never through f32, which would round twice); float to integer
 * truncates and saturates, NaN gives 0; integers wrap; to bool is "not zero".
 *
 * Every element goes through one of two types that hold any element exactly: double or int64. */
#include "base/float_mode.h"
#include "runtime/element.h"
#include <math.h>
#include <string.h>

static uint64_t bits_of(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

/* x >> n, the bits shifted out deciding the rounding: to nearest, ties to even. */
static uint64_t shift_rounded(uint64_t x, int n) {
  uint64_t half = UINT64_C(1) << (n - 1), out = x >> n, rest = x & (half * 2 - 1);
  return out + (rest > half || (rest == half && (out & 1)));
}

/* Converts to a 16-bit IEEE format with `frac` fraction bits and exponents from 1 - bias. A carry
 * out of the fraction increments the exponent, which is right, up to infinity. */
static uint16_t narrow(double x, int frac, int bias) {
  uint64_t u = bits_of(x), fraction = u & ((UINT64_C(1) << 52) - 1);
  int exponent = (int)(u >> 52 & 0x7ff);
  uint16_t sign = (uint16_t)(u >> 63 << 15), inf = (uint16_t)((2u * (unsigned)bias + 1) << frac);
  if (exponent == 0x7ff)
    return (uint16_t)(sign | inf | (fraction ? 1u << (frac - 1) | fraction >> (52 - frac) : 0));
  int e = exponent - 1023 + bias; /* in the small format */
  if (e >= 2 * bias + 1)
    return sign | inf;
  if (e < -frac - 1 || exponent == 0)
    return sign;
  uint64_t full = fraction | UINT64_C(1) << 52, out;
  if (e > 0)
    out = shift_rounded(full, 52 - frac) + ((uint64_t)(e - 1) << frac);
  else
    out = shift_rounded(full, 52 - frac + 1 - e);
  return (uint16_t)(sign | out);
}

static double widen(uint16_t h, int frac, int bias) {
  int e = (h & 0x7fff) >> frac, fraction = h & ((1 << frac) - 1);
  double x;
  if (e == 2 * bias + 1)
    x = fraction ? (double)NAN : (double)INFINITY;
  else if (e == 0)
    x = ldexp(fraction, 1 - bias - frac);
  else
    x = ldexp(fraction + (1 << frac), e - bias - frac);
  return h & 0x8000 ? -x : x;
}

uint16_t neo_rti_f16_of(double x) {
  return narrow(x, 10, 15);
}
double neo_rti_f16_to(uint16_t h) {
  return widen(h, 10, 15);
}
uint16_t neo_rti_bf16_of(double x) {
  return narrow(x, 7, 127);
}
double neo_rti_bf16_to(uint16_t h) {
  return widen(h, 7, 127);
}

/* ------------------------------------------------------------ elements */

static bool is_float(uint8_t type) {
  return type <= NEO_RT_BF16;
}

static double load_float(uint8_t type, const void *p, int64_t i) {
  switch (type) {
  case NEO_RT_F64:
    return ((const double *)p)[i];
  case NEO_RT_F32:
    return (double)((const float *)p)[i];
  case NEO_RT_F16:
    return neo_rti_f16_to(((const uint16_t *)p)[i]);
  default:
    return neo_rti_bf16_to(((const uint16_t *)p)[i]);
  }
}

static void store_float(uint8_t type, void *p, int64_t i, double x) {
  switch (type) {
  case NEO_RT_F64:
    ((double *)p)[i] = x;
    break;
  case NEO_RT_F32:
    ((float *)p)[i] = (float)x;
    break;
  case NEO_RT_F16:
    ((uint16_t *)p)[i] = neo_rti_f16_of(x);
    break;
  default:
    ((uint16_t *)p)[i] = neo_rti_bf16_of(x);
    break;
  }
}

static void store_int(uint8_t type, void *p, int64_t i, int64_t x) {
  switch (type) {
  case NEO_RT_I64:
    ((int64_t *)p)[i] = x;
    break;
  case NEO_RT_I32:
    ((int32_t *)p)[i] = (int32_t)(uint32_t)(uint64_t)x;
    break;
  case NEO_RT_I8:
    ((int8_t *)p)[i] = (int8_t)(uint8_t)(uint64_t)x;
    break;
  case NEO_RT_U8:
    ((uint8_t *)p)[i] = (uint8_t)(uint64_t)x;
    break;
  default:
    ((uint8_t *)p)[i] = x != 0;
    break;
  }
}

static int64_t saturate(double x, uint8_t type) {
  double lo = 0, hi = 255;
  if (isnan(x))
    return 0;
  if (type == NEO_RT_I64) {
    if (x >= 0x1p63)
      return INT64_MAX;
    return x < -0x1p63 ? INT64_MIN : (int64_t)x;
  }
  if (type == NEO_RT_I32)
    lo = -0x1p31, hi = 0x1p31 - 1;
  if (type == NEO_RT_I8)
    lo = -128, hi = 127;
  return (int64_t)(x < lo ? lo : x > hi ? hi : x);
}

/* An int64 that double cannot hold, rounded to odd towards zero: the next rounding then has the
 * result that all bits would give. */
static double sticky_double(int64_t x) {
  uint64_t m = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
  int drop = m >> 53 ? 64 - 53 - __builtin_clzll(m) : 0;
  uint64_t rounded = m >> drop << drop;
  if (rounded != m)
    rounded |= UINT64_C(1) << drop;
  return x < 0 ? -(double)rounded : (double)rounded;
}

static void convert_int(uint8_t to, void *dst, int64_t i, int64_t x) {
  if (to == NEO_RT_F64)
    ((double *)dst)[i] = (double)x;
  else if (is_float(to))
    store_float(to, dst, i, sticky_double(x));
  else
    store_int(to, dst, i, x);
}

static void convert_float(uint8_t to, void *dst, int64_t i, double x) {
  if (is_float(to))
    store_float(to, dst, i, x);
  else if (to == NEO_RT_BOOL)
    ((uint8_t *)dst)[i] = x != 0;
  else
    store_int(to, dst, i, saturate(x, to));
}

void neo_rti_convert(uint8_t from, const void *src, uint8_t to, void *dst, int64_t n) {
  if (from == to) {
    if (n > 0)
      memcpy(dst, src, (size_t)n * neo_rti_type_bytes(from));
    return;
  }
  neo_float_mode before = neo_float_mode_enter();
  for (int64_t i = 0; i < n; i++)
    if (is_float(from))
      convert_float(to, dst, i, load_float(from, src, i));
    else
      convert_int(to, dst, i, neo_rti_int_at(from, src, i));
  neo_float_mode_leave(before);
}

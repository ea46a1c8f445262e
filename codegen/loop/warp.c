/* The reference of what a warp's threads do together (warp.h says what that is). */
#include "codegen/loop/warp.h"
#include "ir/ir.h"
#include <math.h>
#include <string.h>

const neo_warp_row neo_warp_rows[NEO_WARP_OPS] = {
#define X(name, text, sm, memory, type, cells, intrinsic, older, meaning) \
  {text, intrinsic, older, sm, cells, memory, {NEO_F32_T, type, type}},
#include "codegen/loop/warp.def"
#undef X
};

const uint8_t neo_warp_elements[3] = {NEO_WARP_C, NEO_WARP_A, NEO_WARP_B};

/* ---- products */

static double number(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return (double)x;
}

static double half(uint32_t bits) {
  int exponent = (int)(bits >> 10 & 31);
  double fraction = (double)(bits & 0x3ff), size;
  if (exponent == 31)
    size = fraction > 0 ? (double)NAN : (double)INFINITY;
  else
    size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
  return bits & 0x8000 ? -size : size;
}

/* Cells of a row of a and a column of b, multiplied. */
static double product(neo_warp_op op, uint32_t a, uint32_t b) {
  const uint32_t tf32 = 0xffffe000U, high = 0xffff0000U;
  if (op == NEO_WARP_TF32)
    return number(a & tf32) * number(b & tf32);
  if (op == NEO_WARP_F16)
    return half(a & 0xffff) * half(b & 0xffff) + half(a >> 16) * half(b >> 16);
  return number(a << 16) * number(b << 16) + number(a & high) * number(b & high);
}

void neo_warp_product(neo_warp_op op, int lane, const uint32_t *const *a,
                      const uint32_t *const *b, float *c) {
  for (int e = 0; e < NEO_WARP_C; e++) {
    int row = lane / 4 + 8 * (e / 2), column = 2 * (lane % 4) + e % 2;
    double sum = (double)c[e];
    for (int k = 0; k < NEO_WARP_CELLS; k++)
      sum += product(op, a[row % 8 * 4 + k % 4][row / 8 + k / 4 * 2], b[column * 4 + k % 4][k / 4]);
    c[e] = (float)sum;
  }
}

/* ---- matrices from memory */

void neo_warp_read(neo_warp_op op, int lane, const void *const *row, uint32_t *cells) {
  const neo_warp_row *r = &neo_warp_rows[op];
  int g = lane / 4, q = lane % 4;
  for (uint32_t m = 0; m < r->cells; m++) {
    const void *const *at = row + NEO_WARP_MATRIX * m;
    uint16_t pair[2];
    if (r->memory == 't') {
      for (int i = 0; i < 2; i++)
        memcpy(&pair[i], (const char *)at[2 * q + i] + sizeof *pair * (size_t)g, sizeof *pair);
      cells[m] = (uint32_t)pair[0] | (uint32_t)pair[1] << 16;
    } else {
      memcpy(&cells[m], (const char *)at[g] + sizeof *cells * (size_t)q, sizeof *cells);
    }
  }
}

int neo_shuffle_source(neo_shuffle what, int t, int n, int of) {
  if (what == NEO_SHUFFLE_FIRST)
    return t - t % of + t % n;
  return t % of + n < of ? t + n : t;
}

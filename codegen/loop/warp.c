/* The reference of the operations of a warp's threads (warp.h defines them). */
#include "codegen/loop/warp.h"
#include "ir/ir.h"
#include <math.h>
#include <string.h>

const neo_mma_row neo_mma_rows[NEO_MMA_OPS] = {
#define X(name, text, sm, type, intrinsic, older, meaning) \
  {text, intrinsic, older, sm, {NEO_F32_T, type, type}},
#include "codegen/loop/mma.def"
#undef X
};

const neo_ldmatrix_row neo_ldmatrix_rows[NEO_LDMATRIX_OPS] = {
#define X(name, text, cells, transposed, intrinsic, meaning) {text, intrinsic, cells, transposed},
#include "codegen/loop/ldmatrix.def"
#undef X
};

const uint8_t neo_mma_elements[3] = {NEO_MMA_C, NEO_MMA_A, NEO_MMA_B};

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
static double product(neo_mma_op op, uint32_t a, uint32_t b) {
  const uint32_t tf32 = 0xffffe000U, high = 0xffff0000U;
  if (op == NEO_MMA_TF32)
    return number(a & tf32) * number(b & tf32);
  if (op == NEO_MMA_F16)
    return half(a & 0xffff) * half(b & 0xffff) + half(a >> 16) * half(b >> 16);
  return number(a << 16) * number(b << 16) + number(a & high) * number(b & high);
}

void neo_mma_product(neo_mma_op op, int lane, const uint32_t *const *a, const uint32_t *const *b,
                     float *c) {
  for (int e = 0; e < NEO_MMA_C; e++) {
    int row = lane / 4 + 8 * (e / 2), column = 2 * (lane % 4) + e % 2;
    double sum = (double)c[e];
    for (int k = 0; k < NEO_MMA_CELLS; k++)
      sum += product(op, a[row % 8 * 4 + k % 4][row / 8 + k / 4 * 2], b[column * 4 + k % 4][k / 4]);
    c[e] = (float)sum;
  }
}

/* ---- matrices from memory */

void neo_ldmatrix_read(neo_ldmatrix_op op, int lane, const void *const *row, uint32_t *cells) {
  const neo_ldmatrix_row *r = &neo_ldmatrix_rows[op];
  int g = lane / 4, q = lane % 4;
  for (uint32_t m = 0; m < r->cells; m++) {
    const void *const *at = row + NEO_LDMATRIX_ROWS * m;
    uint16_t pair[2];
    if (r->transposed) {
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

/* The reference of the products of a warp (warp.h says what they are). */
#include "codegen/warp.h"
#include "ir/ir.h"
#include <string.h>

const neo_warp_row neo_warp_rows[NEO_WARP_OPS] = {
#define X(name, text, sm, a, b, cells, intrinsic, meaning) \
  {text, intrinsic, sm, {NEO_F32_T, a, b}},
#include "codegen/warp.def"
#undef X
};

const uint8_t neo_warp_elements[3] = {NEO_WARP_C, NEO_WARP_A, NEO_WARP_B};

static double number(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return (double)x;
}

/* Cells of a row of a and a column of b, multiplied. */
static double product(neo_warp_op op, uint32_t a, uint32_t b) {
  const uint32_t tf32 = 0xffffe000U, high = 0xffff0000U;
  if (op == NEO_WARP_TF32)
    return number(a & tf32) * number(b & tf32);
  return number(a << 16) * number(b << 16) + number(a & high) * number(b & high);
}

void neo_warp_product(neo_warp_op op, int lane, const uint32_t *const *a,
                      const uint32_t *const *b, float *c) {
  for (int e = 0; e < NEO_WARP_C; e++) {
    int row = lane / 4 + 8 * (e / 2), column = 2 * (lane % 4) + e % 2;
    double sum = (double)c[e];
    for (int k = 0; k < NEO_WARP_STEPS; k++)
      sum += product(op, a[row % 8 * 4 + k % 4][row / 8 + k / 4 * 2], b[column * 4 + k % 4][k / 4]);
    c[e] = (float)sum;
  }
}

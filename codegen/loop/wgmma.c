/* The reference of the products of a warpgroup (wgmma.h defines them). It finds factors by their
 * descriptors, as the instruction does, so that the code which wrote the factors has to agree with
 * the descriptors. */
#include "codegen/loop/wgmma.h"
#include <math.h>
#include <string.h>

const neo_wgmma_row neo_wgmma_rows[NEO_WGMMA_OPS] = {
#define X(name, text, cell, steps, ptx, transposes) {text, cell, steps, ptx, transposes},
#include "codegen/loop/wgmma.def"
#undef X
};

enum { UNIT = 16, FIELD = 0x3fff, LEADING = 16, STRIDE = 32, BASE = 49, MODE = 62, ROWS_128 = 1 };

uint64_t neo_wgmma_descriptor(bool transposed) {
  const uint64_t stride = 8 * NEO_WGMMA_BYTES / UNIT;
  const uint64_t leading = transposed ? NEO_WGMMA_SIDE * NEO_WGMMA_BYTES / UNIT : 1;
  return (uint64_t)ROWS_128 << MODE | stride << STRIDE | leading << LEADING;
}

int64_t neo_wgmma_next(neo_wgmma_op op, bool transposed) {
  return transposed ? neo_wgmma_rows[op].steps * NEO_WGMMA_BYTES : NEO_WGMMA_STEP_BYTES;
}

static uint32_t field(uint64_t descriptor, int from) {
  return (uint32_t)(descriptor >> from & FIELD) * UNIT;
}

uint32_t neo_wgmma_place(uint64_t d, int row, int byte) {
  uint32_t start = field(d, 0), mode = (uint32_t)(d >> MODE), base = (uint32_t)(d >> BASE & 7);
  uint32_t r = (uint32_t)row % 8, b = (uint32_t)byte, group = (uint32_t)row / 8;
  start += group * field(d, STRIDE);
  if (!mode)
    return start + b / UNIT * field(d, LEADING) + r * UNIT + b % UNIT;
  uint32_t bytes = 256U >> mode, pieces = bytes / UNIT;
  uint32_t at = start + r * bytes + b;
  return at ^ ((at >> 7) + base) % pieces * UNIT;
}

uint32_t neo_wgmma_place_transposed(uint64_t d, int row, int step) {
  enum { SIDE = NEO_WGMMA_SIDE, BYTES = NEO_WGMMA_BYTES, CELL = BYTES / SIDE };
  uint32_t r = (uint32_t)row, k = (uint32_t)step, base = (uint32_t)(d >> BASE & 7);
  uint32_t at = field(d, 0) + r / SIDE * field(d, LEADING) + k / 8 * field(d, STRIDE);
  at += k % 8 * BYTES + r % SIDE * CELL;
  return at ^ ((at >> 7) + base) % 8 * UNIT;
}

double neo_wgmma_number(neo_wgmma_op op, uint32_t bits) {
  float x;
  if (op == NEO_WGMMA_F16) {
    int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    double y = exponent == 31 ? (fraction ? NAN : INFINITY)
               : exponent     ? ldexp(1024 + fraction, exponent - 25)
                              : ldexp(fraction, -24);
    return bits >> 15 & 1 ? -y : y;
  }
  bits = op == NEO_WGMMA_BF16 ? bits << 16 : bits & 0xffffe000U;
  memcpy(&x, &bits, sizeof x);
  return (double)x;
}

typedef double steps_of[NEO_WGMMA_STEP_BYTES / 2];

static void read_steps(const neo_wgmma_product *x, int factor, int row, neo_wgmma_read *read,
                       void *ctx, double *out) {
  uint64_t d = x->factor[factor];
  int steps = neo_wgmma_rows[x->op].steps, bytes = NEO_WGMMA_STEP_BYTES / steps;
  for (int k = 0; k < steps; k++)
    out[k] = read(ctx, factor,
                  x->transposed >> factor & 1 ? neo_wgmma_place_transposed(d, row, k)
                                              : neo_wgmma_place(d, row, k * bytes));
}

void neo_wgmma_multiply(const neo_wgmma_product *x, int thread, neo_wgmma_read *read, void *ctx,
                        float *c) {
  steps_of a[2], b;
  int row = 16 * (thread / 32) + thread % 32 / 4, column = 2 * (thread % 4);
  for (int down = 0; down < 2; down++)
    read_steps(x, 0, row + 8 * down, read, ctx, a[down]);
  for (int i = 0; i < x->columns / 4; i++) {
    read_steps(x, 1, column + 8 * (i / 2) + i % 2, read, ctx, b);
    for (int down = 0; down < 2; down++) {
      float *to = &c[4 * (i / 2) + 2 * down + i % 2];
      double sum = (double)*to;
      for (int k = 0; k < neo_wgmma_rows[x->op].steps; k++)
        sum += a[down][k] * b[k];
      *to = (float)sum;
    }
  }
}

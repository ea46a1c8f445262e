/* The reference of products of pairs (codegen/loop/tile.h defines them). */
#include "codegen/loop/tile.h"
#include <float.h>
#include <math.h>
#include <string.h>

const neo_tile_row neo_tile_rows[NEO_TILE_OPS] = {
#define X(name, text, registers, memory, meaning) {text, registers, memory},
#include "codegen/loop/tile.def"
#undef X
};

static float flushed(float x) {
  return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

static float number(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return flushed(x);
}

static float low(uint32_t cell) {
  return number(cell << 16);
}

static float high(uint32_t cell) {
  return number(cell & 0xffff0000U);
}

void neo_tile_dot(neo_tile *c, const neo_tile *a, const neo_tile *b) {
  for (int m = 0; m < NEO_TILE_ROWS; m++)
    for (int n = 0; n < NEO_TILE_CELLS; n++) {
      float first = 0, second = 0;
      for (int k = 0; k < NEO_TILE_CELLS; k++) {
        first = flushed(fmaf(low(a->at[m][k]), low(b->at[k][n]), first));
        second = flushed(fmaf(high(a->at[m][k]), high(b->at[k][n]), second));
      }
      float y = flushed(number(c->at[m][n]) + flushed(first + second));
      memcpy(&c->at[m][n], &y, sizeof y);
    }
}

float neo_pair_dot(float c, uint32_t a, uint32_t b) {
  float second = flushed(fmaf(high(a), high(b), flushed(c)));
  return flushed(fmaf(low(a), low(b), second));
}

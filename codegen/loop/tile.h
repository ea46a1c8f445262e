/* Products of pairs of bf16, as every part of the compiler understands them: the matrix unit's
 * (tile.def lists the operations), and one of vectors.
 *
 * Cells are 32 bits. In the factors a cell is two numbers of bf16, the first in the low half. As
 * the hardware (TDPBF16PS) does it: the first numbers of all pairs are multiplied and summed in
 * f32, each step in one rounding, the second ones likewise; then both sums are added, and that to
 * the cell of c. Rounding is to nearest even; denormal numbers count as zero, going in and coming
 * out.
 *
 * A dot of vectors (VDPBF16PS) multiplies pairs lane by lane: c + second * second in one rounding,
 * then that + first * first in another, denormal numbers as above. */
#pragma once
#include <stdint.h>

enum { NEO_TILE_COUNT = 8, NEO_TILE_ROWS = 16, NEO_TILE_CELLS = 16 };

typedef enum {
#define X(name, text, registers, memory, meaning) NEO_TILE_##name,
#include "codegen/loop/tile.def"
#undef X
  NEO_TILE_OPS
} neo_tile_op;

typedef struct {
  const char *text;
  uint8_t registers;
  char memory;
} neo_tile_row;
extern const neo_tile_row neo_tile_rows[NEO_TILE_OPS];

typedef struct {
  uint32_t at[NEO_TILE_ROWS][NEO_TILE_CELLS];
} neo_tile;

/* The references: c += a . b of tiles of pairs of bf16, and c plus the dot product of two pairs. */
void neo_tile_dot(neo_tile *c, const neo_tile *a, const neo_tile *b);
float neo_pair_dot(float c, uint32_t a, uint32_t b);

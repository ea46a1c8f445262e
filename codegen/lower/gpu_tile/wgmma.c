/* Layout of warpgroups' operands (codegen/loop/wgmma.h) in shared memory, and the products.
 *
 * A row's BLOCK_K steps are 128 bytes in the 128-byte swizzle, which permutes pieces of 16 bytes. A
 * copy along the steps writes a piece; eight threads write a row, without bank conflicts. A copy
 * along rows does the same if the operand may be transposed: with 2-byte elements, by 64 rows.
 * Otherwise it writes single elements (lower/gpu_tile/copy.c has their order). */
#include "codegen/lower/gpu_tile/tile.h"

enum { PIECE = NEO_WGMMA_PIECE_BYTES, PIECES = NEO_WGMMA_BYTES / PIECE };

/* a ^ b of numbers below PIECES, bit by bit: the loop IR has no exclusive or. */
static const neo_lx *exclusive(lowering *l, const neo_lx *a, const neo_lx *b) {
  const neo_lx *y = lx_int(l, 0), *two = lx_int(l, 2);
  for (int64_t bit = 1; bit < PIECES; bit *= 2)
    y = lx_add(l, y,
               lx_mul(l, lx_mod(l, lx_add(l, lx_div(l, a, bit), lx_div(l, b, bit)), two), bit));
  return y;
}

/* The place of element `at` of line `line`, in a matrix of lines of 128 bytes. */
static const neo_lx *place_in_lines(block_tile *x, const neo_lx *line, const neo_lx *at) {
  lowering *l = x->p.l;
  int64_t piece = x->p.block_k / PIECES;
  const neo_lx *p = exclusive(l, lx_div(l, at, piece), lx_mod(l, line, lx_int(l, PIECES)));
  const neo_lx *first = lx_add(l, lx_mul(l, line, x->p.block_k), lx_mul(l, p, piece));
  return lx_add(l, first, lx_mod(l, at, lx_int(l, piece)));
}

const neo_lx *neo_btile_swizzled_at(block_tile *x, const operand *o, const neo_lx *row,
                                    const neo_lx *step) {
  enum { SIDE = NEO_WGMMA_SIDE };
  lowering *l = x->p.l;
  if (!o->transposed)
    return place_in_lines(x, row, step);
  const neo_lx *line = lx_add(l, lx_mul(l, lx_div(l, row, SIDE), SIDE), step);
  return place_in_lines(x, line, lx_mod(l, row, lx_int(l, SIDE)));
}

void neo_btile_multiply_by_groups(block_tile *x, neo_block *in, const uint32_t *buf,
                                  const neo_lx *const *start) {
  static const neo_wgmma_op op[] = {[NEO_WARPS_TF32] = NEO_WGMMA_TF32,
                                    [NEO_WARPS_BF16] = NEO_WGMMA_BF16,
                                    [NEO_WARPS_F16] = NEO_WGMMA_F16};
  neo_ls_wgmma(x->p.l->k, in, op[x->p.warps], x->p.acc, buf, start,
               (const bool[]){x->p.o[0].transposed, x->p.o[1].transposed},
               x->p.o[1].block / x->p.o[1].tile);
}

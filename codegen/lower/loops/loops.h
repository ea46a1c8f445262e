/* Loops over the shared axes with lanes and a register tile: the strategies loops, tile, pairs,
 * segment and scan, which share schedule->loops.
 *
 *   loops.c          leading loops, units of work, blocks of rows and columns
 *   steps.c          blocks of the reduction, with the copies of operands around them
 *   block.c          a block as register tiles: full ones, remainders
 *   stages.c         the stages of a form at one tile
 *   prefetch_tile.c  lines that the next tile reads
 *   prefetch_rows.c  elements of the next row
 *
 * Private to codegen/lower. */
#ifndef NEO_CODEGEN_LOWER_LOOPS_H
#define NEO_CODEGEN_LOWER_LOOPS_H
#include "codegen/lower/common/scope.h"

/* The whole kernel. */
void neo_lower_loops(lowering *l);

/* ---- lower/loops/steps.c */
/* Makes the packs of a level, of rows [range[0], range[1]) and columns [range[2], range[3]). */
void neo_lower_make_packs(lowering *l, neo_block *in, int32_t level, const neo_lx *const *range);
/* The loop over blocks of the reduction: what is lowered until it is closed is of one of them. */
neo_block *neo_lower_open_steps(lowering *l, neo_block *in);
void neo_lower_close_steps(lowering *l);
/* For each block of the reduction, the packs of the innermost level and the block's tiles. */
void neo_lower_blocks(lowering *l, neo_block *in, int32_t level, const neo_lx *const *range);

/* ---- lower/loops/block.c: tiles of the block of rows [range[0], range[1]) and columns
 * [range[2], range[3]) */
void neo_lower_block(lowering *l, neo_block *in, const neo_lx *const *range);

/* ---- lower/loops/stages.c: everything at one tile, the stages in order */
void neo_lower_stages(lowering *l, neo_block *in, const tile *t);

/* ---- lower/loops/prefetch_tile.c */
void neo_lower_plan_tile_prefetch(lowering *l);
/* For each step of a tile's sum, or its end. */
void neo_lower_prefetch_tile(lowering *l, neo_block *in, const tile *t, bool at_end);
/* A step's part of what the next copy of the stage's columns reads, or the next tile of rows. */
void neo_lower_prefetch_shared(lowering *l, neo_block *in, const tile *t, size_t stage);

/* ---- lower/loops/prefetch_rows.c */
void neo_lower_plan_row_prefetch(lowering *l);
/* Asks for what a sum with lanes over a shared axis reads some steps after step v of its own axis.
 */
void neo_lower_prefetch_columns(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                                uint32_t own, const neo_lx *v);

#endif

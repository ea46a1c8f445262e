/* Loops over the shared axes with lanes and a register tile: the strategies loops, tile, pairs,
 * segment and scan, which share schedule->loops.
 *
 *   loops.c          outer loops, units of work, blocks of rows and columns and of the reduction,
 *                    rows that flags rule out
 *   block.c          a block as register tiles: full ones, remainders
 *   stages.c         the stages of a form at one tile; sums with several accumulators for each
 *                    element
 *   needed.c         the elements of results that are needed
 *   prefetch_tile.c  prefetches of lines for the next tile
 *   prefetch_rows.c  prefetches of elements of the next row
 *   prefetch_gathered.c  prefetches of rows that data name
 *
 * Private to codegen/lower. */
#pragma once
#include "codegen/lower/common/scope.h"

/* The whole kernel. */
void neo_lower_loops(lowering *l);

/* ---- lower/loops/block.c: tiles of the block of rows [range[0], range[1]) and columns
 * [range[2], range[3]) */
void neo_lower_block(lowering *l, neo_block *in, const neo_lx *const *range);

/* ---- lower/loops/stages.c: everything at one tile, the stages in order */
void neo_lower_stages(lowering *l, neo_block *in, const tile *t);

/* ---- lower/loops/prefetch_tile.c */
void neo_lower_plan_tile_prefetch(lowering *l);
/* A tile's prefetches, at each step of its sum or, at_end, after it. */
void neo_lower_prefetch_tile(lowering *l, neo_block *in, const tile *t, bool at_end);
/* A step's share of the prefetches that a tile's steps divide: for the next packing of the stage's
 * columns, or for the next tile of rows. */
void neo_lower_prefetch_shared(lowering *l, neo_block *in, const tile *t, size_t stage);
/* The number of first steps of a long loop that share the prefetches for the end of the tile, one
 * prefetch each, so that the other steps have none; -1: all steps prefetch. */
int64_t neo_lower_prefetch_steps(lowering *l, const tile *t, size_t stage);

/* ---- lower/loops/prefetch_rows.c */
void neo_lower_plan_row_prefetch(lowering *l);
/* Prefetches the data that a sum with lanes over a shared axis reads some steps after step v of its
 * own axis. */
void neo_lower_prefetch_columns(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                                uint32_t own, const neo_lx *v);

/* ---- lower/loops/prefetch_gathered.c */
/* Prefetches the rows that a stage without sums copies some iterations later at the tile's
 * columns. */
void neo_lower_prefetch_gathered(lowering *l, neo_block *in, const neo_stage *s, const tile *t);

/* needed.c: the elements along an axis that readers of the results need, which may depend on
 * data. */
typedef struct {
  bool on; /* else all are needed */
  neo_expr
      where; /* the elements of outer loops' axes for which this holds; 0: a range along an axis: */
  uint32_t axis;
  neo_expr lo, hi; /* elements from `lo` on, below `hi`; 0: the axis' own end */
} needed_range;

needed_range neo_lower_needed(lowering *l);
/* Opens a branch for the rows of the tile whose results use sums; other rows add up nothing. A
 * result of the other rows may have another value, such as a bias. */
neo_block *neo_lower_where_summed(lowering *l, neo_block *in, const tile *t);
/* Narrows [*lo, *hi) to the needed elements. */
void neo_lower_narrow(lowering *l, const needed_range *r, const neo_lx **lo, const neo_lx **hi);

/* Tiles of contractions by a GPU's blocks of threads: a block computes BLOCK_M rows and BLOCK_N
 * columns, a thread TILE_M by TILE_N of these, so that THREADS is (BLOCK_M/TILE_M) *
 * (BLOCK_N/TILE_N). Rows are the points of the shared axes in ROW_AXES, walked as one, columns those
 * of COLUMN_AXES; the own axes are walked as one, BLOCK_K steps at a time, of which shared memory
 * holds two blocks of each operand: what the factors that use rows multiply to, and the others.
 * Other shared axes are batches. Nothing has to be divisible by anything.
 *
 * With PRODUCTS, TILE_M by TILE_N are a warp's, and its products those of codegen/loop/warp.h: THREADS is
 * 32 times as many. Both operands have one factor, which was rounded to tf32, bf16 or f16, the same
 * for both (below: neo_warps), or are f32 of any factors where ir.h's 3XTF32 permits that; copies
 * make up for the condition of the sum (conditions.h). Shared memory holds what was rounded; with
 * STAGES that is done where fragments are read. With PRODUCTS 2 they are a warpgroup's, of rounded
 * operands, and its products those of codegen/loop/wgmma.h: THREADS is 128 times as many, and
 * BLOCK_K is what 128 bytes of a row hold.
 *
 * With STAGES, operands are copied asynchronously (stages.h). Private to schedule and codegen. */
#ifndef NEO_SCHEDULE_GPU_TILE_H
#define NEO_SCHEDULE_GPU_TILE_H
#include "schedule/contract.h"

enum { NEO_THREADS_PAD = 4 }; /* elements between two steps of an operand in shared memory */
/* PRODUCTS: who makes them. */
enum { NEO_THREADS_WARPS = 1, NEO_THREADS_WARPGROUPS = 2 };

/* What the warps of a contraction multiply. */
typedef enum {
  NEO_WARPS_NONE,
  NEO_WARPS_TF32,
  NEO_WARPS_BF16,
  NEO_WARPS_F16,
  NEO_WARPS_3XTF32 /* f32 that is not rounded, where the module permits it: three products each */
} neo_warps;
/* On some generation. Factors become what warps take of them: f32(e), e of bf16 or f16, becomes e.
 */
neo_warps neo_threads_warps(neo_module *m, const neo_form *f, neo_contraction *c);
/* Of one factor, which becomes what warps take of it. */
neo_warps neo_factor_warps(neo_module *m, neo_expr *e);

bool neo_gpu_tile_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                        const neo_schedule *s, neo_str *why);

/* Axes of the contraction's operands: shared ones that only one of them uses. False: some factor
 * uses rows and columns, or an operand has no axis of its own. With rows and columns of more than
 * two factors, the first factor with own axes says what rows are. */
bool neo_threads_axes(neo_module *m, const neo_form *f, const neo_contraction *c, uint64_t *rows,
                      uint64_t *columns);

/* The model's choice; false: a thread for each point is as good. */
bool neo_gpu_tile_choose(neo_module *m, const neo_form *f, const neo_machine *machine,
                         neo_schedule *out);
/* The schedule of tiles with as many stages as the model wants, and boxes, where that is legal;
 * else as it is. */
neo_schedule neo_threads_staged(neo_module *m, const neo_form *f, const neo_machine *machine,
                                const neo_schedule *s);

/* Threads that share a tile: one, a warp, a warpgroup. */
int64_t neo_gpu_tile_sharers(const neo_block_params *p);

#endif

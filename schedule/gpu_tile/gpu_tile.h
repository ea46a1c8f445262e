/* Tiles of contractions for a GPU's thread blocks. A block computes BLOCK_M rows by BLOCK_N columns
 * and a thread TILE_M by TILE_N of these, so that THREADS is (BLOCK_M/TILE_M) * (BLOCK_N/TILE_N).
 * Rows are the points of the shared axes in ROW_AXES, fused into one; columns are those of
 * COLUMN_AXES. The own axes are fused too and taken BLOCK_K steps at a time. Shared memory holds
 * two blocks of each operand: one operand is the product of the factors that use rows, the other
 * that of the other factors. The remaining shared axes are batches. No extent has to be divisible
 * by a tile.
 *
 * With PRODUCTS 1, TILE_M by TILE_N is the tile of a warp, which multiplies by the instructions of
 * codegen/loop/warp.h; THREADS is 32 times as many. Each operand has one factor that was rounded to
 * tf32, bf16 or f16, to the same type for both (neo_warps below), or is f32 of any factors where
 * 3XTF32 of ir.h permits that. Copies replace the condition of the sum (conditions.h). Shared
 * memory holds rounded elements; with STAGES they are rounded where fragments are read. With
 * PRODUCTS 2, it is the tile of a warpgroup, which multiplies rounded operands by the instructions
 * of codegen/loop/wgmma.h; THREADS is 128 times as many, and BLOCK_K is as many steps as 128 bytes
 * of a row hold.
 *
 * With STAGES, operands are copied asynchronously (stages.h). Private to schedule and codegen. */
#pragma once
#include "schedule/contract.h"

enum { NEO_THREADS_PAD = 4 }; /* elements between two steps of an operand in shared memory */
/* Values of PRODUCTS: which threads multiply together. */
enum { NEO_THREADS_WARPS = 1, NEO_THREADS_WARPGROUPS = 2 };

/* The types that the warps of a contraction multiply. */
typedef enum {
  NEO_WARPS_NONE,
  NEO_WARPS_TF32,
  NEO_WARPS_BF16,
  NEO_WARPS_F16,
  NEO_WARPS_3XTF32 /* f32 as three products of tf32, where the module permits it */
} neo_warps;
/* The type that warps of some generation could multiply. The factors become operands of that
 * product: f32(e), where e is bf16 or f16, becomes e. */
neo_warps neo_threads_warps(neo_module *m, const neo_form *f, neo_contraction *c);
/* As neo_threads_warps, for one factor: *e becomes an operand of the product. */
neo_warps neo_factor_warps(neo_module *m, neo_expr *e);

/* Is the schedule legal for a contraction? If not, *why (may be null) gets the reason. */
bool neo_gpu_tile_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                        const neo_schedule *s, neo_str *why);

/* The axes of the contraction's operands: shared axes that only one of them uses. False: some
 * factor uses both rows and columns, or an operand has no axis of its own. Where there are more
 * than two factors, the first factor with own axes defines the rows. */
bool neo_threads_axes(neo_module *m, const neo_form *f, const neo_contraction *c, uint64_t *rows,
                      uint64_t *columns);

/* The model's choice. False: one thread per point is as good. */
bool neo_gpu_tile_choose(neo_module *m, const neo_form *f, const neo_machine *machine,
                         neo_schedule *out);

/* Threads that share a tile: 1, a warp or a warpgroup. */
int64_t neo_gpu_tile_sharers(const neo_block_params *p);

/* Schedules of kernels with nested reductions (fusion/nested.h), by thread blocks. A block has
 * BLOCK_M rows. It takes the steps of the outer sum BLOCK_K at a time:
 *
 *   THREADS = (BLOCK_M/TILE_M) * wide        a thread has TILE_M rows by BLOCK_K/wide steps of the
 *                                            inner sums, in registers
 *   BLOCK_N, TILE_N                          columns of the product with it, wide = BLOCK_N/TILE_N;
 *                                            0 and 1 where rows are reduced
 *
 * With PRODUCTS, a warp has TILE_M rows by TILE_N columns and BLOCK_K/wide steps, and multiplies by
 * the instructions of codegen/loop/warp.h; THREADS is then 32 times as many. Each product has two
 * factors of the same rounded type, or f32 factors where 3XTF32 of ir.h permits that.
 *
 * Inner sums take NEO_NESTED_STEPS of their own steps at a time; shared memory holds these steps of
 * both operands, and the block that the outer product reads. With PRODUCTS, an inner sum of few
 * steps takes all of them at once, and the rows' operand stays in shared memory. The operands of
 * the steps may then be copied in STAGES (gpu_tile/stages.h): the next blocks of steps are copied
 * while one is multiplied, asynchronously where memory holds them in the layout of shared memory.
 * All other parameters are plain. A schedule without threads has plain parameters except for its
 * units. */
#pragma once
#include "fusion/nested.h"
#include "schedule/gpu_tile/gpu_tile.h"

enum { NEO_NESTED_STEPS = 16 };

typedef struct
{ /* the types that warps multiply in inner sums and in the product; none: threads multiply */
  bool on;
  neo_warps sum[NEO_NESTED_SUMS], product;
} neo_nested_warps;
/* The types that warps of some generation could multiply in each sum. The factors of `n` become the
 * operands of these products. */
neo_nested_warps neo_nested_warps_of(neo_module *m, const neo_form *f, neo_nested *n);
neo_type neo_warps_type(neo_warps kind); /* the type of an element in shared memory */
/* The number of steps of an inner sum that warps take at a time. *whole: these are all of its
 * steps. */
int64_t neo_nested_depth(neo_module *m, const neo_form *f, const neo_nested_sum *x, neo_warps kind,
                         bool *whole);

/* Is an operand contiguous along its steps and not along its points? Axes are bits. */
bool neo_nested_along_steps(neo_module *m, const neo_form *f, const neo_nested_factors *x,
                            uint64_t points, uint64_t steps);

/* Is the schedule legal for a form with nested reductions? If not, *why (may be null) gets the
 * reason. */
bool neo_nested_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                      const neo_schedule *s, neo_str *why);
/* An estimate in cycles; 0 for a schedule without threads. */
double neo_nested_cost(neo_module *m, const neo_form *f, const neo_machine *machine,
                       const neo_schedule *s);
/* Writes the best schedules with threads, the best first, at most `most`. Returns their number. */
size_t neo_nested_ranked(neo_module *m, const neo_form *f, const neo_machine *machine,
                         neo_schedule *out, size_t most);

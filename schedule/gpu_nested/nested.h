/* Schedules of kernels with sums inside of sums (fusion/nested.h), by blocks of threads. A block has
 * BLOCK_M rows, and goes over the steps of the sum around the inner ones BLOCK_K at a time:
 *
 *   THREADS = (BLOCK_M/TILE_M) * wide        a thread has TILE_M rows by BLOCK_K/wide steps of what
 *                                            the inner sums make, in registers
 *   BLOCK_N, TILE_N                          columns of the product with it, wide = BLOCK_N/TILE_N;
 *                                            0 and 1 where rows are reduced
 *
 * With MATRIX, TILE_M rows are a warp's, by TILE_N columns and BLOCK_K/wide steps, and all products
 * are those of codegen/loop/warp.h: THREADS is 32 times as many. Each product is of two factors that
 * were rounded alike, or of f32 where ir.h's 3XTF32 permits that.
 *
 * Inner sums go over NEO_NESTED_STEPS of their own steps at a time, which shared memory holds of both
 * operands, beside the block that the product is with; with MATRIX over all of them where they are
 * few, and the rows' operand stays there. Then operands of steps may come in STAGES (stages.h): the
 * next blocks of steps are copied while one is multiplied, asynchronously where they lie in memory
 * as shared memory has them. All other parameters are plain. A schedule without threads is plain
 * but for its units. */
#ifndef NEO_SCHEDULE_NESTED_H
#define NEO_SCHEDULE_NESTED_H
#include "fusion/nested.h"
#include "schedule/gpu_tile/gpu_tile.h"

enum { NEO_NESTED_STEPS = 16 };

typedef struct { /* what warps multiply in inner sums, and in the product; none: they do not */
  bool on;
  neo_warps sum[NEO_NESTED_SUMS], product;
} neo_nested_warps;
/* On some generation. Factors become what warps take of them. */
neo_nested_warps neo_nested_warps_of(neo_module *m, const neo_form *f, neo_nested *n);
neo_type neo_warps_type(neo_warps kind); /* of an element in shared memory */
/* How many steps of an inner sum warps take at a time; *whole: all. */
int64_t neo_nested_depth(neo_module *m, const neo_form *f, const neo_nested_sum *x, neo_warps kind,
                         bool *whole);

/* Does an operand lie contiguous along its steps, and not along its points? Axes as bits. */
bool neo_nested_along_steps(neo_module *m, const neo_form *f, const neo_nested_factors *x,
                            uint64_t points, uint64_t steps);

bool neo_nested_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                      const neo_schedule *s, neo_str *why);
/* Cycles, more or less; 0 without threads. */
double neo_nested_cost(neo_module *m, const neo_form *f, const neo_machine *machine,
                       const neo_schedule *s);
/* The best ones with threads first, at most so many; returns how many. */
size_t neo_nested_ranked(neo_module *m, const neo_form *f, const neo_machine *machine,
                         neo_schedule *out, size_t most);
/* A random legal one, small; false: none was found. */
bool neo_nested_random(neo_module *m, const neo_form *f, const neo_machine *machine, uint64_t *seed,
                       neo_schedule *out);

#endif

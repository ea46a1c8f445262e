/* Schedules of kernels with sums inside of sums (fusion/nest.h), by blocks of threads. A block has
 * BLOCK_M rows, and goes over the steps of the sum around the inner ones BLOCK_K at a time:
 *
 *   THREADS = (BLOCK_M/TILE_M) * wide        a thread has TILE_M rows by BLOCK_K/wide steps of what
 *                                            the inner sums make, in registers
 *   BLOCK_N, TILE_N                          columns of the product with it, wide = BLOCK_N/TILE_N;
 *                                            0 and 1 where rows are reduced
 *
 * Inner sums go over NEO_NEST_STEPS of their own steps at a time, which shared memory holds of both
 * operands, beside the block that the product is with. All other parameters are plain. A schedule
 * without threads is plain but for its units. */
#ifndef NEO_SCHEDULE_NEST_H
#define NEO_SCHEDULE_NEST_H
#include "fusion/nest.h"
#include "schedule/schedule.h"

enum { NEO_NEST_STEPS = 16 };

bool neo_nest_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                    const neo_schedule *s, neo_str *why);
/* Cycles, more or less; 0 without threads. */
double neo_nest_cost(neo_module *m, const neo_form *f, const neo_schedule *s);
/* The best ones with threads first, at most so many; returns how many. */
size_t neo_nest_ranked(neo_module *m, const neo_form *f, const neo_machine *machine,
                       neo_schedule *out, size_t most);
/* The first of them, or a plain one. */
neo_schedule neo_nest_default(neo_module *m, const neo_form *f, const neo_machine *machine);
neo_schedule neo_nest_random(neo_module *m, const neo_form *f, const neo_machine *machine,
                             uint64_t *seed);

#endif

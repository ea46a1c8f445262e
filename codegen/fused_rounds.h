/* The rounds of fused loops (fused_loops.h), without what they need not do. Before:
 *
 *     for v in 0..N
 *       for k in 0..1 unroll: at[v + k] = select(0 <= child[v], first[child[v] if 0 <= child[v] else 0], -1)
 *       if 0 <= child[v]: parents[at[v]] = v
 *
 * After, where nobody else reads `at`:
 *
 *     for v in 0..N
 *       if 0 <= child[v]
 *         reg stored: i32
 *         stored = first[child[v]]
 *         parents[stored] = v
 *
 * UNROLL loops are written out. Conditions over what the loop does not write become branches around all of the round
 * (loop unswitching: F. Allen, J. Cocke, A catalogue of optimizing transformations, 1972). What a round has stored
 * is in a register for what reads it later in the round, and what only these read is not stored (scalar
 * replacement: D. Callahan, S. Carr, K. Kennedy, Improving register allocation for subscripted variables, PLDI 1990). */
#ifndef NEO_CODEGEN_FUSED_ROUNDS_H
#define NEO_CODEGEN_FUSED_ROUNDS_H
#include "codegen/loop/loop.h"

/* Rewrites the body of the loop, a statement of the kernel, all of whose buffers are apart. own[b]: nobody else reads
 * what is in buffer b. */
void neo_fused_rounds(neo_kernel *k, neo_ls *loop, const bool *own);

/* Runs before a round v: end[v] = sum; sum += count[v]. Both buffers have an element for each round. No earlier round reads
 * either or writes the count. The buffers may be one. */
typedef struct {
  uint32_t sum; /* register */
  uint32_t count, end;
} neo_running_start;

typedef struct {
  const bool *zero; /* by buffer: has it an element for each round, which is 0 before that round? */
  NEO_VEC(neo_running_start) starts;
} neo_before_rounds;

/* Makes runs of the rounds, which prefetch what later ones go through; the loop is from 0 on, by 1. (fused_runs.c) */
void neo_fused_runs(neo_kernel *k, neo_ls *loop, const neo_before_rounds *before);

#endif

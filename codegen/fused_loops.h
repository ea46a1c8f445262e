/* The kernels of groups whose loops along the same positions share one (neo_group.loops):
 *
 *     for l in 0..N: count[l] = 0
 *     for v in 0..N                                     level[v] = max(..) + 1      a recurrence
 *                                                       rank[v] = count[level[v]]   a running sum by keys
 *                                                       count[level[v]] += 1        a segmented sum
 *
 * Each group is lowered to a kernel of one unit, whose last statement is the loop along the positions. What stands
 * before comes before the one loop, and the loops' bodies follow one another in it. A loop of K rounds for each position
 * (edges of vertices) is K copies of its body.
 *
 * A loop joins those before it if what it reads of them is there: it reads it at its own position, or at an earlier one.
 * That is what a tensor's elements are that lie below their own first index (neo_tensor_rec.below). A running
 * sum by keys needs no table of its own where the sum by keys is made in the same loop: it is the table. One that
 * sorts begins with what another loop has made (counting_sort.h). Sums that rounds add to at earlier positions alone
 * become 0 in the loop. */
#ifndef NEO_CODEGEN_FUSED_LOOPS_H
#define NEO_CODEGEN_FUSED_LOOPS_H
#include "codegen/recurrence.h"

/* A kernel that runs along positions. */
typedef struct {
  const neo_group *g;
  neo_kernel *k;
  const neo_ls *loop; /* the last statement of its body, from 0 on; null: it has no such loop */
  const neo_lx *n;    /* positions */
  int64_t factor;     /* rounds for each position */
  uint32_t table;     /* buffer of the sums by keys, + 1; 0: it has none */
  neo_tensor sums;    /* which are this tensor, too; 0: they are not */
} neo_position_loop;
typedef NEO_VEC(neo_position_loop) neo_position_loops;

/* The loop along positions of the kernel, if it has one. */
neo_position_loop neo_position_loop_of(const neo_group *g, neo_kernel *k);
/* May its rounds follow those of the loops before, position by position? (fused_reads.c) */
bool neo_position_loop_joins(neo_module *m, const neo_position_loop *before, size_t n,
                             const neo_position_loop *x);

/* Is each element of the tensor, of rank 1, that it reads the one at its own position? */
bool neo_position_loop_reads_own(neo_module *m, const neo_position_loop *x, neo_tensor t);
/* Does each round write the tensor's element at its own position once, and no other one? */
bool neo_position_loop_writes_own(neo_module *m, const neo_position_loop *x, neo_tensor t);
/* Is each element of the tensor, of rank 1, that its rounds read or write at their own position or at an earlier one? */
bool neo_position_loop_is_behind(neo_module *m, const neo_position_loop *x, neo_tensor t);

/* Kernels of a group with neo_group.loops. Those of loops that share none are as if each were a group. The rest is as
 * in neo_recurrence_kernels. */
neo_status neo_fused_loops_kernels(neo_module *m, const neo_group *g,
                                   const neo_recurrence_options *options, neo_arena *a,
                                   neo_kernel_tree *out, neo_str *why) NEO_MUST_CHECK;

#endif

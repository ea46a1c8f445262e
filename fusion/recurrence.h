/* A recurrence (ir/component.h) as loops around ordinary definitions.
 *
 * Its order (ir/order.h) says which axis of each definition is a loop's. In an iteration of the loops around
 * it a definition is one without these axes: they have the one position that the loop's index gives,
 * which stands in its expressions as a size. Definitions that follow one another in an iteration, and run
 * in the same iterations, are a segment, an acyclic program of its own, which is fused, scheduled and
 * lowered as any other:
 *
 *   h[t, j] = tanh(x[t, j] + sum[k] (h[t-1, k] else 0) * U[k, j])
 *
 *   for t in 0..T
 *     h_t[0, j] = tanh(x[t, j] + sum[k] (h[t-1, k] else 0) * U[k, j])
 *
 * A definition writes its slice of an iteration, a tensor `slice` whose element 0 is the one at `offset` of
 * the whole tensor. Reads of the same iteration and segment are reads of slices. All others are of memory:
 * of tensors that have no definition in the segment, so that nothing orders them but the loops. */
#ifndef NEO_FUSION_RECURRENCE_H
#define NEO_FUSION_RECURRENCE_H
#include "fusion/group.h"
#include "ir/tree/tree.h"

typedef struct {
  neo_tensor slice, whole; /* of a slice that is not stored its own tensor is all there is */
  neo_expr offset;         /* elements of `whole`, over sizes */
  neo_list at;             /* where it begins along each dimension, over sizes */
  uint32_t fixed;          /* leading dimensions of which it has the one position */
  bool stored;
} neo_slice;

/* A leaf of the tree. */
typedef struct {
  NEO_VEC(neo_def) defs;
  NEO_VEC(neo_conditions) when; /* of each: its results are needed only where they hold, in an iteration */
  NEO_VEC(neo_tensor) roots; /* slices that are stored */
  NEO_VEC(neo_group) groups; /* what of them becomes one kernel; filled by neo_fuse_with */
} neo_recurrence_segment;

typedef struct neo_recurrence {
  /* Bands around segments. What does not run in all iterations is under a guard over sizes; what would change nothing that
   * is read is under one that reads an element of bools at a position over sizes, true outside of their tensor. A band whose
   * iterations change nothing from one on begins with such an exit. */
  neo_schedule_tree tree;
  NEO_VEC(neo_recurrence_segment) segments; /* by the numbers of the leaves, which are in order */
  NEO_VEC(neo_slice) slices;
  neo_map memory;            /* a tensor that segments read -> the one it stands for */
  NEO_VEC(neo_tensor) roots; /* whole tensors that are written to memory */
  NEO_VEC(neo_tensor) reads; /* tensors that are read, each once */
} neo_recurrence;

/* Is it a guard, or an exit, whose condition is an element? */
bool neo_recurrence_asks(const neo_module *m, const neo_tree *t);
/* The condition of the exit that the band begins with; 0: it has none. */
neo_expr neo_recurrence_exit(const neo_tree *band);

/* Writes a recurrence as loops. Definitions among them that are no part of it run in its iterations if they have
 * an axis along them (neo_order_round_axis). Of the others those that are given before its own run before
 * its loops or are hoisted (below), and the rest behind its loops, in the order in which they are given.
 * `leaves`: by tensor, is it needed outside? Adds sizes, tensors and definitions to the module, which only the result names. Null: no order is
 * found, which neo_module_check and neo_recurrence_shares exclude. In the arena. */
neo_recurrence *neo_recurrence_of(neo_module *m, neo_arena *a, const neo_def *defs, size_t n,
                                  const bool *leaves, const neo_loop_options *options);
/* Have the recurrences among these definitions loops that all of them share? No other ones become a group. */
bool neo_recurrence_shares(neo_module *m, neo_arena *a, const neo_def *defs, size_t n);
/* May definition d, which is no part of the recurrence, be made for blocks of the loop's iterations, each before
 * the block (hoist.c)? Then *out is its place in the loop. `readers`: all that read it. */
bool neo_recurrence_hoists(neo_module *m, const neo_order_step *loop, const neo_def *readers,
                          size_t n, neo_def d, neo_order_member *out);
/* Iterations of a block for these definitions; 0: there are too few blocks. `tile_rounds`: of neo_loop_options. */
int64_t neo_recurrence_block(neo_module *m, const neo_order_member *producer, size_t n,
                             uint32_t tile_rounds);
const neo_slice *neo_recurrence_slice(const neo_recurrence *r, neo_tensor slice); /* null: none */

#endif

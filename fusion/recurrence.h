/* A recurrence (ir/component.h) as loops around ordinary definitions.
 *
 * Its order (ir/order.h) says which axis of each definition is a loop's. In an iteration of the
 * loops around it a definition lacks these axes: each has one position, the loop's index, which
 * is a size in its expressions. Definitions that follow one another and run in the same
 * iterations are a segment, an acyclic program that is fused, scheduled and lowered like any
 * other:
 *
 *   h[t, j] = tanh(x[t, j] + sum[k] (h[t-1, k] else 0) * U[k, j])
 *   ->
 *   for t in 0..T
 *     h_t[0, j] = tanh(x[t, j] + sum[k] (h[t-1, k] else 0) * U[k, j])
 *
 * A definition writes its slice of an iteration, a tensor `slice` whose element 0 is that at
 * `offset` of the whole tensor. Reads of the same iteration and segment are reads of slices. All
 * others are of memory: of tensors without a definition in the segment, ordered by the loops
 * alone. */
#pragma once
#include "fusion/group.h"
#include "ir/tree/tree.h"

typedef struct {
  neo_tensor slice, whole; /* `whole` is `slice` itself if the slice is not stored */
  neo_expr offset;         /* elements of `whole`, over sizes */
  neo_list at;             /* its begin along each dimension, over sizes */
  uint32_t fixed;          /* leading dimensions with one position */
  bool stored;
} neo_slice;

/* A leaf of the tree. */
typedef struct {
  NEO_VEC(neo_def) defs;
  NEO_VEC(neo_conditions)
  when; /* by definition: its results are needed only where these hold, in an iteration */
  NEO_VEC(neo_tensor) roots; /* slices that are stored */
  bool always;               /* its kernels run where the group's conditions fail, too */
  NEO_VEC(neo_group) groups; /* the segment's kernels; filled by neo_fuse_with */
} neo_recurrence_segment;

typedef struct neo_recurrence {
  /* Bands around segments. A segment that does not run in all iterations is under a guard over
   * sizes; one whose iterations may change nothing is under a guard that reads an element of bools,
   * at a position over sizes, true outside of their tensor. A band whose iterations change nothing
   * after one of them begins with such an exit. */
  neo_schedule_tree tree;
  NEO_VEC(neo_recurrence_segment) segments; /* by the numbers of the leaves, in order */
  NEO_VEC(neo_slice) slices;
  neo_map memory;            /* stand-in that segments read -> the tensor that lies in memory */
  NEO_VEC(neo_tensor) roots; /* whole tensors that are written to memory */
  NEO_VEC(neo_tensor) reads; /* tensors that are read, each once */
} neo_recurrence;

/* Is it a guard or an exit whose condition is an element? */
bool neo_recurrence_asks(const neo_module *m, const neo_tree *t);
/* The condition of the exit that the band begins with; 0: it has none. */
neo_expr neo_recurrence_exit(const neo_tree *band);

/* Writes a recurrence as loops. Other definitions among defs run in its iterations if they have an
 * axis along them (neo_order_iteration_axis). The rest, in the given order, runs before the loops
 * or is hoisted (below) if it precedes the recurrence, else after the loops. `leaves`: by tensor,
 * needed outside. Adds sizes, tensors and definitions that only the result names. Null: no order is
 * found, which neo_module_check and neo_recurrence_shares exclude. In the arena. */
neo_recurrence *neo_recurrence_of(neo_module *m, neo_arena *a, const neo_def *defs, size_t n,
                                  const bool *leaves, const neo_loop_options *options);
/* Have the recurrences among these definitions loops that all of them share? Only then they become
 * a group. */
bool neo_recurrence_shares(neo_module *m, neo_arena *a, const neo_def *defs, size_t n);
/* May definition d, outside of the recurrence, be computed for blocks of the loop's iterations,
 * before each block (hoist.c)? *out is then its member of the loop. `readers`: all readers of d. */
bool neo_recurrence_hoists(neo_module *m, const neo_order_step *loop, const neo_def *readers,
                           size_t n, neo_def d, neo_order_member *out);
/* Iterations of a block for these definitions; 0: too few blocks. `tile_iterations`: that of
 * neo_loop_options. */
int64_t neo_recurrence_block(neo_module *m, const neo_order_member *producer, size_t n,
                             uint32_t tile_iterations);
const neo_slice *neo_recurrence_slice(const neo_recurrence *r, neo_tensor slice); /* null: none */

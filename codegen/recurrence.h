/* For tools/pipeline: the kernels of a recurrence, which are those of its segments
 * (fusion/recurrence.h), and the loops around them.
 *
 * A loop is either in a kernel, which is then one unit of work, or in the plan, which runs the
 * loop's kernels in each iteration, each on all workers. On a processor, a loop in the plan pays a
 * barrier of the workers for each kernel, and is better if the workers save more than that. On a
 * GPU all loops are in the plan, which may run them in one persistent kernel (plan/cooperative.c),
 * except loops whose iterations are the work of one thread. Loops and segments that follow one
 * another in the same kernel pass values in scratch, if no other kernel needs them. */
#pragma once
#include "base/machine.h"
#include "codegen/loop/loop.h"
#include "fusion/recurrence.h"
#include "schedule/recurrence.h"

/* A kernel of a recurrence. `tensor` of its buffers is a tensor that the group reads or writes, or
 * one that only the recurrence's kernels use. */
typedef struct {
  neo_kernel *kernel;
  NEO_VEC(uint32_t)
  choices; /* numbers of its schedules, in the order of the recurrence's tree */
} neo_tree_kernel;

/* The tree of a recurrence with its kernels: mark k is kernels.at[k], which runs everything below
 * the mark. The plan runs the bands and guards above marks:
 *
 *   band t in 0..T
 *     seq
 *       kernel 0
 *         leaf z[t]
 *       kernel 1
 *         band i in 0..N
 *           leaf h[t, i] */
typedef struct {
  const neo_tree *root;
  NEO_VEC(neo_tree_kernel) kernels;
} neo_kernel_tree;

/* The loops in the plan: those that pay, or, for tests, every loop. */
typedef enum { NEO_LOOPS_PRICED, NEO_LOOPS_EVERY } neo_loops;

/* Do rows that are alone in their blocks run in a loop of their own? BY_ORDER: if that has the same
 * bits. ALONE, IN_BLOCKS: always, never, for any order of additions. */
typedef enum { NEO_ROWS_BY_ORDER, NEO_ROWS_ALONE, NEO_ROWS_IN_BLOCKS } neo_one_row_blocks;

typedef struct {
  const neo_machine *machine;
  const neo_schedule *schedules; /* the groups' schedules: schedule/recurrence.h */
  /* The seconds that are saved if workers share the kernel of this choice; saved_s: the model's
   * estimate. May be null. A caller that returns the same values for other schedules gets the same
   * division into kernels. */
  double (*price)(void *ctx, uint32_t choice, double saved_s);
  void *price_ctx;
  neo_loops loops;
  neo_one_row_blocks one_row_blocks; /* not 0: for a reference, which may add up in any order */
} neo_recurrence_options;

/* Lowers the segments of a group that is a recurrence, each by its schedule; memory is the arena's.
 * out->root becomes the recurrence's tree, and its kernels are appended to out->kernels. After a
 * failure `why` has a text. */
neo_status neo_recurrence_kernels(neo_module *m, const neo_group *g,
                                  const neo_recurrence_options *options, neo_arena *a,
                                  neo_kernel_tree *out, neo_str *why) NEO_MUST_CHECK;

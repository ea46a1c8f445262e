/* The kernels of a recurrence: those of its segments (fusion/recurrence.h), and the loops around them.
 *
 * A loop is either in a kernel, which is one unit of work, or in the plan, which runs its kernels round
 * after round, each on all workers. On a processor the second has a price for each kernel, that of
 * bringing the workers together, and pays where what other workers take over is more. On a GPU all
 * loops are in the plan, which may run them in one persistent kernel (plan/cooperative.c), but those whose
 * rounds one thread makes alone. What is in one kernel,
 * loops and segments that follow one another, hands values on in scratch, where nobody else needs them. */
#pragma once
#include "base/machine.h"
#include "codegen/loop/loop.h"
#include "fusion/recurrence.h"
#include "schedule/recurrence.h"

/* A kernel of a recurrence. Its buffers say by `tensor` what they are: a tensor that the group reads or writes, or one
 * that only the recurrence's kernels use. */
typedef struct {
  neo_kernel *kernel;
  NEO_VEC(uint32_t)
  choices; /* numbers of the schedules that it has, in the order of the recurrence's tree */
} neo_tree_kernel;

/* The tree of a recurrence, in which mark k stands for kernels.at[k]: that runs all that is below it. What is above marks,
 * bands and guards over sizes, is the plan's:
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

/* Which loops are in the plan: those that pay; or every one, which is for tests. */
typedef enum { NEO_LOOPS_PRICED, NEO_LOOPS_EVERY } neo_loops;

/* Do rows that are alone in their blocks run in a loop of their own: where that gives the same bits; or, whatever the
 * order in which they add up, always or never? */
typedef enum { NEO_ROWS_BY_ORDER, NEO_ROWS_ALONE, NEO_ROWS_IN_BLOCKS } neo_one_row_blocks;

typedef struct {
  const neo_machine *machine;
  const neo_schedule *schedules; /* of its groups: schedule/recurrence.h */
  /* Seconds that are saved when workers share the kernel of this choice, of which `saved_s` is the model's opinion; may be
   * null. Whoever gives the same for other schedules gets the same kernels. */
  double (*price)(void *ctx, uint32_t choice, double saved_s);
  void *price_ctx;
  neo_loops loops;
  neo_one_row_blocks one_row_blocks; /* not 0: of a reference, which may add up in any order */
} neo_recurrence_options;

/* Lowers the segments of a group that is a recurrence, each by its schedule; all is in the arena. out->root becomes the
 * recurrence's tree, its kernels are added to those that are there. After a failure `why` has a text. */
neo_status neo_recurrence_kernels(neo_module *m, const neo_group *g,
                                  const neo_recurrence_options *options, neo_arena *a,
                                  neo_kernel_tree *out, neo_str *why) NEO_MUST_CHECK;

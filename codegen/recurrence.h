/* The kernels of a recurrence: those of its segments (fusion/recurrence.h), and the loops around them.
 *
 * A loop is either in a kernel, which is one unit of work, or in the plan, which runs its kernels round
 * after round, each on all workers. On a processor the second has a price for each kernel, that of
 * bringing the workers together, and pays where what other workers take over is more. On a GPU all
 * loops are in the plan, which may run them in one persistent kernel (plan/cooperative.c), but those whose
 * rounds one thread makes alone, or a block's threads window by window (windows.h). What is in one kernel,
 * loops and segments that follow one another, hands values on in scratch, where nobody else needs them. */
#ifndef NEO_CODEGEN_RECURRENCE_H
#define NEO_CODEGEN_RECURRENCE_H
#include "base/machine.h"
#include "codegen/loop/loop.h"
#include "fusion/recurrence.h"
#include "schedule/schedule.h"

/* A kernel, or a loop around kernels. The buffers of a kernel say by `tensor` what they are: a tensor that
 * the group reads or writes, or one that only the recurrence's kernels use. */
typedef struct neo_kernel_step neo_kernel_step;
typedef NEO_VEC(neo_kernel_step) neo_kernel_steps;
struct neo_kernel_step {
  neo_kernel *kernel; /* null: a loop */
  NEO_VEC(uint32_t)
  choices; /* of a kernel: numbers of the schedules that it has, in the order in which they were
                                chosen for this group */
  /* Its steps run for lo <= index < hi, from the last one on if `down`; without an index (0) once, where
   * the condition `hi` holds. */
  neo_size index;
  neo_expr lo, hi;
  bool down;
  neo_tree_rows blocks;
  neo_kernel_steps steps;
};

/* Chooses the schedule of a kernel inside of a recurrence's loops. */
typedef neo_schedule neo_segment_schedule(void *ctx, neo_module *m, const neo_group *g,
                                          const neo_machine *machine);

/* Which loops are in the plan: those that pay; every one, which is for tests; or none, so that there is one kernel. */
typedef enum { NEO_LOOPS_PRICED, NEO_LOOPS_EVERY, NEO_LOOPS_NONE } neo_loops;

/* Do rows that are alone in their blocks run in a loop of their own: where that gives the same bits; or, whatever the
 * order in which they add up, always or never? */
typedef enum { NEO_ROWS_BY_ORDER, NEO_ROWS_ALONE, NEO_ROWS_IN_BLOCKS } neo_one_row_blocks;

typedef struct {
  const neo_machine *machine;
  const neo_fuse_options *fusion; /* as in neo_fuse_with */
  neo_segment_schedule *choose;   /* null: by the model of costs */
  /* Seconds that are saved when workers share the kernel of this choice, of which `saved_s` is the model's opinion; may be
   * null. Whoever gives the same for other schedules gets the same kernels. */
  double (*price)(void *ctx, uint32_t choice, double saved_s);
  void *choose_ctx; /* of both */
  neo_loops loops;
  neo_one_row_blocks one_row_blocks; /* not 0: of a reference, which may add up in any order */
  const neo_grouping *all; /* null: nothing takes over memory (codegen/fused_memory.h) */
} neo_recurrence_options;

/* Fuses the segments of a group that is a recurrence, chooses schedules, and lowers them; all is in
 * the arena. The module's entries are replaced meanwhile. After a failure `why` has a text. */
neo_status neo_recurrence_kernels(neo_module *m, const neo_group *g,
                                  const neo_recurrence_options *options, neo_arena *a,
                                  neo_kernel_steps *out, neo_str *why) NEO_MUST_CHECK;

#endif

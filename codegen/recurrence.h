/* The kernel of a recurrence: the kernels of its segments (fusion/recurrence.h), inside of its loops. */
#ifndef NEO_CODEGEN_RECURRENCE_H
#define NEO_CODEGEN_RECURRENCE_H
#include "base/machine.h"
#include "codegen/loop/loop.h"
#include "fusion/recurrence.h"
#include "schedule/schedule.h"

/* Chooses the schedule of a kernel inside of a recurrence's loops. */
typedef neo_schedule neo_segment_schedule(void *ctx, neo_module *m, const neo_group *g,
                                          const neo_machine *machine);

/* Fuses the segments of a group that is a recurrence, chooses schedules by the model of costs (or
 * by `choose`, where it is not null), and lowers them into one kernel, which is one unit of work.
 * `fusion` as in neo_fuse_with. The module's
 * entries are replaced meanwhile. After a failure `why` has a text. */
neo_status neo_recurrence_kernel(neo_module *m, const neo_group *g, const neo_machine *machine,
                                 const neo_fuse_options *fusion, neo_segment_schedule *choose,
                                 void *choose_ctx, neo_arena *a, neo_kernel **out,
                                 neo_str *why) NEO_MUST_CHECK;

#endif

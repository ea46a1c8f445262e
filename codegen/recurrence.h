/* The kernel of a recurrence: the kernels of its segments (fusion/recurrence.h), inside of its loops. */
#ifndef NEO_CODEGEN_RECURRENCE_H
#define NEO_CODEGEN_RECURRENCE_H
#include "base/machine.h"
#include "codegen/loop/loop.h"
#include "fusion/recurrence.h"

/* Fuses the segments of a group that is a recurrence, chooses schedules by the model of costs, and
 * lowers them into one kernel, which is one unit of work. `fusion` as in neo_fuse_with. The module's
 * entries are replaced meanwhile. After a failure `why` has a text. */
neo_status neo_recurrence_kernel(neo_module *m, const neo_group *g, const neo_machine *machine,
                                 const neo_fuse_options *fusion, neo_arena *a, neo_kernel **out,
                                 neo_str *why) NEO_MUST_CHECK;

#endif

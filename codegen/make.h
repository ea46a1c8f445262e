/* Kernels of groups: lowering, the passes over a kernel, and the checks of the result. */
#pragma once
#include "codegen/loop/loop.h"
#include "fusion/group.h"
#include "schedule/schedule.h"

/* The kernel of a group by a schedule, verified; in the arena. For a GPU buffers
 * are aligned, and the protocol of copies is checked. After a failure `why` has a text. */
neo_status neo_kernel_make(neo_module *m, const neo_group *g, const neo_schedule *s,
                           const neo_machine *machine, neo_arena *a, neo_kernel **out,
                           neo_str *why) NEO_MUST_CHECK;
/* Do the tensors of two groups with equal keys begin at the same multiples, so
 * that one kernel is right for both? */
bool neo_align_matches(neo_module *m, const neo_group *a, const neo_group *b);
/* The launch of a kernel on a GPU: threads of a block, and the units that a block runs. */
void neo_kernel_launch(const neo_kernel *k, int32_t *block, int32_t *units);

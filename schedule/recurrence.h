/* For tools/pipeline: schedules of the groups in a recurrence's segments (fusion/recurrence.h). */
#pragma once
#include "fusion/recurrence.h"
#include "schedule/schedule.h"

/* Chooses the schedule of a group in a recurrence's loops. */
typedef neo_schedule neo_segment_schedule(void *ctx, neo_module *m, const neo_group *g,
                                          const neo_machine *machine);

/* The schedule of each group, in the order of the recurrence's tree; in the arena. choose: null: by
 * the model of costs. */
const neo_schedule *neo_recurrence_schedules(neo_module *m, const neo_recurrence *r,
                                             const neo_machine *machine,
                                             neo_segment_schedule *choose, void *ctx, neo_arena *a);

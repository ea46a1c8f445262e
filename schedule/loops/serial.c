/* The schedule of a kernel that goes from position to position. */
#include "schedule/schedule.h"

neo_schedule neo_schedule_serial(neo_module *m, const neo_group *g, const neo_machine *machine) {
  neo_schedule s = neo_schedule_default(m, g, machine), plain = neo_schedule_plain();
  plain.strategy = s.strategy;
  if (s.strategy != NEO_STRATEGY_LOOPS)
    plain.loops.axis_m = s.loops.axis_m;
  if (s.strategy == NEO_STRATEGY_SEGMENT && s.loops.vector_axis >= 0) { /* columns are inside */
    plain.loops.vector_axis = s.loops.vector_axis;
    plain.loops.vector_width = s.loops.vector_width;
  }
  return neo_schedule_legal(m, g, machine, &plain, NULL) ? plain : s;
}

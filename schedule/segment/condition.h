/* Private to schedule/segment: the parts of a condition (segment.h). */
#pragma once
#include "schedule/segment/segment.h"

/* Splits the stage's condition. `intervals`: these count as keys, too. False: data say no shared
 * axis, or a key is only in range where something else holds. */
bool neo_segment_split(neo_module *m, const neo_form *f, const neo_stage *s, bool intervals,
                       neo_segment_pass *out);

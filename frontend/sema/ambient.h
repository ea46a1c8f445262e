/* For frontend/check: ambient axes, the axes of the caller on which the arguments of a call depend
 * (state.h). */
#pragma once
#include "frontend/sema/parts.h"

typedef struct {
  neo_frame *f;
  neo_inst *in;    /* the callee */
  neo_facts facts; /* the hull of the axes, and no conditions */
  neo_axis_rec axis[NEO_MAX_AXES];
  neo_expr by[NEO_MAX_AXES], back[NEO_MAX_AXES];
  bool guard;
} neo_ambience;

/* Gives the callee `in` the axes that the arguments use; false after a report. */
bool neo_ambient_axes(neo_frame *f, const neo_actuals *a, neo_inst *in,
                      neo_ambience *am) NEO_MUST_CHECK;
/* Translates a value of the caller for the callee, and back; poison after a report. */
void neo_ambient_enter(neo_ambience *am, neo_val *v, neo_span at);
void neo_ambient_leave(neo_ambience *am, neo_val *v);

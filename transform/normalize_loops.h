/* Windows: a reduction axis whose range has a constant length and moves with other axes. */
#pragma once
#include "ir/prove.h"
#include "transform/transform.h"

/* An end of the axis' range from which the other is a constant away: lo = max(base, ...), hi =
 * min(base + length, ...), the shortest such length. False: there is none. */
bool neo_loop_start_of(neo_module *m, const neo_axis_rec *axis, neo_expr *base, int64_t *length);
/* Would two of its ends be closer than any that are a constant apart, if they were so too? Facts on
 * the axes before it. */
bool neo_loop_start_wanted(neo_module *m, neo_prover *p, const neo_facts *f,
                           const neo_axis_rec *axis);

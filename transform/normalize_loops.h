/* Windows: reduction axes whose range has a constant length and moves with other axes. */
#pragma once
#include "ir/prove.h"
#include "transform/transform.h"

/* The end of the axis' range that is a constant away from the other: lo = max(base, ...), hi =
 * min(base + length, ...), with the least length. False: there is none. */
bool neo_loop_start_of(neo_module *m, const neo_axis_rec *axis, neo_expr *base, int64_t *length);
/* Would normalised ends be closer than any that are a constant apart now? Facts are on earlier
 * axes. */
bool neo_loop_start_wanted(neo_module *m, neo_prover *p, const neo_facts *f,
                           const neo_axis_rec *axis);

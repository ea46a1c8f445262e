/* Windows: reduction axes whose range has a constant length and moves with other axes. */
#pragma once
#include "ir/prove/prove.h"
#include "transform/transform.h"

/* Would normalised ends be closer than any that are a constant apart now? Facts are on earlier
 * axes. */
bool neo_loop_start_wanted(neo_module *m, neo_prover *p, const neo_facts *f,
                           const neo_axis_rec *axis);

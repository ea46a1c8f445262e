/* Windows: a reduction axis whose range has a constant length and moves with other axes. */
#pragma once
#include "ir/prove.h"
#include "transform/transform.h"

/* Would two of its ends be closer than any that are a constant apart, if they were so too? Facts on
 * the axes before it. */
bool neo_loop_start_wanted(neo_module *m, neo_prover *p, const neo_facts *f,
                           const neo_axis_rec *axis);

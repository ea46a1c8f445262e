/* Output axes of definitions that become loops of their recurrence, so that each position is
 * computed in an iteration of its own. */
#pragma once
#include "ir/prove/prove.h"

/* By id, bit k: the definition's recurrence, among `defs`, runs along its output axis k in the
 * first order that is found (ir/order.h). 0 for all other definitions, also for those of a graph,
 * which read one another at positions from data: many of their rows run at a time. In the arena. */
const uint64_t *neo_loop_axes(neo_prover *p, const neo_def *defs, size_t n, neo_arena *a);

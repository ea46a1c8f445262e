/* The axes of definitions that become loops of their recurrence, each position in an iteration
 * of its own. */
#pragma once
#include "ir/prove.h"

/* By id, bit k: the recurrence of the definition, among `defs`, runs along its output axis k in
 * the first order that is found (ir/order.h). Of all others 0; so of graphs, whose definitions
 * read one another at positions from data: their rows run many at a time. The result is of the
 * arena. */
const uint64_t *neo_loop_axes(neo_prover *p, const neo_def *defs, size_t n, neo_arena *a);

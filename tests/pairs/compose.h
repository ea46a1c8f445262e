/* Whether bits depend on what they must not depend on: on the number of threads nothing does; on the other instances
 * of a batch, and on the order of its vertices, nothing that belongs to a vertex (graph.h). */
#ifndef NEO_TESTS_PAIRS_COMPOSE_H
#define NEO_TESTS_PAIRS_COMPOSE_H
#include "tests/pairs/compilation.h"

/* Calls the model for the program's batch by one, two and three threads, then for other arrangements of the batch. A
 * difference goes to *out. */
void pairs_compose(pairs_compilation *x, const neo_rt_model *model, const pairs_reference *r,
                   pairs_run *out, neo_arena *a);

#endif

/* Random legal schedules, for tests. */
#ifndef NEO_TESTS_DRAW_H
#define NEO_TESTS_DRAW_H
#include "schedule/strategy.h"

neo_schedule neo_schedule_random(neo_module *m, const neo_group *g, const neo_machine *machine,
                                 uint64_t *seed);

/* Draws a small random schedule of a strategy, whose legality is not checked. False: there is none. */
#define X(id, name, family, body, keyed, prefetches, meaning) \
  bool draw_##name(const neo_space *x, uint64_t *seed, neo_schedule *out);
#include "schedule/strategy.def"
#undef X

#endif

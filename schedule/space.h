/* The space of legal schedules of a group, for searching it: the model's candidates in its order,
 * what is one step away from a schedule, and mixtures of two. Strategies say what there is
 * (strategy.h), so that a new one, or a new parameter, is searched from the day it has a row.
 *
 * A step sets one parameter of the schedule's strategy, or changes the strategy. Where other
 * parameters stand in its way (a block that is no multiple of the new tile, a pack without lanes)
 * they give way: to what the new value suggests, else to what they are in a plain schedule. What
 * cannot be made legal is no step. Deterministic: the same seed gives the same schedules. */
#ifndef NEO_SCHEDULE_SPACE_H
#define NEO_SCHEDULE_SPACE_H
#include "fusion/form.h"
#include "schedule/schedule.h"

typedef struct {
  neo_module *m;
  const neo_group *g;
  const neo_machine *machine;
  const neo_form *f;
  uint32_t threads; /* that kernels will run on, by which schedules are priced; 0: the machine's */
} neo_space;

enum { NEO_SPACE_VALUES = 48 }; /* the most values of one parameter */

static inline neo_space neo_space_of(neo_module *m, const neo_group *g,
                                     const neo_machine *machine) {
  return (neo_space){m, g, machine, neo_group_form(m, g), 0};
}
/* The machine with so many threads. */
static inline neo_machine neo_space_machine(const neo_space *x) {
  neo_machine machine = *x->machine;
  if (x->threads)
    machine.threads = x->threads;
  return machine;
}

/* At most `most` different legal schedules, the most promising first; the first is
 * neo_schedule_default. */
size_t neo_space_ranked(const neo_space *x, neo_schedule *out, size_t most);
/* What the model thinks a legal schedule takes: comparable within a group only. */
double neo_space_cost(const neo_space *x, const neo_schedule *s);

/* Is a schedule worth measuring? What has more accumulators than there are registers spills. */
bool neo_space_sensible(const neo_space *x, const neo_schedule *s);
/* Elements along the columns of a schedule: what a block of 0 of them stands for. */
int64_t neo_space_columns_length(const neo_space *x, const neo_schedule *s);

/* Sensible values of a parameter near the one that it has, without it. Not all of them are
 * legal. */
size_t neo_space_values(const neo_space *x, const neo_schedule *s, neo_param k,
                        int64_t out[NEO_SPACE_VALUES]);
/* `s` with parameter k at `value`, the others giving way; false: there is no such legal schedule,
 * and *out is not set. */
bool neo_space_set(const neo_space *x, const neo_schedule *s, neo_param k, int64_t value,
                   neo_schedule *out);
/* Makes anew what follows from the loops of s, where they are others than `from` has: units of work. */
void neo_space_settle(const neo_space *x, const neo_schedule *from, neo_schedule *s);
/* Schedules of another strategy that `s` may be changed to: the model's choices there, legal ones.
 * Returns how many, at most `most`; 0: the group has none. */
size_t neo_space_switch(const neo_space *x, const neo_schedule *s, neo_strategy to,
                        neo_schedule *out, size_t most);
/* Two parameters at once, where one alone would leave registers idle or have too few, or a cache
 * half empty or too small: the same number of accumulators in tiles of other shapes, the nearest
 * first; then blocks of about the same size with other sides. Legal ones, at most `most`. */
size_t neo_space_reshaped(const neo_space *x, const neo_schedule *s, neo_schedule *out,
                          size_t most);
/* All that is one step from `s`, or another shape of its tile or blocks, each once, in the table's
 * order; at most `most`. */
size_t neo_space_neighbours(const neo_space *x, const neo_schedule *s, neo_schedule *out,
                            size_t most);

/* One or two random steps; `s` itself if none is legal. */
neo_schedule neo_space_mutate(const neo_space *x, const neo_schedule *s, uint64_t *seed);
/* The axes of one parent, and every other parameter of either where that is legal. */
neo_schedule neo_space_cross(const neo_space *x, const neo_schedule *a, const neo_schedule *b,
                             uint64_t *seed);

#endif

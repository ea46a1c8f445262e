/* For tools/tune: the space of legal schedules of a group, as the search sees it: the model's
 * ranked candidates, the neighbours of a schedule, mutation and crossover. Strategies define the
 * space (strategy.h), so that a new strategy or parameter is searched as soon as it has a row.
 *
 * A step sets one parameter of the schedule's strategy, or changes the strategy. Other parameters
 * that would make it illegal (a block that is not a multiple of the new tile, a pack without lanes)
 * are repaired: they get a value that suits the new one, or else become plain. A step that cannot
 * be repaired does not exist. The same seed gives the same schedules. */
#pragma once
#include "fusion/form.h"
#include "schedule/schedule.h"

typedef struct {
  neo_module *m;
  const neo_group *g;
  const neo_machine *machine;
  const neo_form *f;
  uint32_t threads; /* threads that kernels are priced for; 0: the machine's */
} neo_space;

enum { NEO_SPACE_VALUES = 48 }; /* an upper bound of the values of one parameter */

static inline neo_space neo_space_of(neo_module *m, const neo_group *g,
                                     const neo_machine *machine) {
  return (neo_space){m, g, machine, neo_group_form(m, g), 0};
}
/* The machine with the space's number of threads. */
static inline neo_machine neo_space_machine(const neo_space *x) {
  neo_machine machine = *x->machine;
  if (x->threads)
    machine.threads = x->threads;
  return machine;
}

/* Writes at most `most` different legal schedules, the most promising first; the first is
 * neo_schedule_default. */
size_t neo_space_ranked(const neo_space *x, neo_schedule *out, size_t most);
/* The model's cost of a legal schedule, comparable within a group only. */
double neo_space_cost(const neo_space *x, const neo_schedule *s);
/* The share of the points of the form's loops, at the largest sizes, that the kernel of a legal
 * schedule visits: above 0, at most 1. */
double neo_space_visited(const neo_space *x, const neo_schedule *s);

/* Is a schedule worth measuring? Accumulators that exceed the registers spill. */
bool neo_space_sensible(const neo_space *x, const neo_schedule *s);
/* Elements along the columns of a schedule: the meaning of a block of 0. */
int64_t neo_space_columns_length(const neo_space *x, const neo_schedule *s);

/* Writes sensible values of a parameter near its current one, without that one. Some may be
 * illegal. */
size_t neo_space_values(const neo_space *x, const neo_schedule *s, neo_param k,
                        int64_t out[NEO_SPACE_VALUES]);
/* Sets parameter k of `s` to `value` and repairs the others. False: there is no such legal
 * schedule, and *out is not set. */
bool neo_space_set(const neo_space *x, const neo_schedule *s, neo_param k, int64_t value,
                   neo_schedule *out);
/* Chooses units of work again where s has other loops than `from`. */
void neo_space_update_units(const neo_space *x, const neo_schedule *from, neo_schedule *s);
/* Writes schedules of another strategy that `s` may change to: legal choices of the model. Returns
 * how many, at most `most`; 0: the group has none. */
size_t neo_space_switch(const neo_space *x, const neo_schedule *s, neo_strategy to,
                        neo_schedule *out, size_t most);
/* All neighbours of `s`, and the steps of two parameters, each once, in the table's order; at most
 * `most`. */
size_t neo_space_neighbours(const neo_space *x, const neo_schedule *s, neo_schedule *out,
                            size_t most);

/* Takes one or two random steps; returns `s` itself if none is legal. */
neo_schedule neo_space_mutate(const neo_space *x, const neo_schedule *s, uint64_t *seed);
/* Takes the axes from one parent and every other parameter from either, where that is legal. */
neo_schedule neo_space_cross(const neo_space *x, const neo_schedule *a, const neo_schedule *b,
                             uint64_t *seed);

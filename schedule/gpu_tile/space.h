/* Private to the space: schedules of a GPU. */
#ifndef NEO_SCHEDULE_SPACE_THREADS_H
#define NEO_SCHEDULE_SPACE_THREADS_H
#include "schedule/space.h"

/* See space.h: the same on a machine with blocks of threads. */
size_t neo_threads_values(const neo_space *x, const neo_schedule *s, neo_param k,
                          int64_t out[NEO_SPACE_VALUES]);
bool neo_threads_set(const neo_space *x, const neo_schedule *s, neo_param k, int64_t value,
                     neo_schedule *out);
size_t neo_threads_switch(const neo_space *x, neo_strategy to, neo_schedule *out, size_t most);
size_t neo_threads_reshaped(const neo_space *x, const neo_schedule *s, neo_schedule *out,
                            size_t most);
/* Cheapest first, without the default. */
size_t neo_threads_ranked(const neo_space *x, neo_schedule *out, size_t most);
/* Cycles of the machine, about. */
double neo_threads_cost(const neo_space *x, const neo_schedule *s);

/* ---- what both files of it share: space.c, the space; cost.c, the price */
enum { WARP = 32 };

/* The last shared axis: what threads next to each other walk. */
static inline int64_t last_axis(const neo_space *x) {
  return (int64_t)x->f->axes.n - 1;
}

#endif

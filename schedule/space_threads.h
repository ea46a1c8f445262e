/* Private to the space: schedules of a GPU. */
#ifndef NEO_SCHEDULE_SPACE_THREADS_H
#define NEO_SCHEDULE_SPACE_THREADS_H
#include "schedule/space.h"

/* See space.h: the same on a machine with blocks of threads. Here a step to another kind of
 * schedule is one of THREADS (0: plain) or LANES (0: tiles). */
size_t neo_threads_values(const neo_space *x, const neo_schedule *s, neo_sched_param k,
                          int64_t out[NEO_SPACE_VALUES]);
bool neo_threads_set(const neo_space *x, const neo_schedule *s, neo_sched_param k, int64_t value,
                     neo_schedule *out);
size_t neo_threads_reshaped(const neo_space *x, const neo_schedule *s, neo_schedule *out,
                            size_t most);
/* Cheapest first, without the default. */
size_t neo_threads_ranked(const neo_space *x, neo_schedule *out, size_t most);
/* Cycles of the machine, about. */
double neo_threads_cost(const neo_space *x, const neo_schedule *s);

/* ---- what both files of it share: space_threads.c, the space; space_threads_cost.c, the price */
enum { WARP = 32, MULTIPROCESSORS = 132, RESIDENT = 2048 };
typedef enum { PLAIN, POINTS, TILES } kind;

static inline kind kind_of(const neo_schedule *s) {
  if (!s->at[NEO_SCHED_THREADS])
    return PLAIN;
  return s->at[NEO_SCHED_LANES] ? POINTS : TILES;
}

/* The last shared axis: what threads next to each other walk. */
static inline int64_t last_axis(const neo_space *x) {
  return (int64_t)x->f->axes.n - 1;
}

#endif

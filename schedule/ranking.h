/* The cheapest schedules of those that are offered, in order. Private to schedule. */
#ifndef NEO_SCHEDULE_RANKING_H
#define NEO_SCHEDULE_RANKING_H
#include "schedule/schedule.h"

typedef struct {
  neo_schedule *at;
  double *cost;
  size_t n, most;
} neo_ranking;

neo_ranking neo_ranking_new(neo_arena *a, size_t most);
/* Equal costs stay in the order in which they came. */
void neo_ranking_add(neo_ranking *r, const neo_schedule *s, double cost);

#endif

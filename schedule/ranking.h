/* Collects the cheapest of the schedules that are offered, in order of cost. Private to
 * schedule. */
#pragma once
#include "schedule/schedule.h"

typedef struct {
  neo_schedule *at;
  double *cost;
  size_t n, most;
} neo_ranking;

/* An empty ranking with room for the `most` cheapest schedules, in the arena. */
neo_ranking neo_ranking_new(neo_arena *a, size_t most);
/* Offers a schedule. Schedules of equal cost stay in the order in which they were added. */
void neo_ranking_add(neo_ranking *r, const neo_schedule *s, double cost);

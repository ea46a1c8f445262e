/* A sorted list of bounded length (ranking.h). */
#include "schedule/ranking.h"

neo_ranking neo_ranking_new(neo_arena *a, size_t most) {
  return (neo_ranking){.at = NEO_NEW_ARRAY(a, neo_schedule, most + 1),
                       .cost = NEO_NEW_ARRAY(a, double, most + 1),
                       .most = most};
}

void neo_ranking_add(neo_ranking *r, const neo_schedule *s, double cost) {
  if (!r->most || (r->n == r->most && cost >= r->cost[r->n - 1]))
    return;
  size_t k = r->n < r->most ? r->n++ : r->n - 1;
  for (; k && cost < r->cost[k - 1]; k--) {
    r->at[k] = r->at[k - 1];
    r->cost[k] = r->cost[k - 1];
  }
  r->at[k] = *s;
  r->cost[k] = cost;
}

/* How good the search is: a small space of schedules, measured whole, and the search replayed in
 * it. */
#ifndef NEO_TOOLS_TUNE_SURVEY_H
#define NEO_TOOLS_TUNE_SURVEY_H
#include "tools/tune/search.h"

typedef struct {
  neo_schedule schedule;
  double time_ns; /* <= 0: refused, or not measured */
} neo_surveyed;

/* All combinations of register tiles, packs and blocks around the model's choice that are legal and
 * sensible, the choice itself first: some hundreds. In the module's arena. */
size_t neo_survey_space(const neo_space *x, neo_surveyed **out);
/* The least time of them; 0: none has one. */
double neo_survey_best(const neo_surveyed *all, size_t n);
/* Measurements that the search takes, kept to these schedules, until one takes no longer than the
 * goal; -1: it ends before that. */
int64_t neo_survey_replay(const neo_space *x, neo_arena *a, const neo_surveyed *all, size_t n,
                          double goal_ns, uint64_t seed);
/* The median of that over seeds 1 to `seeds`; a search that ended early counts as n. */
int64_t neo_survey_median(const neo_space *x, neo_arena *a, const neo_surveyed *all, size_t n,
                          double goal_ns, int seeds);

#endif

/* For quality.c: rates the search: all schedules of a small space are measured, and the search is
 * replayed on these times. */
#pragma once
#include "tools/tune/search.h"

typedef struct {
  neo_schedule schedule;
  double time_ns; /* <= 0: refused, or not measured */
} neo_surveyed;

/* Writes all combinations of register tiles, packs and blocks around the model's choice that are
 * legal and sensible, some hundreds, the choice first. They are in the module's arena. */
size_t neo_survey_space(const neo_space *x, neo_surveyed **out);
/* The median of that number over seeds 1 to `seeds`; a search that ended early counts as n. */
int64_t neo_survey_median(const neo_space *x, neo_arena *a, const neo_surveyed *all, size_t n,
                          double goal_ns, int seeds);

/* The surrogate model of the search: it predicts the time of a schedule from the times of others, as
 * the model's cost, corrected by how far the model was off at similar schedules.
 *
 * The logarithms of (time / model's cost) are taken for a Gaussian process. A schedule is a few
 * numbers in four groups: tiles, blocks, packs, and the rest. Its error is a sum of one that
 * depends on its tile only, one on its blocks only, one on its packs only, and one on all of them;
 * so what a shorter block brought at one tile is expected of it at others. Caches are entered or
 * left at once: the covariance is Matern's of degree 3/2, whose paths may bend, over the bytes of
 * panels and blocks too. The process's mean is estimated with the rest (generalised least squares),
 * and its scale is what was predicted before, corrected by what the errors were.
 * (C. E. Rasmussen, C. K. I. Williams: Gaussian Processes for Machine Learning, 2006, algorithm
 * 2.1, sections 2.7 and 4.2.) */
#ifndef NEO_TOOLS_TUNE_SURROGATE_H
#define NEO_TOOLS_TUNE_SURROGATE_H
#include "schedule/space.h"

enum { NEO_SURROGATE_MOST = 160 }; /* schedules that are remembered: the last ones */

typedef struct neo_surrogate neo_surrogate;

/* One that knows no time yet; in the arena. */
neo_surrogate *neo_surrogate_new(neo_arena *a, const neo_space *space);
/* A schedule took so long, the model's cost of it being `cost`; both above 0. It counts once,
 * with the last time. */
void neo_surrogate_learn(neo_surrogate *b, const neo_schedule *s, double cost, double time_ns);
/* A schedule will be measured: until its time is known, it is taken to be as quick as is predicted,
 * so that similar ones promise less. */
void neo_surrogate_expect(neo_surrogate *b, const neo_schedule *s);
/* Nothing will be known of it after all. */
void neo_surrogate_forget(neo_surrogate *b, const neo_schedule *s);
/* The predicted time, and *spread: the standard deviation of its logarithm. */
double neo_surrogate_ns(neo_surrogate *b, const neo_schedule *s, double cost, double *spread);

#endif

/* What a schedule is believed to take, given what others took: the model's cost, corrected by how
 * far the model was off at schedules that are like it.
 *
 * The logarithms of (time / model's cost) are taken for a Gaussian process. A schedule is a few
 * numbers in four groups: tiles, blocks, packs, and the rest. Its error is a sum of one that
 * depends on its tile only, one on its blocks only, one on its packs only, and one on all of them;
 * so what a shorter block brought at one tile is expected of it at others. Caches are entered or
 * left at once: the covariance is Matern's of degree 3/2, whose paths may bend, over the bytes of
 * panels and blocks too. The process's mean is estimated with the rest (generalised least squares),
 * and its scale is what was believed before, corrected by what the errors were.
 * (C. E. Rasmussen, C. K. I. Williams: Gaussian Processes for Machine Learning, 2006, algorithm
 * 2.1, sections 2.7 and 4.2.) */
#ifndef NEO_TOOLS_TUNE_BELIEF_H
#define NEO_TOOLS_TUNE_BELIEF_H
#include "schedule/space.h"

enum { NEO_BELIEF_MOST = 160 }; /* schedules that are remembered: the last ones */

typedef struct neo_belief neo_belief;

/* Of nothing; in the arena. */
neo_belief *neo_belief_new(neo_arena *a, const neo_space *space);
/* A schedule took so long, the model's cost of it being `cost`; both above 0. It counts once,
 * with the last time. */
void neo_belief_learn(neo_belief *b, const neo_schedule *s, double cost, double time_ns);
/* A schedule will be measured: until it is known, it is taken to be as quick as is believed, so
 * that others like it promise less. */
void neo_belief_expect(neo_belief *b, const neo_schedule *s);
/* Nothing will be known of it after all. */
void neo_belief_forget(neo_belief *b, const neo_schedule *s);
/* The time that is believed, and *spread: the standard deviation of its logarithm. */
double neo_belief_ns(neo_belief *b, const neo_schedule *s, double cost, double *spread);

#endif

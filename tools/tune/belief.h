/* What a schedule is believed to take, given what others took: the model's cost, corrected by how
 * far the model was off at schedules that are like it.
 *
 * The logarithms of (time / model's cost) are taken for a Gaussian process over a few numbers that
 * say how schedules differ: logarithms of tiles, blocks and accumulators, bits of packs. Near a
 * measured schedule its error is expected again, far from all of them their mean, and the spread
 * says how sure that is. (C. E. Rasmussen, C. K. I. Williams: Gaussian Processes for Machine
 * Learning, 2006, algorithm 2.1.) */
#ifndef NEO_TOOLS_TUNE_BELIEF_H
#define NEO_TOOLS_TUNE_BELIEF_H
#include "schedule/space.h"

enum { NEO_BELIEF_MOST = 160 }; /* schedules that are remembered: the last ones */

typedef struct neo_belief neo_belief;

/* Of nothing; in the arena. */
neo_belief *neo_belief_new(neo_arena *a, const neo_space *space);
/* A schedule took so long, the model's cost of it being `cost`; both above 0. */
void neo_belief_learn(neo_belief *b, const neo_schedule *s, double cost, double time_ns);
/* The time that is believed, and *spread: the standard deviation of its logarithm. */
double neo_belief_ns(neo_belief *b, const neo_schedule *s, double cost, double *spread);

#endif

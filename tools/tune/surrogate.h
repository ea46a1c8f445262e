/* For search.c: the surrogate model of the search. It predicts the time of a schedule as the cost
 * model's estimate, corrected by the errors of that model at similar schedules.
 *
 * The logarithms of (time / model's cost) are modelled as a Gaussian process. A schedule's features
 * are in four groups: tiles, blocks, packs, and the rest. Its error is the sum of a term that
 * depends on its tile only, one on its blocks only, one on its packs only, and one on all features;
 * so the gain of a shorter block at one tile is expected at others too. Cache effects are abrupt,
 * so the covariance is Matern's of degree 3/2, whose paths are only once differentiable; the bytes
 * of panels and blocks are features too. The mean is estimated by generalised least squares, and
 * the scale is the prior's, corrected by the observed errors. (C. E. Rasmussen, C. K. I. Williams:
 * Gaussian Processes for Machine Learning, 2006, algorithm 2.1, sections 2.7 and 4.2.) */
#pragma once
#include "schedule/space.h"

enum { NEO_SURROGATE_MOST = 160 }; /* observations that are stored: the last ones */

typedef struct neo_surrogate neo_surrogate;

/* A model without observations, in the arena. */
neo_surrogate *neo_surrogate_new(neo_arena *a, const neo_space *space);
/* Adds an observation: a schedule's time, and its cost by the cost model; both are above 0. A
 * schedule counts once, with its last time. */
void neo_surrogate_learn(neo_surrogate *b, const neo_schedule *s, double cost, double time_ns);
/* Announces a measurement: until its time is known, the schedule is assumed to take its predicted
 * time, so that similar ones promise less. */
void neo_surrogate_expect(neo_surrogate *b, const neo_schedule *s);
/* Withdraws an announced measurement. */
void neo_surrogate_forget(neo_surrogate *b, const neo_schedule *s);
/* The predicted time; *spread: the standard deviation of its logarithm. */
double neo_surrogate_ns(neo_surrogate *b, const neo_schedule *s, double cost, double *spread);

/* The search for a group's best schedule: which candidates to measure next, given the trials so
 * far. It measures nothing itself: ask for a batch, tell the times, ask again.
 *
 *   list      the model's choice, then seeds (records of the same or similar shapes), then the
 *             model's best; then its choice with blocks of other lengths
 *   descent   steps from the three best schedules so far, and the rest of the list: first those
 *             with the shortest predicted times (surrogate.h), while one may be faster than the
 *             best; and each operand packed, or not, once
 *   genetic   children of the best schedules; of many children, those with the shortest predicted
 *             times are measured. A new best one is descended from again
 *
 * Every schedule is proposed once. The same times give the same search. */
#pragma once
#include "tools/tune/surrogate.h"

enum {
  NEO_SEARCH_FIRST = 16,
  NEO_SEARCH_HALF = 4
}; /* schedules of the model's list; those before the descent */

typedef struct {
  neo_schedule schedule;
  double time_ns; /* < 0: refused; 0: asked for, not yet told */
  double cost;    /* the model's */
  bool raced;     /* the time is that of a race */
} neo_trial;

typedef struct {
  neo_schedule schedule;
  double cost;   /* the model's */
  double low_ns; /* lower confidence bound of the time */
} neo_search_candidate;

typedef enum {
  NEO_SEARCH_LIST,
  NEO_SEARCH_DESCENT,
  NEO_SEARCH_GENETIC,
  NEO_SEARCH_OVER
} neo_search_phase;

typedef struct {
  neo_space space;
  neo_arena *arena;
  uint64_t seed;
  NEO_VEC(neo_trial) trials;  /* in the order in which they were asked for; [0]: the default */
  NEO_VEC(neo_schedule) list; /* candidates of the first phase */
  size_t listed;              /* how many of the list were proposed */
  size_t lengths;             /* how many other lengths of blocks were proposed */
  neo_surrogate *surrogate;
  neo_search_candidate *candidates; /* room for the candidates of a batch */
  neo_schedule *steps;
  neo_search_phase phase;
  uint32_t fruitless; /* genetic batches in a row without an improvement */
  size_t best;        /* number of the best trial; meaningful once one has a time */
  /* Restricts the search: false if x may not be proposed. It may replace x by another schedule.
   * Null: no restriction. */
  bool (*within)(void *ctx, neo_schedule *x);
  void *ctx;
  double step; /* relative improvement of the best time by the last batch */
} neo_search;

/* Begins a search of a space without trials, in arena `a`; equal seeds and times give equal
 * searches. */
void neo_search_init(neo_search *s, neo_arena *a, neo_space space, uint64_t seed);
/* Adds a schedule to be measured right after the default, if it is legal. Call it before the first
 * batch. */
void neo_search_seed(neo_search *s, const neo_schedule *x);
/* Sets the schedule to be measured first, in place of the model's choice, which then comes second.
 * It has to be legal. Call it before the first batch. */
void neo_search_first(neo_search *s, const neo_schedule *x);
/* The next batch: numbers of trials, at most `most`. 0: the search is over. All times have to be
 * told before the next batch. */
size_t neo_search_ask(neo_search *s, size_t *out, size_t most);
/* Tells the time of a trial of the batch in nanoseconds; below 0: it was refused. */
void neo_search_tell(neo_search *s, size_t trial, double time_ns);
/* Replaces the time of a trial by that of a race. */
void neo_search_correct(neo_search *s, size_t trial, double time_ns);
/* Adds a logged time: the schedule will not be proposed. */
void neo_search_add_logged(neo_search *s, const neo_schedule *x, double time_ns);
/* The best time so far, 0: none. */
double neo_search_best(const neo_search *s);

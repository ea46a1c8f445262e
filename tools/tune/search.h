/* The search for a group's best schedule: which candidates to measure next, given what is known. It
 * measures nothing itself: ask for a batch, tell the times, ask again.
 *
 *   list      the model's choice, then seeds (records of the same or near shapes), then the model's
 *             best
 *   descent   one parameter after the other at the best schedule so far: its next values, the most
 *             important parameters first, until a round over all of them changes nothing. It begins
 *             when half of the list is done; the other half comes after it, and if that has
 *             something better, another descent
 *   genetic   children of the best ones; of many, those are measured that look best: a child's time
 *             is guessed as its parent's, times what the model thinks of the two
 *
 * Every schedule is proposed once. The same times told give the same search. */
#ifndef NEO_TOOLS_SEARCH_H
#define NEO_TOOLS_SEARCH_H
#include "schedule/space.h"

enum { NEO_SEARCH_FIRST = 16, NEO_SEARCH_HALF = 8 }; /* of the model's list; before the descent */

typedef struct {
  neo_schedule schedule;
  double time_ns; /* < 0: refused; 0: asked for, not told yet */
  double cost;    /* the model's */
  bool raced;     /* the time is that of a careful measurement */
} neo_trial;

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
  NEO_VEC(neo_schedule) list; /* what the first phase goes through */
  size_t listed, list_until;  /* measured, of the list; where to stop for a descent */
  neo_search_phase phase;
  uint32_t parameter; /* of the descent: a place in its order */
  uint32_t unchanged; /* parameters tried since the best one changed */
  uint32_t barren;    /* genetic batches that found nothing */
  size_t best;        /* trial; meaningful once one has a time */
  bool (*within)(void *ctx,
                 const neo_schedule *x); /* what is not is never proposed; null: everything is */
  void *ctx;
  double step; /* share by which the last batch improved the best time */
} neo_search;

void neo_search_init(neo_search *s, neo_arena *a, neo_space space, uint64_t seed);
/* A schedule to measure right after the default, if it is legal. Before the first batch. */
void neo_search_seed(neo_search *s, const neo_schedule *x);
/* The next batch: numbers of trials, at most `most`. 0: the search is over. All have to be told
 * before the next one. */
size_t neo_search_ask(neo_search *s, size_t *out, size_t most);
void neo_search_tell(neo_search *s, size_t trial, double time_ns);
/* The quickest trial whose time is no careful one; the number of trials: there is none. */
size_t neo_search_unraced(const neo_search *s);
/* Another time for a trial that has one: it was measured with more care. */
void neo_search_correct(neo_search *s, size_t trial, double time_ns);
/* A time that is known from before (a log): the schedule will not be proposed. */
void neo_search_know(neo_search *s, const neo_schedule *x, double time_ns);
/* The best time so far, 0: none; and the default's. */
double neo_search_best(const neo_search *s);
/* Share of the best time that another batch is expected to save, for choosing where to go on. */
double neo_search_hope(const neo_search *s);

#endif

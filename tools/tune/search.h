/* The search for a group's best schedule: which candidates to measure next, given what is known. It
 * measures nothing itself: ask for a batch, tell the times, ask again.
 *
 *   list      the model's choice, then seeds (records of the same or near shapes), then the model's
 *             best; then its choice with blocks of other lengths
 *   descent   steps from the three best schedules so far, and the rest of the list: those first
 *             that are predicted to be quickest (surrogate.h), while one may be quicker than the best;
 *             and each operand packed, or not, once
 *   genetic   children of the best ones; of many, those are measured that are predicted to be
 *             quickest. A new best one is descended from again
 *
 * Every schedule is proposed once. The same times told give the same search. */
#ifndef NEO_TOOLS_SEARCH_H
#define NEO_TOOLS_SEARCH_H
#include "tools/tune/surrogate.h"

enum { NEO_SEARCH_FIRST = 16, NEO_SEARCH_HALF = 4 }; /* of the model's list; before the descent */

typedef struct {
  neo_schedule schedule;
  double time_ns; /* < 0: refused; 0: asked for, not told yet */
  double cost;    /* the model's */
  bool raced;     /* the time is that of a careful measurement */
} neo_trial;

typedef struct {
  neo_schedule schedule;
  double cost;   /* the model's */
  double low_ns; /* may well be as quick as that */
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
  NEO_VEC(neo_schedule) list; /* what the first phase goes through */
  size_t listed;              /* of the list, in the first phase */
  size_t lengths;             /* of other blocks that it has tried after that */
  neo_surrogate *surrogate;
  neo_search_candidate *candidates; /* room for those of a batch */
  neo_schedule *steps;
  neo_search_phase phase;
  uint32_t fruitless; /* genetic batches that found nothing */
  size_t best;        /* trial; meaningful once one has a time */
  /* What is not is never proposed; it may put another one in its place. Null: everything is. */
  bool (*within)(void *ctx, neo_schedule *x);
  void *ctx;
  double step; /* share by which the last batch improved the best time */
} neo_search;

void neo_search_init(neo_search *s, neo_arena *a, neo_space space, uint64_t seed);
/* A schedule to measure right after the default, if it is legal. Before the first batch. */
void neo_search_seed(neo_search *s, const neo_schedule *x);
/* A schedule to measure before all others, in place of the model's choice, which is the second
 * then. Legal; before the first batch. */
void neo_search_first(neo_search *s, const neo_schedule *x);
/* The next batch: numbers of trials, at most `most`. 0: the search is over. All have to be told
 * before the next one. */
size_t neo_search_ask(neo_search *s, size_t *out, size_t most);
void neo_search_tell(neo_search *s, size_t trial, double time_ns);
/* The quickest trial whose time is no careful one; the number of trials: there is none. */
size_t neo_search_unraced(const neo_search *s);
/* Another time for a trial that has one: it was measured with more care. */
void neo_search_correct(neo_search *s, size_t trial, double time_ns);
/* A time that is known from before (a log): the schedule will not be proposed. */
void neo_search_add_logged(neo_search *s, const neo_schedule *x, double time_ns);
/* The best time so far, 0: none; and the default's. */
double neo_search_best(const neo_search *s);
/* Share of the best time that another batch is expected to save, for choosing where to go on. */
double neo_search_gain(const neo_search *s);

#endif

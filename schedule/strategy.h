/* A strategy as the model, legality and the search see it: a row of functions and lists,
 * `neo_strategy_<name>`, which its folder defines. Code for all strategies (choose.c, legal.c,
 * space.c) calls the row and knows no strategy's parameters; a folder's own files call
 * its functions directly. Private to schedule and its tests. */
#pragma once
#include "schedule/ranking.h"
#include "schedule/space.h"

typedef struct {
  neo_param k;
  int64_t value;
} neo_setting;

typedef struct {
  bool nested; /* supports nested reductions (fusion/nested.h); other strategies do not get them */
  /* Its kernels have asymptotically less work than kernels over the whole domain, which are
   * therefore no rivals. */
  bool fewer_steps;

  /* The model's choice, whose legality is not checked. False: the group has no kernel of this
   * kind. */
  bool (*choose)(const neo_space *x, neo_schedule *out);
  /* Is it better than the choice of the rows before this one? Null: always. */
  bool (*pays)(const neo_space *x, const neo_schedule *s);
  /* Is it legal, as far as the strategy decides it? If not, *why (may be null) gets the reason. */
  bool (*legal)(const neo_space *x, const neo_schedule *s, neo_str *why);
  /* The model's cost, comparable within a group. */
  double (*cost)(const neo_space *x, const neo_schedule *s);
  /* The share of the points of the form's loops that its kernels visit, for prices at the largest
   * sizes: at most 1. Null: they visit all points. */
  double (*visited)(const neo_space *x, const neo_schedule *s);
  /* Adds the promising schedules of the strategy, legal ones, with their cost. Null: only
   * neighbours of the choice are candidates. */
  void (*rank)(const neo_space *x, neo_ranking *r);

  /* Writes sensible values of one of its parameters near that of s, without it. */
  size_t (*values)(const neo_space *x, const neo_schedule *s, neo_param k,
                   int64_t out[NEO_SPACE_VALUES]);
  /* Adapts other parameters after parameter k was set. from: the schedule before. Null: nothing
   * depends on it. */
  void (*propagate)(const neo_space *x, const neo_schedule *from, neo_param k, neo_schedule *s);
  /* The repair list: while a step is illegal these parameters become plain, one after the other,
   * except those that were set. */
  const neo_param *repairs;
  size_t n_repairs;
  /* Chooses units of work again once the step is legal. Null: nothing depends on the loops. */
  void (*update_units)(const neo_space *x, const neo_schedule *from, neo_schedule *s);
  /* Is it worth measuring? Null: always. */
  bool (*sensible)(const neo_space *x, const neo_schedule *s);
  /* Pairs of settings that change the shape of a tile or block but hardly its size. Returns how
   * many, at most `most`. Null: none. */
  size_t (*reshape)(const neo_space *x, const neo_schedule *s, neo_setting (*out)[2], size_t most);
  /* Starting points for a change from another strategy, at most `most`. Null: the choice alone. */
  size_t (*starts)(const neo_space *x, neo_schedule *out, size_t most);
  /* Elements along the columns: the meaning of a block of 0. Null: 1. */
  int64_t (*columns)(const neo_space *x, const neo_schedule *s);
} neo_strategy_row;

#define X(id, name, family, body, keyed, prefetches, meaning) \
  extern const neo_strategy_row neo_strategy_##name;
#include "schedule/strategy.def"
#undef X

/* The row of a strategy. */
const neo_strategy_row *neo_strategy_row_of(neo_strategy s);
/* Do the tables allow a kernel of that strategy for this form on the machine? */
bool neo_strategy_fits(const neo_space *x, neo_strategy s);

/* What a strategy is to the model, to legality and to the search: a row of functions and lists,
 * `neo_strategy_<name>`, which its folder defines. What goes for all strategies calls them by the
 * row (choose.c, legal.c, space.c, random.c) and knows no strategy's parameters; what a folder's
 * files ask of their own strategy they ask its functions, not the row. Private to schedule. */
#ifndef NEO_SCHEDULE_STRATEGY_H
#define NEO_SCHEDULE_STRATEGY_H
#include "schedule/ranking.h"
#include "schedule/space.h"

typedef struct {
  neo_param k;
  int64_t value;
} neo_setting;

typedef struct {
  bool nested; /* takes nested reductions (fusion/nested.h); strategies without do not get them */
  /* Its kernels have less work than those of strategies that go over the whole domain, so that these
   * are no rivals. */
  bool fewer_steps;

  /* The model's choice, not checked for legality. False: the group has no kernel of this kind. */
  bool (*choose)(const neo_space *x, neo_schedule *out);
  /* Is that better than what rows before this one choose? Null: always. */
  bool (*pays)(const neo_space *x, const neo_schedule *s);
  /* Is it legal, as far as this is the strategy's own matter? *why, if not null, says what is not. */
  bool (*legal)(const neo_space *x, const neo_schedule *s, neo_str *why);
  /* What it takes, as the model thinks: comparable within a group. */
  double (*cost)(const neo_space *x, const neo_schedule *s);
  /* Adds the promising ones of the strategy, legal ones with their cost. Null: only neighbours of
   * the choice are known. */
  void (*rank)(const neo_space *x, neo_ranking *r);
  /* A random one, small, to be checked for legality. False: there is none. */
  bool (*draw)(const neo_space *x, uint64_t *seed, neo_schedule *out);

  /* Sensible values of one of its parameters near that of s, without it. */
  size_t (*values)(const neo_space *x, const neo_schedule *s, neo_param k,
                   int64_t out[NEO_SPACE_VALUES]);
  /* Parameter k was set: what follows from that for the others. from: before. Null: nothing. */
  void (*follow)(const neo_space *x, const neo_schedule *from, neo_param k, neo_schedule *s);
  /* While a step is illegal these become plain, one after the other, but for those that were set. */
  const neo_param *give_way;
  size_t n_give_way;
  /* The step is legal: what is made anew. Null: nothing. */
  void (*settle)(const neo_space *x, const neo_schedule *from, neo_schedule *s);
  /* Is it worth measuring? Null: always. */
  bool (*sensible)(const neo_space *x, const neo_schedule *s);
  /* Pairs of settings that change the shape of a tile or block at about the same size. Returns how
   * many, at most `most`. Null: none. */
  size_t (*reshape)(const neo_space *x, const neo_schedule *s, neo_setting (*out)[2], size_t most);
  /* Schedules that another strategy's may be changed to, at most `most`. Null: the choice. */
  size_t (*starts)(const neo_space *x, neo_schedule *out, size_t most);
  /* Elements along the columns of a block of 0. Null: 1. */
  int64_t (*columns)(const neo_space *x, const neo_schedule *s);
} neo_strategy_row;

#define X(id, name, family, gpu, meaning) extern const neo_strategy_row neo_strategy_##name;
#include "schedule/strategy.def"
#undef X

const neo_strategy_row *neo_strategy_row_of(neo_strategy s);
/* May a group of this form have a kernel of that strategy on the machine, as far as the tables say? */
bool neo_strategy_fits(const neo_space *x, neo_strategy s);

#endif

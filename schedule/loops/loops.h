/* What strategies of loops share: legality, steps of the search, parts of the model. A schedule's
 * parameters are those of loops/params.def. Private to schedule. */
#ifndef NEO_SCHEDULE_LOOPS_H
#define NEO_SCHEDULE_LOOPS_H
#include "schedule/row_stash.h"
#include "schedule/strategy.h"

/* ---- legality (loops/legal.c): each says what is wrong */

/* Lanes, tile, blocks and units, nontemporal stores, what is stashed: for all strategies. */
bool neo_loops_legal(const neo_space *x, const neo_schedule *s, neo_str *why);
/* Units alone, without lanes and tiles. */
bool neo_loops_units_legal(const neo_space *x, const neo_schedule *s, neo_str *why);
/* No axis of the tile changes a loop's bounds. */
bool neo_loops_bounds_legal(const neo_space *x, const neo_schedule *s, neo_str *why);
/* The fused axes may be one loop. f, s: those of neo_collapsed_of. */
bool neo_loops_fused_legal(const neo_module *m, const neo_form *f, const neo_schedule *s,
                           neo_str *why);
/* There is nothing that a contraction alone has: packs, blocks of the reduction, prefetches, pairs. */
bool neo_loops_plain_legal(const neo_schedule *s, neo_str *why);
/* No axis lies beside the columns. */
bool neo_loops_columns_legal(const neo_space *x, const neo_schedule *s, neo_str *why);

/* ---- the model */

/* What a schedule's rows may stash: lanes run along them, and nothing is a tile. */
neo_stash neo_loops_stash(neo_module *m, const neo_form *f, const neo_schedule *s);

/* Adds nontemporal stores and a stash where they pay. */
void neo_loops_add_row_parts(const neo_space *x, neo_schedule *s);
/* Cost by lanes alone. */
double neo_loops_cost(const neo_space *x, const neo_schedule *s);

/* ---- the search (loops/values.c, loops/step.c): members of a row of strategy.h */

size_t neo_loops_values(const neo_space *x, const neo_schedule *s, neo_param k,
                        int64_t out[NEO_SPACE_VALUES]);
void neo_loops_follow(const neo_space *x, const neo_schedule *from, neo_param k, neo_schedule *s);
void neo_loops_settle(const neo_space *x, const neo_schedule *from, neo_schedule *s);
/* More accumulators than there are registers spill. */
bool neo_loops_sensible(const neo_space *x, const neo_schedule *s);
size_t neo_loops_reshape(const neo_space *x, const neo_schedule *s, neo_setting (*out)[2],
                         size_t most);
int64_t neo_loops_columns(const neo_space *x, const neo_schedule *s);
/* Are there other loops than before? Then units of work are made anew. */
bool neo_loops_moved(const neo_schedule *from, const neo_schedule *s);
enum { NEO_LOOPS_GIVE_WAY = 12 };
extern const neo_param neo_loops_give_way[NEO_LOOPS_GIVE_WAY];

/* Units are settled by each strategy. */
#define NEO_LOOPS_STEPS                                                                           \
  .values = neo_loops_values, .follow = neo_loops_follow, .give_way = neo_loops_give_way,         \
  .n_give_way = NEO_LOOPS_GIVE_WAY, .sensible = neo_loops_sensible, .reshape = neo_loops_reshape, \
  .columns = neo_loops_columns

/* Lanes of a vector of the group's widest element. */
int64_t neo_loops_lanes(const neo_space *x);

#endif

/* Legality, steps of the search and parts of the model for all strategies of the family `loops`,
 * whose parameters are in loops/params.def. Private to schedule. */
#pragma once
#include "schedule/row_stash.h"
#include "schedule/strategy.h"

/* ---- legality (loops/legal.c): *why says what is wrong */

/* Checks lanes, tile, blocks, units, nontemporal stores and the stash, for all strategies. It
 * refuses parameters that the schedule's strategy does not have. */
bool neo_loops_legal(const neo_space *x, const neo_schedule *s, neo_str *why);
/* Checks that there are units and neither lanes nor tiles. */
bool neo_loops_units_legal(const neo_space *x, const neo_schedule *s, neo_str *why);
/* Checks that no axis of the tile bounds a loop. */
bool neo_loops_bounds_legal(const neo_space *x, const neo_schedule *s, neo_str *why);
/* Checks that the fused axes can be one loop. f, s: of neo_collapsed_of. */
bool neo_loops_fused_legal(const neo_module *m, const neo_form *f, const neo_schedule *s,
                           neo_str *why);
/* Checks that the schedule has no parameters of contractions: packs, blocks of the reduction,
 * pairs. */
bool neo_loops_plain_legal(const neo_schedule *s, neo_str *why);
/* Checks that no separate axis is collapsed into the columns. */
bool neo_loops_columns_legal(const neo_space *x, const neo_schedule *s, neo_str *why);

/* ---- the model */

/* The values that a schedule's rows may stash: lanes run along the rows, and there is no tile. */
neo_stash neo_loops_stash(neo_module *m, const neo_form *f, const neo_schedule *s);

/* The approximate work of a unit, in elements. */
enum { NEO_UNIT_WORK = 20000 };
/* Chooses rows of the register tile for forms that read cache lines in another order than they
 * write them. False: the form does not. (loops/lines.c) */
bool neo_loops_tile_lines(neo_module *m, const neo_form *f, const neo_machine *machine,
                          neo_schedule *s);
/* Adds nontemporal stores and a stash where they pay. */
void neo_loops_add_row_parts(const neo_space *x, neo_schedule *s);
/* The cost by lanes alone. */
double neo_loops_cost(const neo_space *x, const neo_schedule *s);

/* ---- the search (loops/values.c, loops/step.c): members of a row of strategy.h */

size_t neo_loops_values(const neo_space *x, const neo_schedule *s, neo_param k,
                        int64_t out[NEO_SPACE_VALUES]);
void neo_loops_propagate(const neo_space *x, const neo_schedule *from, neo_param k,
                         neo_schedule *s);
void neo_loops_update_units(const neo_space *x, const neo_schedule *from, neo_schedule *s);
/* False: there are more accumulators than registers, so that they would spill. */
bool neo_loops_sensible(const neo_space *x, const neo_schedule *s);
size_t neo_loops_reshape(const neo_space *x, const neo_schedule *s, neo_setting (*out)[2],
                         size_t most);
int64_t neo_loops_columns(const neo_space *x, const neo_schedule *s);
/* Did the step change the loops of the kernel? Units of work are then chosen again. */
bool neo_loops_moved(const neo_schedule *from, const neo_schedule *s);
enum { NEO_LOOPS_REPAIRS = 13 };
extern const neo_param neo_loops_repairs[NEO_LOOPS_REPAIRS];

/* Members of a row that all strategies of loops share; each chooses units by itself. */
#define NEO_LOOPS_STEPS                                                                         \
  .values = neo_loops_values, .propagate = neo_loops_propagate, .repairs = neo_loops_repairs,   \
  .n_repairs = NEO_LOOPS_REPAIRS, .sensible = neo_loops_sensible, .reshape = neo_loops_reshape, \
  .columns = neo_loops_columns

/* Lanes of a vector of the group's widest element. */
int64_t neo_loops_lanes(const neo_space *x);

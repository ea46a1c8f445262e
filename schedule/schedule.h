/* A schedule is data: a strategy for a group and its parameters. An analytic model of the target
 * chooses one; its legality is checked.
 *
 * A strategy (strategy.def) is a way to run a group's loops as a kernel. Each has a family of named
 * parameters, whose meaning strategies of one family share. A schedule holds the parameters of all
 * families; those of other families have the values of a plain schedule, so that code which several
 * strategies share reads them as "none". */
#pragma once
#include "base/machine.h"
#include "fusion/group.h"
#include <stddef.h>

typedef enum {
#define X(id, name, family, body, keyed, prefetches, meaning) NEO_STRATEGY_##id,
#include "schedule/strategy.def"
#undef X
  NEO_STRATEGIES
} neo_strategy;

/* The body of a strategy's kernels, inside of their outer loops. */
typedef enum {
  NEO_BODY_TILES,  /* register tiles, in blocks */
  NEO_BODY_PAIRS,  /* tiles of pairs of bf16 */
  NEO_BODY_PASS,   /* one pass over the terms of a reduction, in order, without tiles */
  NEO_BODY_THREADS /* thread blocks in place of a loop body */
} neo_strategy_body;

#define X(family, field, plain, kind, meaning) int64_t field;
typedef struct {
#include "schedule/loops/params.def"
} neo_loop_params;
typedef struct {
#include "schedule/gpu_rows/params.def"
} neo_row_params;
typedef struct {
#include "schedule/gpu_tile/params.def"
} neo_block_params;
typedef struct {
#include "schedule/gpu_nested/params.def"
} neo_nested_params;
#undef X

typedef struct {
  neo_loop_params loops;
  neo_row_params rows;
  neo_block_params block;
  neo_nested_params nested;
} neo_schedule_params;

/* The number of a parameter among those of all families, for code that goes through all of them. */
typedef uint32_t neo_param;
enum { NEO_PARAMS = sizeof(neo_schedule_params) / sizeof(int64_t) };
#define NEO_PARAM(family, field) \
  ((neo_param)(offsetof(neo_schedule_params, family.field) / sizeof(int64_t)))

typedef struct {
  neo_strategy strategy;
  union {
    struct {
      neo_loop_params loops;
      neo_row_params rows;
      neo_block_params block;
      neo_nested_params nested;
    };
    int64_t at[NEO_PARAMS]; /* by neo_param */
  };
} neo_schedule;

/* Raised when a schedule comes to mean something else, by a new meaning of a parameter or a changed
 * lowering; records with an older number are then not used. A new parameter whose plain value means
 * the former behaviour does not raise it. */
#define NEO_SCHEDULE_MEANING 6

/* Values of `pairs`: how products of pairs of bf16 are summed, by tiles of the matrix unit or by
 * dot products of vectors (codegen/loop/tile.h). */
enum { NEO_PAIRS_TILES = 1, NEO_PAIRS_DOTS = 2 };

/* The analytic model's choice: legal for every group. */
neo_schedule neo_schedule_default(neo_module *m, const neo_group *g, const neo_machine *machine);
/* Is that choice the best of hundreds of candidates, so that it is worth keeping? It is for a
 * contraction; others are chosen by rules. */
bool neo_schedule_is_searched(neo_module *m, const neo_group *g);
/* Is the schedule legal for the group? If not, *why (may be null) gets the reason. */
bool neo_schedule_legal(neo_module *m, const neo_group *g, const neo_machine *machine,
                        const neo_schedule *s, neo_str *why);
/* Does the schedule add up each sum one term after another, in the order of its axes in the group's
 * form? Others have several sums of parts, which are added up in the end. */
bool neo_schedule_is_in_order(neo_module *m, const neo_group *g, const neo_schedule *s);
/* No lanes, no tiles, one unit: legal for every group. */
neo_schedule neo_schedule_plain(void);
/* Kinds of parameters, common to all strategies (param_kinds.def). */
typedef enum {
#define X(id, absent, meaning) NEO_PARAM_##id,
#include "schedule/param_kinds.def"
#undef X
  NEO_PARAM_KINDS
} neo_param_kind;
/* The kind of a parameter, as in param_kinds.def. */
neo_param_kind neo_param_kind_of(neo_param k);
/* The strategy's first parameter of that kind; NEO_PARAMS: it has none. */
neo_param neo_strategy_param(neo_strategy s, neo_param_kind kind);
/* The value of that parameter; for a schedule without it the value in the column `absent`. */
int64_t neo_schedule_value(const neo_schedule *s, neo_param_kind kind);
/* Whether both have the same strategy and parameters. */
bool neo_schedule_equal(const neo_schedule *a, const neo_schedule *b);
/* The columns of strategy.def; the flags say whether a strategy has what the column describes. */
neo_strategy_body neo_strategy_body_of(neo_strategy s);
bool neo_strategy_is_keyed(neo_strategy s);
bool neo_strategy_prefetches(neo_strategy s);
/* Do its kernels have thread blocks? */
static inline bool neo_strategy_has_threads(neo_strategy s) {
  return neo_strategy_body_of(s) == NEO_BODY_THREADS;
}
/* The parameters of a strategy: [first, first + n). */
typedef struct {
  neo_param first, n;
} neo_param_range;
/* The parameters of a strategy's family: a range of neo_param. */
neo_param_range neo_strategy_params(neo_strategy s);
/* Name of a parameter, and its meaning. Constant text, never null. */
const char *neo_param_text(neo_param k);
const char *neo_param_meaning(neo_param k);
/* Are all parameters plain that are not its strategy's? */
bool neo_schedule_has_own_params_only(const neo_schedule *s);
/* Prints "tile vector_axis=1 vector_width=8 ...": the strategy, then its parameters that differ
 * from a plain schedule. */
void neo_schedule_print(const neo_schedule *s, neo_str *out);
/* Parses that text; a parameter that is absent is plain. False: there is no such strategy, or a
 * parameter is unknown to it, repeated, or not a number. */
bool neo_schedule_parse(const char *text, neo_schedule *out);

/* Schedules are data: a strategy and its parameters for a group, chosen by an analytic model of the
 * target, legality checked.
 *
 * A strategy (strategy.def) is a way to make a kernel of a group's loops. Each has a family of named
 * parameters (strategy.def says which); strategies of one family share their parameters' meaning.
 * A schedule holds the parameters of all families, those of other families than its own as in a
 * plain schedule: code that several strategies share finds there what "nothing of that kind" is. */
#ifndef NEO_SCHEDULE_SCHEDULE_H
#define NEO_SCHEDULE_SCHEDULE_H
#include "base/machine.h"
#include "fusion/group.h"
#include <stddef.h>

typedef enum {
#define X(id, name, family, gpu, meaning) NEO_STRATEGY_##id,
#include "schedule/strategy.def"
#undef X
  NEO_STRATEGIES
} neo_strategy;

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

/* Parameters of all families by their number, for what goes through all of them. */
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

/* Raised when what a schedule says comes to mean something else, by another meaning of a parameter
 * or by another lowering: records of schedules from before are then not used. A new parameter whose
 * plain value means what was before does not need it. */
#define NEO_SCHEDULE_MEANING 6

/* How products of pairs of bf16 are summed, as `matrix` of a processor's schedule says it: by tiles
 * of the matrix unit, or by dots of vectors (codegen/loop/tile.h). */
enum { NEO_PAIRS_TILES = 1, NEO_PAIRS_DOTS = 2 };

/* The analytic model's choice: legal for every group. */
neo_schedule neo_schedule_default(neo_module *m, const neo_group *g, const neo_machine *machine);
/* A random legal schedule, for tests. */
neo_schedule neo_schedule_random(neo_module *m, const neo_group *g, const neo_machine *machine,
                                 uint64_t *seed);
/* *why says what is wrong. */
bool neo_schedule_legal(neo_module *m, const neo_group *g, const neo_machine *machine,
                        const neo_schedule *s, neo_str *why);
/* No lanes, no tiles, one unit: legal for every group. */
neo_schedule neo_schedule_plain(void);
/* What parameters are for, whichever strategy has them (param_kinds.def). */
typedef enum {
#define X(id, absent, meaning) NEO_PARAM_##id,
#include "schedule/param_kinds.def"
#undef X
  NEO_PARAM_KINDS
} neo_param_kind;
neo_param_kind neo_param_kind_of(neo_param k);
/* The strategy's parameter of that kind, the first one; NEO_PARAMS: it has none. */
neo_param neo_strategy_param(neo_strategy s, neo_param_kind kind);
/* The value of that, or what a schedule without it has. */
int64_t neo_schedule_value(const neo_schedule *s, neo_param_kind kind);
/* Threads of its blocks; 0: it has none. */
int64_t neo_schedule_threads(const neo_schedule *s);
bool neo_schedule_equal(const neo_schedule *a, const neo_schedule *b);
uint64_t neo_schedule_hash(const neo_schedule *s);
/* Name of a strategy, and what it is; are its kernels blocks of threads? */
const char *neo_strategy_text(neo_strategy s);
const char *neo_strategy_meaning(neo_strategy s);
bool neo_strategy_has_threads(neo_strategy s);
/* A strategy's parameters are [first, first + n). */
typedef struct {
  neo_param first, n;
} neo_param_range;
neo_param_range neo_strategy_params(neo_strategy s);
/* Name of a parameter, and what it means. */
const char *neo_param_text(neo_param k);
const char *neo_param_meaning(neo_param k);
/* Has the schedule plain values in all parameters that are not its strategy's? */
bool neo_schedule_keeps_to_strategy(const neo_schedule *s);
/* "tile vector_axis=1 vector_width=8 ...": the strategy, then its parameters that are not as in a
 * plain schedule. */
void neo_schedule_print(const neo_schedule *s, neo_str *out);
/* A parameter that is absent is as in a plain schedule. False: there is no such strategy, or one of
 * the parameters is unknown to it, repeated, or no number. */
bool neo_schedule_parse(const char *text, neo_schedule *out);

#endif

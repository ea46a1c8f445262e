/* For frontend/check: a region with iterations during checking.
 *
 * Names and instances are in the arena of the compilation. */
#pragma once
#include "frontend/sema/parts.h"

typedef struct {
  const neo_ast_name *name;
  int carry;           /* the carry whose value at the end of the iteration is collected; -1:
                          none */
  bool now;            /* has been named in the present iteration */
  NEO_VEC(neo_val) at; /* one per iteration */
} neo_collected;

struct neo_iterations {
  const neo_ast_stmt *s;
  uint32_t n; /* carries */
  const char
      *base; /* full name of the first result, unless another region or call of the instance has
                it */
  const char **name, **target, **prefix; /* one per carry, as the next four */
  neo_val *now, *next;
  neo_span *where;
  bool *is_next;
  bool last, failed;
  bool loops; /* the block is checked once for all iterations, as a loop (loops.h) */
  NEO_VEC(neo_collected) collect;
};

/* Makes room for the carries of the statement's region. */
void neo_iterations_init(neo_fe *fe, struct neo_iterations *r, const neo_ast_stmt *s);

/* The base of a region's names. */
const char *neo_iterations_base(neo_inst *in, const neo_ast_stmt *s);
/* Poisons the results of a region, so that their uses give no further messages. */
void neo_iterations_poison(neo_inst *in, const neo_ast_stmt *s);
/* Whether `next` or `collect` is allowed here; false after a report. */
bool neo_iterations_here(neo_inst *in, const neo_ast_stmt *s) NEO_MUST_CHECK;
/* The number of the carry; -1: none. */
int neo_iterations_carry(const struct neo_iterations *r, const char *name);
/* The value of a carry in the present iteration, or before the first; NULL: the carry has no
 * indices. */
const neo_view *neo_iterations_view(const struct neo_iterations *r, const char *name);
/* Whether a repeat of `count` iterations is large enough to be checked once for all of them
 * (rolled.c). */
bool neo_repeat_is_loop(neo_inst *in, const neo_ast_stmt *s, int64_t count);
/* The ends declared for the next value of a loop's carry; none if there are none. (loops.c) */
void neo_iterations_ends(const struct neo_iterations *r, const char *name, neo_ends *ends);
/* The number of a repeat within the iteration around it, the same in every execution of that
 * iteration. */
uint32_t neo_iterations_number(neo_inst *in, const neo_ast_stmt *s);
/* The instance for iteration `at` of `count`. */
neo_inst *neo_iteration_enter(neo_inst *in, struct neo_iterations *r, const char *prefix,
                              uint32_t region, int64_t at, int64_t count);
/* Gives the carries their next values; `iterations` iterations have run. */
void neo_iteration_leave(neo_inst *in, struct neo_iterations *r, size_t iterations);
/* Binds the results, carries and then what is collected, after `count` iterations. */
void neo_iterations_bind(neo_inst *in, struct neo_iterations *r, int64_t count);
/* Whether there is a name for each carry and each collected tensor; if not, reports it and poisons
 * the names. */
bool neo_iterations_counted(neo_inst *in, const struct neo_iterations *r,
                            const char *word) NEO_MUST_CHECK;

/* Whether an arm of a `case` is the one for the value x; an `else` matches all. */
bool neo_arm_matches(const neo_ast_arm *a, neo_lit x);
/* Binds the results of a `case` to the symbols of these names in the scope of its arm. */
void neo_arm_bind(neo_inst *in, const neo_ast_stmt *s, const neo_ast_arm *a, const neo_scope *own);

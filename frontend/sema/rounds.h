/* A region with rounds while it is checked; frontend/check runs its statements. */
#pragma once
#include "frontend/sema/parts.h"

typedef struct {
  const neo_ast_name *name;
  int carry;           /* of which the value at the end of the round is meant; -1: of none */
  bool now;            /* it has been named in the round at hand */
  NEO_VEC(neo_val) at; /* a round each */
} neo_collected;

struct neo_rounds {
  const neo_ast_stmt *s;
  uint32_t n; /* carries */
  const char
      *base; /* full name of the first result, but no other region's or call's in the instance */
  const char **name, **target, **prefix; /* a carry each, as the next four */
  neo_val *now, *next;
  neo_span *where;
  bool *is_next;
  bool last, failed;
  bool loops; /* the block is checked once for all rounds, which loops.h defines */
  NEO_VEC(neo_collected) collect;
};

/* Makes room for the carries of the statement's region. */
void neo_rounds_init(neo_fe *fe, struct neo_rounds *r, const neo_ast_stmt *s);

/* The base of a region's names. */
const char *neo_rounds_base(neo_inst *in, const neo_ast_stmt *s);
/* Poisons the results of a region, so that their uses give no further messages. */
void neo_rounds_poison(neo_inst *in, const neo_ast_stmt *s);
/* May `next` or `collect` stand here? Reports it if not. */
bool neo_rounds_here(neo_inst *in, const neo_ast_stmt *s) NEO_MUST_CHECK;
int neo_rounds_carry(const struct neo_rounds *r, const char *name); /* its number; -1 */
/* The value of a carry in the round at hand, or before the first; NULL: it has no indices. */
const neo_view *neo_rounds_view(const struct neo_rounds *r, const char *name);
/* Is a repeat of `count` rounds checked once for all of them, as it is large? (rolled.c) */
bool neo_repeat_is_loop(neo_inst *in, const neo_ast_stmt *s, int64_t count);
/* The ends that were written for a carry of a loop, for its next value; else nothing. (loops.c) */
void neo_rounds_ends(const struct neo_rounds *r, const char *name, neo_ends *ends);
/* The number of a repeat within the round around it, the same in every run of that round. */
uint32_t neo_rounds_number(neo_inst *in, const neo_ast_stmt *s);
/* The instance for round `at` of `count`. */
neo_inst *neo_round_enter(neo_inst *in, struct neo_rounds *r, const char *prefix, uint32_t region,
                          int64_t at, int64_t count);
/* Carries take their next values; `rounds`: how many have run. */
void neo_round_leave(neo_inst *in, struct neo_rounds *r, size_t rounds);
void neo_rounds_bind(neo_inst *in, struct neo_rounds *r, int64_t count);
/* Is there a name for each carry and each collected tensor? If not, reports it and poisons them. */
bool neo_rounds_counted(neo_inst *in, const struct neo_rounds *r, const char *word) NEO_MUST_CHECK;

bool neo_arm_matches(const neo_ast_arm *a, neo_lit x);
/* Binds the results of a `case` to the symbols of those names in the scope of its arm. */
void neo_arm_bind(neo_inst *in, const neo_ast_stmt *s, const neo_ast_arm *a, const neo_scope *own);

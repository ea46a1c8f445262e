/* A `scan` while it is checked; frontend/check runs its statements. */
#ifndef NEO_FRONTEND_SEMA_LOOPS_H
#define NEO_FRONTEND_SEMA_LOOPS_H
#include "frontend/sema/rounds.h"

typedef struct {
  struct neo_rounds r; /* r.now holds the first values of the carries */
  neo_inst *in, *body;
  neo_expr count;                    /* of the rounds: a size */
  const char *prefix;                /* full name of the first result */
  neo_tensor stack[NEO_MAX_RESULTS]; /* of each carry its values at the start of each round */
  neo_tensor next[NEO_MAX_RESULTS];  /* and at its end */
} neo_loop;

/* The loop of a statement; its first values are still to be found. */
neo_loop *neo_loop_new(neo_inst *in, const neo_ast_stmt *s, neo_expr count);
/* Makes the instance of the body, in which the carries are known; false after a report. */
bool neo_loop_enter(neo_loop *l) NEO_MUST_CHECK;
/* Defines the stacks of the carries by what the body gave; false after a report. */
bool neo_loop_leave(neo_loop *l) NEO_MUST_CHECK;
void neo_loop_bind(neo_loop *l);

#endif

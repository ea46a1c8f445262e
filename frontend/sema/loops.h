/* A `scan` or a `while` as it is checked; frontend/check runs its statements. */
#pragma once
#include "frontend/sema/rounds.h"

typedef struct {
  struct neo_rounds r; /* r.now holds the first values of the carries */
  neo_inst *in, *body;
  neo_expr count;     /* of the rounds, at most: a size */
  const char *prefix; /* r.base */
  neo_tensor *stack;  /* of each carry its values at the start of each round */
  neo_tensor *next;   /* and at its end */
  neo_tensor alive;   /* WHILE: does the round run? */
  neo_tensor ran;     /* WHILE: how many ran up to it */
} neo_loop;

/* The loop of a statement; its first values are still to be found. */
neo_loop *neo_loop_new(neo_inst *in, const neo_ast_stmt *s, neo_expr count);
/* Makes the instance of the body, in which the carries are known; false after a report. */
bool neo_loop_enter(neo_loop *l) NEO_MUST_CHECK;
/* Takes the condition of a while, in a frame of the body without indices; false after a report. */
bool neo_loop_test(neo_loop *l, neo_frame *f, neo_expr condition) NEO_MUST_CHECK;
/* Does the condition of a while read only what is there before the block runs? Reports it if not. */
bool neo_loop_test_is_early(neo_loop *l) NEO_MUST_CHECK;
/* Defines the stacks of the carries by what the body gave; false after a report. */
bool neo_loop_leave(neo_loop *l) NEO_MUST_CHECK;
void neo_loop_bind(neo_loop *l);

/* ---- parts of these (loops.c) */
const neo_ast_region *neo_loop_region(const neo_loop *l);
const neo_ast_bind *neo_loop_carry(const neo_loop *l, uint32_t k);
bool neo_loop_is_while(const neo_loop *l);
const char *neo_loop_name(const neo_loop *l, uint32_t k, const char *what); /* "x.h.what" */
/* The bound that is declared for a carry; 0: none. */
neo_expr neo_loop_bound(const neo_loop *l, uint32_t k);
neo_ends neo_loop_ends(const neo_loop *l, uint32_t k);          /* of its stack */
neo_val neo_loop_in_round(const neo_loop *l, neo_tensor stack); /* as the body sees it */

/* ---- a while (alive.c) */
/* The carry goes on with its next value where the round runs; false after a report. */
bool neo_loop_select(neo_loop *l, uint32_t k) NEO_MUST_CHECK;
/* A tensor of the body with zeros where the round does not run. */
neo_val neo_loop_zero(neo_loop *l, neo_val v, neo_val rounds, const char *full, neo_span at);
neo_val neo_loop_rounds(neo_loop *l); /* how many ran */

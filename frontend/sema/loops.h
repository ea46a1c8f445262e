/* For frontend/check: a `scan` or a `while` during checking.
 *
 * Loops and names are in the arena of the compilation; nodes of the tree are the tree's. */
#pragma once
#include "frontend/sema/iterations.h"

typedef struct {
  struct neo_iterations r; /* r.now holds the initial values of the carries */
  neo_inst *in, *body;
  neo_expr count;     /* the largest number of iterations, a size */
  const char *prefix; /* r.base */
  neo_tensor *stack;  /* per carry: its values at the start of each iteration */
  neo_tensor *next;   /* per carry: its values at the end of each iteration */
  neo_tensor alive;   /* WHILE: whether the iteration runs */
  neo_tensor ran;     /* WHILE: the number of iterations that ran up to this one */
} neo_loop;

/* Makes the loop of a statement, without initial values. */
neo_loop *neo_loop_new(neo_inst *in, const neo_ast_stmt *s, neo_expr count);
/* Makes the instance of the body, in which the carries are defined; false after a report. */
bool neo_loop_enter(neo_loop *l) NEO_MUST_CHECK;
/* Sets the condition of a while, in a frame of the body without indices; false after a report. */
bool neo_loop_test(neo_loop *l, neo_frame *f, neo_expr condition) NEO_MUST_CHECK;
/* Whether the condition of a while reads only tensors that exist before the block runs; false after
 * a report. */
bool neo_loop_test_is_early(neo_loop *l) NEO_MUST_CHECK;
/* Defines the stacks of the carries from the body's values; false after a report. */
bool neo_loop_leave(neo_loop *l) NEO_MUST_CHECK;
/* Binds the results of the loop, carries and then what is collected, to the statement's names. */
void neo_loop_bind(neo_loop *l);

/* ---- accessors (loops.c), for alive.c */
/* The block of the loop, with its kind and its carries. */
const neo_ast_region *neo_loop_region(const neo_loop *l);
/* The k-th carry as it is written. */
const neo_ast_bind *neo_loop_carry(const neo_loop *l, uint32_t k);
const char *neo_loop_name(const neo_loop *l, uint32_t k, const char *what); /* "x.h.what" */
/* The declared bound of a carry; 0: none. */
neo_expr neo_loop_bound(const neo_loop *l, uint32_t k);
/* The bounds of the elements of a carry's stack. */
neo_ends neo_loop_ends(const neo_loop *l, uint32_t k);
neo_val neo_loop_in_iteration(const neo_loop *l, neo_tensor stack); /* as the body sees it */

/* ---- a while (alive.c), for loops.c */
/* Makes the carry keep its old value where the iteration does not run; false after a report. */
bool neo_loop_select(neo_loop *l, uint32_t k) NEO_MUST_CHECK;
neo_val neo_loop_iterations(neo_loop *l); /* how many ran */

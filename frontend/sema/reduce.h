/* A reduction during checking; the reducers of frontend/check supply its axes and its operand. */
#pragma once
#include "frontend/sema/parts.h"

typedef struct {
  const neo_ast_expr *e;
  uint32_t base, n_own;     /* axes before it; axes that it binds */
  size_t n_assume, n_reads; /* conditions and reads before it */
  neo_reducer reducer;
  neo_expr body[2], where, finish;
  neo_expr least, bound; /* its result is in [least, bound) at this point; 0: not known */
  uint32_t n_body;
  uint64_t uses; /* outer axes that it uses, a bit each */
  bool guarded;  /* `where` has conditions from around the reduction */
} neo_reduction;

/* ---- reduce.c, for frontend/check */
/* Chooses reducer, bodies, finish and bound once the first body is set; false after a report. */
bool neo_reduction_choose(neo_frame *f, neo_reduction *r) NEO_MUST_CHECK;
/* The ends of the reduction's value at all points of the axes around it, after conditions were
 * added. (`least` and `bound` of the record hold at its own point alone.) */
neo_ends neo_reduction_ends(neo_frame *f, const neo_reduction *r);
/* Whether the reduction is over a pack of rank 0: it has one point, its value is the body itself,
 * and its position is 0. */
bool neo_reduction_is_scalar(const neo_reduction *r);
neo_val neo_reduction_scalar(neo_frame *f, const neo_reduction *r);

/* ---- hoist.c, for frontend/check */
/* Adds to the reduction's `where` those conditions around it that its reads need. */
void neo_reduction_guard(neo_frame *f, neo_reduction *r);
/* The value of the reduction in its expression. It becomes the statement's own reduction, or a
 * definition of its own (hoisted). */
neo_val neo_reduction_place(neo_frame *f, const neo_reduction *r);
/* Records the reads of its value, once the reduction is closed. */
void neo_reduction_remember(neo_frame *f, neo_val v);
/* Removes its axes, conditions and reads from the frame. */
void neo_reduction_close(neo_frame *f, const neo_reduction *r);

/* A reduction while it is checked; the reducers of frontend/check give it its axes and what is inside. */
#pragma once
#include "frontend/sema/parts.h"

typedef struct {
  const neo_ast_expr *e;
  uint32_t base, n_own;     /* axes before, and bound here */
  size_t n_assume, n_reads; /* before */
  neo_reducer reducer;
  neo_expr body[2], where, finish;
  neo_expr least, bound; /* its result lies in [least, bound) at its place; 0: not known */
  uint32_t n_body;
  uint64_t uses; /* outer axes, a bit each */
  bool guarded;  /* `where` has conditions of its place */
} neo_reduction;

/* ---- reduce.c */
/* From the first body: reducer, bodies, finish and bound; false after a report. */
bool neo_reduction_choose(neo_frame *f, neo_reduction *r) NEO_MUST_CHECK;
/* What is known of the value wherever the axes around may be, once conditions were added: least and bound are
 * what it has at its place. */
neo_ends neo_reduction_ends(neo_frame *f, const neo_reduction *r);
/* A reduction over a pack of rank 0 has one point: its value is the body itself, its position is
 * 0. */
bool neo_reduction_is_scalar(const neo_reduction *r);
neo_val neo_reduction_scalar(neo_frame *f, const neo_reduction *r);

/* ---- hoist.c */
/* Adds to the reduction's `where` the conditions around it that its reads need. */
void neo_reduction_guard(neo_frame *f, neo_reduction *r);
/* The value of the reduction where it stands. It becomes the statement's own reduction, or a
 * definition of its own (hoisted). */
neo_val neo_reduction_place(neo_frame *f, const neo_reduction *r);
/* Records what its value reads, once it is closed. */
void neo_reduction_remember(neo_frame *f, neo_val v);
/* Takes its axes, conditions and reads off the frame. */
void neo_reduction_close(neo_frame *f, const neo_reduction *r);

/* The integers that an expression can be, from the declared bounds of sizes and elements and from the
 * bounds of axes: an interval, by each operator. Where the exact value of a sum, a difference or a
 * product may leave i64 the operator may wrap, and nothing is known of what it gives. */
#pragma once
#include "ir/ir.h"

typedef struct {
  int64_t least, most;
} neo_reach;

typedef struct { /* a definition's axes, and what is known of expressions over them */
  neo_module *m;
  const neo_axis_rec *axes; /* AXIS k is axes[k]; of others nothing is known */
  uint32_t n_axes;
  neo_map known; /* expression -> neo_reach * */
} neo_reaches;

/* The arena keeps what is found; the axes have to live as long. */
void neo_reaches_init(neo_reaches *r, neo_module *m, neo_arena *arena, const neo_axis_rec *axes,
                      uint32_t n_axes);
/* e: of integer type, or bool (false is 0). */
neo_reach neo_reach_of(neo_reaches *r, neo_expr e);
/* Is it a sum, a difference, a product or a negation in i64? */
bool neo_expr_is_whole_sum(const neo_module *m, neo_expr e);
/* May it be one whose exact value does not fit? */
bool neo_reach_wraps(neo_reaches *r, neo_expr e);
/* Or may any that e is made of? */
bool neo_reach_wraps_inside(neo_reaches *r, neo_expr e);

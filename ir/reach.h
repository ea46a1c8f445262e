/* The integers that an expression can be, from the declared bounds of sizes and elements and from
 * the bounds of axes: an interval, operator by operator. If the exact value of a sum, a difference
 * or a product may leave i64, the operator may wrap, and its result may be anything. */
#pragma once
#include "ir/ir.h"

typedef struct {
  int64_t least, most;
} neo_reach;

typedef struct { /* a definition's axes, and memoised results over them */
  neo_module *m;
  const neo_axis_rec *axes; /* AXIS k is axes[k]; any value for others */
  uint32_t n_axes;
  neo_map known; /* expression -> neo_reach * */
} neo_reaches;

/* Results are in the arena; `axes` must live as long as *r. */
void neo_reaches_init(neo_reaches *r, neo_module *m, neo_arena *arena, const neo_axis_rec *axes,
                      uint32_t n_axes);
/* Whether e is a sum, a difference, a product or a negation in i64. */
bool neo_expr_is_whole_sum(const neo_module *m, neo_expr e);
/* Whether e is one whose exact value may not fit. */
bool neo_reach_wraps(neo_reaches *r, neo_expr e);
/* Whether e, or any expression that it contains, is one. */
bool neo_reach_wraps_inside(neo_reaches *r, neo_expr e);

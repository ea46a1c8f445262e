/* Ranges of integers: sets [lo, hi] that hold every value that a thing may have.
 *
 * INT64_MIN as `lo` and INT64_MAX as `hi` mean that nothing is known on that side. Results are those of exact
 * integers, which may lie outside of i64: ends saturate outwards. No range is empty, because an
 * empty one would prove everything: statements that contradict each other tell nothing, and so does
 * an index of no values. */
#pragma once
#include "ir/ir.h"

typedef struct {
  int64_t lo, hi; /* lo <= hi */
} neo_range;

neo_range neo_range_all(void);
neo_range neo_range_of(int64_t lo, int64_t hi); /* everything if lo > hi */
neo_range neo_range_below(int64_t end);         /* x < end; everything if end is INT64_MAX */
neo_range neo_type_range(neo_type t);
/* Is every value of the range one of the type? For i64, no end may be unknown. */
bool neo_range_fits(neo_range r, neo_type t);
static inline bool neo_range_is_known(neo_range r) {
  return r.lo != INT64_MIN && r.hi != INT64_MAX;
}

/* What both say; everything if they contradict each other. */
neo_range neo_range_meet(neo_range a, neo_range b);
neo_range neo_range_join(neo_range a, neo_range b); /* one or the other */

neo_range neo_range_add(neo_range a, neo_range b);
neo_range neo_range_mul(neo_range a, neo_range b);
neo_range neo_range_square(neo_range a); /* x*x of one x */
neo_range neo_range_min(neo_range a, neo_range b);
neo_range neo_range_max(neo_range a, neo_range b);
/* Rounded down, with the remainder of the divisor's sign; by zero, both are 0. */
neo_range neo_range_div(neo_range a, neo_range b);
neo_range neo_range_mod(neo_range a, neo_range b);

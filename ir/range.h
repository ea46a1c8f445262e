/* Ranges of integers: [lo, hi] contains every value that a thing may have.
 *
 * lo = INT64_MIN and hi = INT64_MAX mean that nothing is known on that side. Results are those of
 * exact integers, which may be outside of i64: ends saturate outwards. No range is empty, because
 * an empty one would prove everything: contradictory statements give the range of everything, and
 * so does an index without values. */
#pragma once
#include "ir/ir.h"

typedef struct {
  int64_t lo, hi; /* lo <= hi */
} neo_range;

/* The range of an integer of which nothing is known. */
neo_range neo_range_all(void);
neo_range neo_range_of(int64_t lo, int64_t hi); /* everything if lo > hi */
neo_range neo_range_below(int64_t end);         /* x < end; everything if end is INT64_MAX */
/* The range of all values of an integer type. */
neo_range neo_type_range(neo_type t);
/* Whether the type has every value of the range. For i64, both ends must be known. */
bool neo_range_fits(neo_range r, neo_type t);
static inline bool neo_range_is_known(neo_range r) {
  return r.lo != INT64_MIN && r.hi != INT64_MAX;
}

/* The intersection; everything if it is empty. */
neo_range neo_range_meet(neo_range a, neo_range b);
neo_range neo_range_join(neo_range a, neo_range b); /* one or the other */

/* Ranges of a + b, a*b, min(a, b) and max(a, b) for all values in both ranges. */
neo_range neo_range_add(neo_range a, neo_range b);
neo_range neo_range_mul(neo_range a, neo_range b);
neo_range neo_range_square(neo_range a); /* x*x of one x */
neo_range neo_range_min(neo_range a, neo_range b);
neo_range neo_range_max(neo_range a, neo_range b);
/* Division rounds down, and the remainder has the divisor's sign; by zero, both are 0. */
neo_range neo_range_div(neo_range a, neo_range b);
neo_range neo_range_mod(neo_range a, neo_range b);

/* See range.h. */
#include "ir/range.h"
#include "ir/prove/poly.h"

neo_range neo_range_all(void) {
  return (neo_range){INT64_MIN, INT64_MAX};
}

/* A known end never has the value that means "unknown" at the other end, so that the corner
 * products of a multiplication tell an infinite end from a large one. */
neo_range neo_range_of(int64_t lo, int64_t hi) {
  if (lo > hi)
    return neo_range_all();
  return (neo_range){lo == INT64_MAX ? lo - 1 : lo, hi == INT64_MIN ? hi + 1 : hi};
}

neo_range neo_range_below(int64_t end) {
  if (end == INT64_MIN || end == INT64_MAX)
    return neo_range_all();
  return neo_range_of(INT64_MIN, end - 1);
}

neo_range neo_type_range(neo_type t) {
  switch (t) {
  case NEO_I32_T:
    return (neo_range){INT32_MIN, INT32_MAX};
  case NEO_I8_T:
    return (neo_range){INT8_MIN, INT8_MAX};
  case NEO_U8_T:
    return (neo_range){0, UINT8_MAX};
  case NEO_BOOL_T:
    return (neo_range){0, 1};
  default:
    return neo_range_all();
  }
}

bool neo_range_fits(neo_range r, neo_type t) {
  neo_range all = neo_type_range(t);
  if (t == NEO_I64_T) /* its ends also stand for "unknown" */
    return r.lo > all.lo && r.hi < all.hi;
  return r.lo >= all.lo && r.hi <= all.hi;
}

static int64_t saturate(__int128 x) {
  if (x <= INT64_MIN)
    return INT64_MIN;
  return x >= INT64_MAX ? INT64_MAX : (int64_t)x;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

neo_range neo_range_meet(neo_range a, neo_range b) {
  return neo_range_of(most(a.lo, b.lo), least(a.hi, b.hi));
}

neo_range neo_range_join(neo_range a, neo_range b) {
  return neo_range_of(least(a.lo, b.lo), most(a.hi, b.hi));
}

static bool infinite(int64_t x) {
  return x == INT64_MIN || x == INT64_MAX;
}

neo_range neo_range_add(neo_range a, neo_range b) {
  neo_range y;
  y.lo = infinite(a.lo) || infinite(b.lo) ? INT64_MIN : saturate((__int128)a.lo + b.lo);
  y.hi = infinite(a.hi) || infinite(b.hi) ? INT64_MAX : saturate((__int128)a.hi + b.hi);
  return neo_range_of(y.lo, y.hi);
}

/* A product of ends: an infinite end times zero is zero. */
static int64_t end_mul(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return 0;
  if (infinite(a) || infinite(b))
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  return saturate((__int128)a * b);
}

neo_range neo_range_mul(neo_range a, neo_range b) {
  int64_t p = end_mul(a.lo, b.lo), q = end_mul(a.lo, b.hi), r = end_mul(a.hi, b.lo),
          t = end_mul(a.hi, b.hi);
  return neo_range_of(least(least(p, q), least(r, t)), most(most(p, q), most(r, t)));
}

neo_range neo_range_square(neo_range a) {
  int64_t p = end_mul(a.lo, a.lo), q = end_mul(a.hi, a.hi);
  return neo_range_of(a.lo < 0 && a.hi > 0 ? 0 : least(p, q), most(p, q));
}

neo_range neo_range_min(neo_range a, neo_range b) {
  return neo_range_of(least(a.lo, b.lo), least(a.hi, b.hi));
}

neo_range neo_range_max(neo_range a, neo_range b) {
  return neo_range_of(most(a.lo, b.lo), most(a.hi, b.hi));
}

static int64_t div_end(int64_t a, int64_t n) {
  if (infinite(a))
    return a;
  if (n == INT64_MAX)
    return a < 0 ? -1 : 0;
  return neo_div_floor(a, n);
}

/* a / n for n in [lo, hi], lo > 0. */
static neo_range div_positive(neo_range a, int64_t lo, int64_t hi) {
  return neo_range_of(least(div_end(a.lo, lo), div_end(a.lo, hi)),
                      most(div_end(a.hi, lo), div_end(a.hi, hi)));
}

neo_range neo_range_div(neo_range a, neo_range b) {
  if (b.lo < 0) { /* |x/n| <= |x| */
    if (!neo_range_is_known(a))
      return neo_range_all();
    int64_t m = most(a.lo < 0 ? -a.lo : a.lo, a.hi < 0 ? -a.hi : a.hi);
    return neo_range_of(-m, m);
  }
  const neo_range zero = {0, 0};
  if (b.hi == 0)
    return zero;
  return b.lo > 0 ? div_positive(a, b.lo, b.hi) : neo_range_join(div_positive(a, 1, b.hi), zero);
}

neo_range neo_range_mod(neo_range a, neo_range b) {
  neo_range y;
  if (b.lo == INT64_MIN)
    return neo_range_all();
  y.lo = b.lo < 0 ? b.lo + 1 : 0;
  y.hi = b.hi <= 0 ? 0 : b.hi == INT64_MAX ? INT64_MAX : b.hi - 1;
  if (b.lo >= 0 && a.lo >= 0)
    y.hi = least(y.hi, a.hi);
  return neo_range_of(y.lo, y.hi);
}

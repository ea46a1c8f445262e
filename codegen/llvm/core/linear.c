/* Sums of multiples (gen.h: neo_ll_lin), and arithmetic with them. Terms are added from the
 * outermost loop inwards, so that invariant partial sums can move out of loops. Quotients and
 * remainders by constants are split if the divisible part is known: (16*i + l) / 8 is 2*i + l/8.
 * For lanes the result is a constant pattern: for lanes l in 0..4, (16*i + l) / 2 is 8*i + {0, 0,
 * 1, 1}. */
#include "base/whole.h"
#include "codegen/llvm/gen.h"
#include <string.h>

enum { MAX_TERMS = sizeof((neo_ll_lin *)0)->t / sizeof((neo_ll_lin *)0)->t[0] };

static bool mul_over(int64_t a, int64_t b, int64_t *out) {
  return __builtin_mul_overflow(a, b, out);
}

static bool add_over(int64_t a, int64_t b, int64_t *out) {
  return __builtin_add_overflow(a, b, out);
}

bool neo_ll_lin_add(neo_ll_lin *x, LLVMValueRef v, int64_t coef, uint32_t depth, int64_t multiple) {
  uint32_t at = 0;
  for (uint32_t k = 0; k < x->n; k++)
    if (x->t[k].v == v)
      return !add_over(x->t[k].coef, coef, &x->t[k].coef);
  if (x->n == MAX_TERMS)
    return false;
  while (at < x->n && x->t[at].depth <= depth)
    at++;
  memmove(&x->t[at + 1], &x->t[at], (x->n - at) * sizeof x->t[0]);
  x->t[at].v = v;
  x->t[at].coef = coef;
  x->t[at].depth = depth;
  x->t[at].multiple = multiple;
  x->n++;
  return true;
}

static bool add_term(neo_ll_lin *x, LLVMValueRef v, int64_t coef, uint32_t depth) {
  return neo_ll_lin_add(x, v, coef, depth, 1);
}

int64_t neo_ll_lane_offset(const neo_ll_lin *x, uint32_t lane) {
  uint64_t more = x->pattern ? (uint64_t)x->pattern[lane] : 0;
  return (int64_t)((uint64_t)x->step * lane + more); /* wraps, as integers do */
}

bool neo_ll_lin_is_constant(const neo_ll_lin *x) {
  if (x->step || x->stride || x->pattern)
    return false;
  for (uint32_t k = 0; k < x->n; k++)
    if (x->t[k].coef)
      return false;
  return true;
}

static LLVMValueRef times(neo_ll_gen *g, LLVMValueRef v, int64_t c) {
  return c == 1 ? v : LLVMBuildMul(g->l->b, v, neo_ll_int64(g->l, c), "");
}

static LLVMValueRef plus(neo_ll_gen *g, LLVMValueRef a, LLVMValueRef b) {
  return a && b ? LLVMBuildAdd(g->l->b, a, b, "") : a ? a : b;
}

/* Sets x's offsets of lanes, relative to lane 0: a step, or a pattern if they are no multiples of
 * the lane. False: an offset is too large. */
static bool set_lanes(neo_ll_gen *g, neo_ll_lin *x, const int64_t *offset) {
  int64_t step = g->width > 1 ? offset[1] - offset[0] : 0, *pattern = NULL;
  for (uint32_t k = 0; k < g->width; k++) {
    if (offset[k] > INT32_MAX || offset[k] < INT32_MIN)
      return false;
    if (offset[k] - offset[0] != step * (int64_t)k && !pattern)
      pattern = NEO_NEW_ARRAY(g->l->arena, int64_t, g->width);
  }
  x->c += offset[0];
  x->step = pattern ? 0 : step;
  x->pattern = pattern;
  for (uint32_t k = 0; pattern && k < g->width; k++)
    pattern[k] = offset[k] - offset[0];
  return true;
}

/* z's lanes are those of x + k*y. */
static bool add_lanes(neo_ll_gen *g, const neo_ll_lin *x, int64_t k, const neo_ll_lin *y,
                      neo_ll_lin *z) {
  int64_t *offset = NEO_NEW_ARRAY(g->l->arena, int64_t, g->width), far;
  for (uint32_t i = 0; i < g->width; i++) {
    if (mul_over(k, neo_ll_lane_offset(y, i), &far))
      return false;
    if (add_over(far, neo_ll_lane_offset(x, i), &offset[i]))
      return false;
  }
  return set_lanes(g, z, offset);
}

bool neo_ll_lin_add_scaled(neo_ll_gen *g, const neo_ll_lin *x, int64_t k, const neo_ll_lin *y,
                           neo_ll_lin *out) {
  int64_t c;
  neo_ll_lin z = *x;
  if (mul_over(k, y->c, &c) || add_over(z.c, c, &z.c))
    return false;
  if (mul_over(k, y->step, &c) || add_over(z.step, c, &z.step))
    return false;
  if (y->stride)
    z.stride = plus(g, z.stride, times(g, y->stride, k));
  for (uint32_t i = 0; i < y->n; i++)
    if (mul_over(k, y->t[i].coef, &c) ||
        !neo_ll_lin_add(&z, y->t[i].v, c, y->t[i].depth, y->t[i].multiple))
      return false;
  if ((x->pattern || y->pattern) && !add_lanes(g, x, k, y, &z))
    return false;
  *out = z;
  return true;
}

LLVMValueRef neo_ll_linear_value(neo_ll_gen *g, const neo_ll_lin *x, bool with_constant,
                                 uint32_t *depth) {
  LLVMValueRef sum = NULL;
  if (depth)
    *depth = 0;
  for (uint32_t k = 0; k < x->n; k++) {
    if (!x->t[k].coef)
      continue;
    sum = plus(g, sum, times(g, x->t[k].v, x->t[k].coef));
    if (depth && x->t[k].depth > *depth)
      *depth = x->t[k].depth;
  }
  if (with_constant && (x->c || !sum))
    sum = plus(g, sum, neo_ll_int64(g->l, x->c));
  return sum;
}

/* x * v for a uniform v: each term by itself. */
static bool distribute(neo_ll_gen *g, const neo_ll_lin *x, LLVMValueRef v, uint32_t depth,
                       neo_ll_lin *out) {
  neo_ll_lin z = {0};
  if (x->pattern)
    return false;
  if (x->c && !add_term(&z, v, x->c, depth))
    return false;
  for (uint32_t k = 0; k < x->n; k++) {
    LLVMValueRef p = LLVMBuildMul(g->l->b, x->t[k].v, v, "");
    if (!add_term(&z, p, x->t[k].coef, depth > x->t[k].depth ? depth : x->t[k].depth))
      return false;
  }
  LLVMValueRef stride = plus(g, x->step ? times(g, v, x->step) : NULL,
                             x->stride ? LLVMBuildMul(g->l->b, x->stride, v, "") : NULL);
  z.stride = stride;
  *out = z;
  return true;
}

bool neo_ll_lin_multiply(neo_ll_gen *g, const neo_ll_lin *x, const neo_ll_lin *y, neo_ll_lin *out) {
  neo_ll_lin zero = {0};
  if (neo_ll_lin_is_constant(x))
    return neo_ll_lin_add_scaled(g, &zero, x->c, y, out);
  if (neo_ll_lin_is_constant(y))
    return neo_ll_lin_add_scaled(g, &zero, y->c, x, out);
  bool x_lanes = x->step || x->stride || x->pattern, y_lanes = y->step || y->stride || y->pattern;
  if (x_lanes && y_lanes)
    return false;
  const neo_ll_lin *uniform = x_lanes ? y : y_lanes || y->n > x->n ? x : y;
  uint32_t depth;
  LLVMValueRef v = neo_ll_linear_value(g, uniform, true, &depth);
  return distribute(g, uniform == x ? y : x, v, depth, out);
}

/* coef*v / d for a v that is a multiple of m, d dividing coef*m. */
static bool add_quotient(neo_ll_gen *g, neo_ll_lin *q, LLVMValueRef v, int64_t coef, int64_t d,
                         uint32_t depth, int64_t m) {
  if (coef % d == 0)
    return neo_ll_lin_add(q, v, coef / d, depth, m);
  int64_t by = d / neo_gcd(coef, d);
  v = LLVMBuildExactSDiv(g->l->b, v, neo_ll_int64(g->l, by), "");
  return neo_ll_lin_add(q, v, coef / (d / by), depth, m / by);
}

bool neo_ll_lin_divide(neo_ll_gen *g, const neo_ll_lin *x, int64_t d, neo_ll_lin *q,
                       neo_ll_lin *r) {
  neo_ll_lin zero = {0};
  int64_t all, whole;
  if (x->stride || d <= 0)
    return false;
  *q = *r = zero;
  for (uint32_t k = 0; k < x->n; k++)
    if (mul_over(x->t[k].coef, x->t[k].multiple, &all) || all % d)
      return false;
  int64_t *quotient = NEO_NEW_ARRAY(g->l->arena, int64_t, g->width);
  int64_t *rest = NEO_NEW_ARRAY(g->l->arena, int64_t, g->width);
  whole = x->c - ((x->c % d) + d) % d;
  for (uint32_t k = 0; k < g->width; k++) {
    int64_t at;
    if (add_over(x->c - whole, neo_ll_lane_offset(x, k), &at))
      return false;
    rest[k] = ((at % d) + d) % d;
    quotient[k] = (at - rest[k]) / d;
  }
  q->c = whole / d;
  if (!set_lanes(g, q, quotient) || !set_lanes(g, r, rest))
    return false;
  for (uint32_t k = 0; k < x->n; k++)
    if (!add_quotient(g, q, x->t[k].v, x->t[k].coef, d, x->t[k].depth, x->t[k].multiple))
      return false;
  return true;
}

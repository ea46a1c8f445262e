/* The reducers. Floats are summed in f64, integers modulo 2^64; the result is rounded or wrapped
 * to the body's type once.
 *
 * Errors: a sum in any order in the type's accumulator differs by the terms' errors and by (n + 2)
 * u times the sum of the sizes; by nothing where the terms are certain multiples of a quantum
 * which the accumulator resolves. For max and min, `rival` is the best value that any element
 * which did not win may have in truth: a pick is certain only if the winner is above it. */
#include "base/random.h"
#include "ir/interp/parts.h"
#include <float.h>
#include <math.h>
#include <string.h>

static bool is_float(const neo_accu *a) {
  return neo_type_is_float(a->type);
}

static int64_t least(neo_type t) {
  return neo_value_cast(t, NEO_F64_T, (neo_value){.f = -(double)INFINITY}).i;
}

static int64_t largest(neo_type t) {
  return neo_value_cast(t, NEO_F64_T, (neo_value){.f = (double)INFINITY}).i;
}

void neo_accu_begin(neo_accu *a, neo_reducer r, neo_type type, bool track) {
  *a = (neo_accu){.reducer = r, .type = type, .track = track};
  a->rival = -(double)INFINITY;
  a->peak = -(double)INFINITY;
  a->quantum = (double)INFINITY;
  if (r == NEO_RED_PROD)
    a->sum = a->size = a->scale = 1, a->isum = 1;
  if (r == NEO_RED_MAX && is_float(a))
    a->best.f = -(double)INFINITY;
  if (r == NEO_RED_MAX && !is_float(a))
    a->best.i = least(type);
  if (r == NEO_RED_MIN && is_float(a))
    a->best.f = (double)INFINITY;
  if (r == NEO_RED_MIN && !is_float(a))
    a->best.i = largest(type);
  if (r == NEO_RED_ALL)
    a->best.i = 1;
}

/* ---- taking */

/* The lowest bit of x: x is an odd multiple of it. Infinity for 0; 0 for a value that is not
 * finite, or whose lowest bit is no normal number. */
static double lowest_bit(double x) {
  uint64_t bits;
  double bit;
  if (!isfinite(x))
    return 0;
  if (x == 0)
    return (double)INFINITY;
  memcpy(&bits, &x, sizeof bits);
  uint64_t mantissa = (bits & 0xfffffffffffffu) | 0x10000000000000u;
  int64_t exponent = (int64_t)(bits >> 52 & 0x7ff) - 52 + __builtin_ctzll(mantissa);
  bits = (uint64_t)(exponent > 0 ? exponent : 0) << 52;
  memcpy(&bit, &bits, sizeof bit);
  return bit;
}

static void add_float(neo_accu *a, double x, double error) {
  a->sum += x;
  a->error += error;
  a->size += fabs(x);
  a->infinite = a->infinite || !isfinite(x);
  if (a->track)
    a->quantum = fmin(a->quantum, lowest_bit(x));
}

void neo_accu_sum(neo_accu *a, double x, double error) {
  add_float(a, x, error);
  a->taken++;
}

static void take_sum(neo_accu *a, neo_value x, double error) {
  if (is_float(a)) {
    add_float(a, x.f, error);
    return;
  }
  a->isum += (uint64_t)x.i;
  a->error += error;
}

static neo_type accumulator(neo_type t) {
  return t == NEO_F16_T || t == NEO_BF16_T ? NEO_F32_T : t;
}

static bool fits(const neo_accu *a, double x) {
  return neo_value_round(accumulator(a->type), x) == x;
}

static void take_product(neo_accu *a, neo_value x, double error) {
  if (!is_float(a)) {
    a->isum *= (uint64_t)x.i;
    a->error += error;
    return;
  }
  a->size *= fmax(fabs(x.f), 1);
  if (x.f != 0)
    a->scale *= fmin(fabs(x.f), 1);
  a->infinite = a->infinite || !isfinite(x.f);
  a->error = fabs(a->sum) * error + (fabs(x.f) + error) * a->error;
  bool exact = fma(a->sum, x.f, -(a->sum * x.f)) == 0 && fits(a, a->sum * x.f);
  a->sum *= x.f;
  if (!exact)
    a->error += 4 * neo_error_unit(a->type) * fabs(a->sum) + neo_error_least(a->type);
}

static bool beats(const neo_accu *a, neo_value x) {
  bool larger = a->reducer == NEO_RED_MAX;
  if (!is_float(a))
    return larger ? x.i > a->best.i : x.i < a->best.i;
  if (a->best.f != a->best.f)
    return false;
  return x.f != x.f || (larger ? x.f > a->best.f : x.f < a->best.f);
}

/* The value as a number that grows towards winning; NaN is above all. */
static double rank_of(const neo_accu *a, neo_value x) {
  double y = is_float(a) ? x.f : (double)x.i;
  if (y != y)
    return (double)INFINITY;
  return a->reducer == NEO_RED_MAX ? y : -y;
}

static void note_loser(neo_accu *a, neo_value x, double error) {
  double r = rank_of(a, x);
  /* A tie of certain values goes to the first: no rival. */
  bool certain_tie = error == 0 && a->best_error == 0;
  double most = isinf(error) ? (double)INFINITY : r + error; /* an infinity may be any value */
  if (!certain_tie && most > a->rival)
    a->rival = most;
}

static bool take_best(neo_accu *a, neo_value x, double error) {
  bool wins = a->taken == 0 || beats(a, x);
  if (a->track) {
    neo_value loser = wins ? a->best : x;
    double loser_error = wins ? a->best_error : error;
    if (wins)
      a->best_error = error;
    if (a->taken)
      note_loser(a, loser, loser_error);
    if (error > a->error)
      a->error = error;
  }
  if (wins)
    a->best = x;
  return wins;
}

static void take_logic(neo_accu *a, neo_value x, double error) {
  bool decides = a->reducer == NEO_RED_ANY;
  if ((x.i != 0) == decides) {
    a->best.i = decides;
    if (error == 0)
      a->size = 1; /* decided for certain */
  }
  a->error += error;
}

static void take_exponential(neo_accu *a, double x, double error) {
  if (error > a->error)
    a->error = error;
  if (x != x || a->peak != a->peak) {
    a->peak = (double)NAN;
  } else if (x > a->peak) {
    a->scale = (isinf(a->peak) ? 0 : a->scale * exp(a->peak - x)) + 1;
    a->peak = x;
  } else if (x == a->peak && !(isinf(x) && x < 0)) {
    a->scale += 1;
  } else if (!isinf(a->peak) && !isinf(x)) {
    a->scale += exp(x - a->peak);
  }
}

bool neo_accu_take(neo_accu *a, neo_value x, double error) {
  bool pick = false;
  switch (a->reducer) {
  case NEO_RED_SUM:
  case NEO_RED_MEAN:
    take_sum(a, x, error);
    break;
  case NEO_RED_PROD:
    take_product(a, x, error);
    break;
  case NEO_RED_MAX:
  case NEO_RED_MIN:
    pick = take_best(a, x, error);
    break;
  case NEO_RED_LOGSUMEXP:
    take_exponential(a, x.f, error);
    break;
  default:
    take_logic(a, x, error);
    break;
  }
  a->taken++;
  return pick;
}

/* ---- results */

static neo_value rounded(const neo_accu *a, double x) {
  return (neo_value){.f = neo_value_round(a->type, x)};
}

static neo_value integer(const neo_accu *a) {
  return neo_value_cast(a->type, NEO_I64_T, (neo_value){.i = (int64_t)a->isum});
}

static double logsumexp(const neo_accu *a) {
  if (a->peak != a->peak || isinf(a->peak))
    return a->peak;
  return a->peak + log(a->scale);
}

/* Whether the sum is exact in any order: all partial sums are multiples of the quantum, below
 * `size`, and the accumulator has enough bits for these. */
static bool sum_exact(const neo_accu *a, double y) {
  double u = neo_error_unit(accumulator(a->type));
  bool resolved = a->error == 0 && a->size * u <= a->quantum;
  if (a->reducer == NEO_RED_SUM)
    return resolved && y == a->sum;
  bool halves = (a->taken & (a->taken - 1)) == 0; /* 1/n is exact */
  return resolved && halves && y * (double)a->taken == a->sum;
}

static double float_error(const neo_accu *a, double y) {
  double u = neo_error_unit(accumulator(a->type)), n = (double)a->taken + 2;
  double last = 2 * neo_error_unit(a->type) * fabs(y) + neo_error_least(a->type);
  if ((a->reducer == NEO_RED_SUM || a->reducer == NEO_RED_MEAN) && sum_exact(a, y))
    return 0;
  switch (a->reducer) {
  case NEO_RED_SUM:
    return a->error + n * u * a->size + last;
  case NEO_RED_MEAN:
    return (a->error + n * u * a->size) / (double)a->taken + 4 * last;
  case NEO_RED_LOGSUMEXP:
    return a->error + n * u * (9 + 4 * fabs(y)) + last;
  default:
    return a->error;
  }
}

static neo_value result(const neo_accu *a) {
  switch (a->reducer) {
  case NEO_RED_SUM:
  case NEO_RED_PROD:
    return is_float(a) ? rounded(a, a->sum) : integer(a);
  case NEO_RED_MEAN:
    return rounded(a, a->sum / (double)a->taken);
  case NEO_RED_LOGSUMEXP:
    return rounded(a, logsumexp(a));
  default:
    return a->best;
  }
}

/* Whether a partial result of finite terms may leave the accumulator's range in some order. `size`
 * bounds the partial sums; products are between `scale` and `size`. */
static bool may_leave_range(const neo_accu *a) {
  bool product = a->reducer == NEO_RED_PROD;
  if (a->infinite || (!product && a->reducer != NEO_RED_SUM && a->reducer != NEO_RED_MEAN))
    return false;
  double top = a->type == NEO_F64_T ? DBL_MAX : (double)FLT_MAX;
  double bottom = a->type == NEO_F64_T ? DBL_MIN : (double)FLT_MIN;
  return a->size > top || (product && a->scale < bottom);
}

static double result_error(const neo_accu *a, neo_value y) {
  bool logical = a->reducer == NEO_RED_ANY || a->reducer == NEO_RED_ALL;
  if (logical)
    return a->size > 0 ? 0 : a->error;
  if (!is_float(a))
    return a->error > 0 ? (double)INFINITY : 0;
  if (may_leave_range(a))
    return (double)INFINITY;
  double e = float_error(a, y.f);
  if (isfinite(y.f))
    return neo_error_in_range(a->type, y.f, e);
  if (a->reducer == NEO_RED_MAX || a->reducer == NEO_RED_MIN)
    return e;
  /* A result that is infinite because a term is infinite is certain; a finite sum that may round to
   * infinity is not. Nor is it certain where a factor may be moved out of the sum: inf*a + inf*b is
   * NaN or infinite, inf*(a + b) may be the other. */
  bool sum = a->reducer == NEO_RED_SUM || a->reducer == NEO_RED_MEAN;
  if (a->product && sum && a->infinite)
    return (double)INFINITY;
  bool by_term = a->infinite || a->taken == 0 || a->reducer == NEO_RED_LOGSUMEXP;
  return by_term && isfinite(a->error) ? 0 : (double)INFINITY;
}

/* Makes the sum differ as it would if it were summed in the type's accumulator in some order: by
 * one rounding of a partial sum, up or down. */
static void disturb(neo_accu *a) {
  double unit = neo_splitmix(a->noise) >> 63 ? 1 : -1;
  if (is_float(a) && (a->reducer == NEO_RED_SUM || a->reducer == NEO_RED_MEAN) && isfinite(a->size))
    a->sum += unit * neo_error_unit(accumulator(a->type)) * a->size;
}

void neo_accu_end(neo_accu *a, neo_value acc[2], double error[2]) {
  if (a->noise)
    disturb(a);
  acc[0] = result(a);
  acc[1] = a->reducer == NEO_RED_MEAN ? (neo_value){.i = a->taken} : a->picked;
  error[0] = error[1] = 0;
  if (!a->track)
    return;
  error[0] = result_error(a, acc[0]);
  bool picks = a->reducer == NEO_RED_MAX || a->reducer == NEO_RED_MIN;
  bool certain = isfinite(a->best_error) && a->rival < rank_of(a, a->best) - a->best_error;
  if (picks && a->taken > 1 && !certain)
    error[1] = (double)INFINITY;
}

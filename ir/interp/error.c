/* Error bounds of operators: the errors of the arguments carried through, and the rounding of the
 * operator itself. Where an operator is monotone in each argument its value at the corners of the
 * arguments' intervals gives the former; where it jumps inside them nothing can be promised. */
#include "ir/interp/parts.h"
#include <float.h>
#include <math.h>

static const double unknown = (double)INFINITY;

double neo_error_unit(neo_type t) {
  switch (t) {
  case NEO_F64_T:
    return 0x1p-53;
  case NEO_F32_T:
    return 0x1p-24;
  case NEO_F16_T:
    return 0x1p-11;
  case NEO_BF16_T:
    return 0x1p-8;
  default:
    return 0;
  }
}

double neo_error_least(neo_type t) {
  switch (t) {
  case NEO_F64_T:
    return 0x1p-1020; /* flushing subnormals is allowed */
  case NEO_F32_T:
  case NEO_BF16_T:
    return 0x1p-125;
  case NEO_F16_T:
    return 0x1p-24;
  default:
    return 0;
  }
}

double neo_error_in_range(neo_type t, double y, double e) {
  double most = t == NEO_F64_T ? DBL_MAX : t == NEO_F16_T ? 65504 : (double)FLT_MAX;
  return fabs(y) + e <= most ? e : e == 0 ? 0 : (double)INFINITY;
}

/* How many units of the last place the operator itself may be off, two implementations together. */
static double own_units(neo_op op) {
  switch (op) {
  case NEO_OP_NEG:
  case NEO_OP_STOP:
  case NEO_OP_MIN:
  case NEO_OP_MAX:
  case NEO_OP_CLAMP:
  case NEO_OP_ABS:
  case NEO_OP_SIGN:
  case NEO_OP_FLOOR:
  case NEO_OP_CEIL:
  case NEO_OP_ROUND:
  case NEO_OP_RELU:
  case NEO_OP_TF32:
    return 0;
  case NEO_OP_ADD:
  case NEO_OP_SUB:
  case NEO_OP_MUL:
  case NEO_OP_DIV:
  case NEO_OP_SQRT:
  case NEO_OP_CAST:
    return 2;
  default:
    return 12;
  }
}

/* Slopes that are bounded everywhere, for functions whose values at the ends of an interval may
 * miss extremes inside of it. */
static double slope(neo_op op) {
  switch (op) {
  case NEO_OP_SIN:
  case NEO_OP_COS:
  case NEO_OP_ABS:
  case NEO_OP_RELU:
  case NEO_OP_BELL:
    return 1;
  case NEO_OP_GELU:
  case NEO_OP_SILU:
    return 1.2;
  default:
    return 0;
  }
}

static bool jumps(neo_op op) {
  return op == NEO_OP_FLOOR || op == NEO_OP_CEIL || op == NEO_OP_ROUND || op == NEO_OP_SIGN;
}

/* Largest distance of the results at the corners from y; in f64, so that rounding adds nothing. */
static double at_corners(neo_op op, const neo_value *x, const double *e, size_t n, double y) {
  double worst = 0;
  for (uint32_t corner = 0; corner < 1U << n; corner++) {
    neo_value p[3];
    for (size_t k = 0; k < n; k++)
      p[k].f = corner >> k & 1 ? x[k].f + e[k] : x[k].f - e[k];
    double d = fabs(neo_value_op(op, NEO_F64_T, NEO_F64_T, p).f - y);
    if (!(d <= DBL_MAX))
      return unknown;
    if (d > worst)
      worst = d;
  }
  return worst;
}

static bool exact(const double *e, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (e[k] != 0)
      return false;
  return true;
}

static double quotient(const neo_value *x, const double *e, double y) {
  if (fabs(x[1].f) <= e[1])
    return unknown;
  return at_corners(NEO_OP_DIV, x, e, 2, y);
}

static double modulo(neo_type t, const neo_value *x, const double *e) {
  double q = floor(x[0].f / x[1].f);
  double rounding = neo_error_unit(t) * fabs(x[1].f); /* rounding of the addition that makes the
                                                         signs agree */
  if (exact(e, 2))
    return rounding;
  double lo = floor((x[0].f - e[0]) / (x[1].f + e[1])),
         hi = floor((x[0].f + e[0]) / (x[1].f - e[1]));
  bool steady = lo == q && hi == q && floor((x[0].f - e[0]) / (x[1].f - e[1])) == q &&
                floor((x[0].f + e[0]) / (x[1].f + e[1])) == q && fabs(x[1].f) > e[1];
  return steady ? e[0] + fabs(q) * e[1] + rounding : unknown;
}

#define TF32_STEP 0x1p-10 /* relative distance of neighbouring numbers */

static double carried(neo_op op, const neo_value *x, const double *e, size_t n, double y) {
  if (exact(e, n))
    return 0;
  if (jumps(op))
    return at_corners(op, x, e, n, y) == 0 ? 0 : unknown;
  if (op == NEO_OP_TF32)
    return e[0] + TF32_STEP * (fabs(y) + e[0]);
  if (op == NEO_OP_DIV)
    return quotient(x, e, y);
  if (op == NEO_OP_TAN && e[0] > 0.05)
    return unknown;
  if (slope(op) > 0)
    return slope(op) * e[0];
  return 1.01 * at_corners(op, x, e, n, y);
}

/* The error of the operator itself. The usual formulas cancel where the result is small relative to
 * the argument, and lose digits: 1 + erf(x) for large negative x, sine near a multiple of pi. */
static double own_error(neo_op op, neo_type t, double x, double y) {
  double units = own_units(op), size = fabs(y);
  if (units <= 0)
    return 0;
  if (op == NEO_OP_GELU)
    size += fabs(x);
  if (op == NEO_OP_SIN || op == NEO_OP_COS)
    size += 0.5;
  return units * neo_error_unit(t) * size + neo_error_least(t);
}

/* Is the result an infinity whose sign follows that of a zero? Another order of a sum may change
 * it. */
static bool pole(neo_op op, const neo_value *x) {
  if (op == NEO_OP_DIV)
    return x[1].f == 0;
  return (op == NEO_OP_RSQRT || op == NEO_OP_POW) && x[0].f == 0;
}

/* The rounding error of a + b in f64 (Knuth's two-sum). */
static double sum_rest(double a, double b) {
  double s = a + b, t = s - a;
  return (a - (s - t)) + (b - t);
}

/* Whether the result is that of the real numbers, so that every implementation has it. The
 * arguments are exact, and so are the f64 results of neo_value_op, as these identities show. */
static bool is_exact(neo_op op, const neo_value *v, double y) {
  double a = v[0].f, b = neo_op_arity(op) > 1 ? v[1].f : 0;
  switch (op) {
  case NEO_OP_ADD:
    return y == a + b && sum_rest(a, b) == 0;
  case NEO_OP_SUB:
    return y == a - b && sum_rest(a, -b) == 0;
  case NEO_OP_MUL:
    return fma(a, b, -y) == 0;
  case NEO_OP_DIV:
    return fma(y, b, -a) == 0;
  case NEO_OP_SQRT:
    return fma(y, y, -a) == 0;
  default:
    return false;
  }
}

static double float_error(neo_op op, neo_type t, const neo_value *x, const double *e, double y) {
  size_t n = (size_t)neo_op_arity(op);
  for (size_t k = 0; k < n;
       k++) /* an argument that may be NaN gives NaN, also for tanh and other bounded functions */
    if (isinf(e[k]))
      return unknown;
  if (op == NEO_OP_MOD)
    return isfinite(y) ? modulo(t, x, e) : exact(e, 2) ? 0 : unknown;
  if (!isfinite(y))
    return exact(e, n) && !pole(op, x) ? 0 : unknown;
  if (exact(e, n) && is_exact(op, x, y))
    return 0;
  double wide = neo_value_op(op, NEO_F64_T, NEO_F64_T, x).f;
  return neo_error_in_range(t, y, carried(op, x, e, n, wide) + own_error(op, t, x[0].f, y));
}

static double compare_error(neo_type arg, const neo_value *x, const double *e) {
  if (exact(e, 2))
    return 0;
  if (!neo_type_is_float(arg))
    return unknown;
  double gap = fabs(x[0].f - x[1].f);
  return gap > e[0] + e[1] || gap != gap ? 0 : unknown;
}

static double cast_error(neo_type to, neo_type from, neo_value x, double e, neo_value y) {
  if (!neo_type_is_float(from)) {
    if (e != 0)
      return unknown;
    bool same = !neo_type_is_float(to) || (fabs(y.f) < 0x1p53 && y.f == (double)x.i);
    return same ? 0 : 2 * neo_error_unit(to) * fabs(y.f);
  }
  if (neo_type_is_float(to)) {
    if (!isfinite(y.f))
      return e == 0 ? 0 : unknown;
    if (e == 0 && x.f == y.f)
      return 0;
    bool widens = neo_error_unit(to) <= neo_error_unit(from) && to != NEO_F16_T;
    e += widens ? 0 : 2 * neo_error_unit(to) * fabs(y.f) + neo_error_least(to);
    return neo_error_in_range(to, y.f, e);
  }
  if (e == 0)
    return 0;
  int64_t lo = neo_value_cast(to, NEO_F64_T, (neo_value){.f = x.f - e}).i;
  int64_t hi = neo_value_cast(to, NEO_F64_T, (neo_value){.f = x.f + e}).i;
  return lo == y.i && hi == y.i ? 0 : unknown;
}

double neo_error_split(const neo_value *x, double y) {
  double parts[2], u = neo_error_unit(NEO_F32_T);
  for (int k = 0; k < 2; k++)
    parts[k] = neo_value_op(NEO_OP_TF32, NEO_F32_T, NEO_F32_T, &x[k]).f;
  if (parts[0] == x[0].f && parts[1] == x[1].f && isfinite(y) && isfinite(parts[0] * parts[1]))
    return 0;
  if (!isfinite(parts[0]) || !isfinite(parts[1]) || !isfinite(y))
    return unknown;
  /* 12 units are 3 * 2^-22; below 2^-126 the rest has fewer digits, the last of them 2^-136 */
  return 12 * 1.01 * u * fabs(y) + 0x1p-136 * (fabs(x[0].f) + fabs(x[1].f)) +
         neo_error_least(NEO_F32_T);
}

double neo_error_op(neo_op op, neo_type result, neo_type arg, const neo_value *x, const double *e,
                    neo_value y) {
  neo_rule rule = neo_op_rule(op);
  if (rule == NEO_RULE_CMP)
    return compare_error(arg, x, e);
  if (op == NEO_OP_CAST)
    return cast_error(result, arg, x[0], e[0], y);
  double error = neo_type_is_float(result)            ? float_error(op, result, x, e, y.f)
                 : exact(e, (size_t)neo_op_arity(op)) ? 0
                                                      : unknown;
  return error == error ? error : unknown;
}

/* log, log1p, softplus, pow for f64, in f64 arithmetic, no branches.
 *
 * x = 2^k*m with m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f/(2 + f): log(m) = 2 artanh(s). For log
 * itself f stays the leading term: 2s = f - s*f, s*f = f^2/2 - s*f^2/2. The polynomial is (2
 * artanh(s) - 2s)/s^3 in s^2, of degree 6, |s| <= 0.1716, error 2^-59 of log(m). pow has a
 * logarithm of two numbers (error below 2^-64 of it): s is one, 1/3 too, and the polynomial, of
 * degree 7, is only for (artanh(s)/s - 1 - s^2/3)/s^4, error 2^-66 of log(m). Both are minimax fits
 * (Remez exchange with 60 digits, then each coefficient rounded to f64). Measured: log, log1p, pow
 * within 0.8 ulp, softplus 1.5. */
#include "codegen/llvm/math/math64.h"
#include <assert.h>

#define SQRT_HALF_BITS 0x3fe6a09e667f3bcd

static const double log_poly[] = {0x1.5555555555592p-1, 0x1.999999997fe5dp-2, 0x1.24924941f2225p-2,
                                  0x1.c71c52028a869p-3, 0x1.74664149b46f5p-3, 0x1.39a1681e80cb0p-3,
                                  0x1.2f095d39cd44ep-3};
static const double artanh_poly[] = {
    0x1.9999999999996p-3, 0x1.249249249302bp-3, 0x1.c71c71c580edbp-4, 0x1.745d183248f6ap-4,
    0x1.3b1362adf3be5p-4, 0x1.1120b8160f0c8p-4, 0x1.de32e50208c4cp-5, 0x1.eb16bbdafac7bp-5};

typedef struct {
  val m, k; /* m*2^k, f64 */
} split;

/* Splits a positive finite number into mantissa and exponent. */
static split split_of(neo_llvm *l, val x) {
  val tiny = lessc(l, x, 0x1p-1022);
  val y = pick(l, tiny, mulc(l, x, 0x1p54), x);
  val u = isub(l, to_bits(l, y), inum(to_bits(l, y), SQRT_HALF_BITS));
  val upper = LLVMBuildLShr(l->b, u, inum(u, 32), "");
  upper = LLVMBuildTrunc(l->b, upper, neo_ll_int_type(l, 32, neo_ll_width(x)), "");
  val k = i32_to(l, isar(l, upper, 20), 64);
  split s = {of_bits(l, iadd(l, iand(l, u, 0xfffffffffffff), inum(u, SQRT_HALF_BITS))),
             pick(l, tiny, addc(l, k, -54), k)};
  return s;
}

/* log(1 + f) + k*log(2) + more. */
static val log_sum(neo_llvm *l, val f, val k, val more) {
  val s = quot(l, f, addc(l, f, 2)), z = mul(l, s, s);
  val square = mul(l, mulc(l, f, 0.5), f), r = mul(l, z, POLY(l, z, log_poly));
  val tail = mad(l, k, num(f, LN2_TAIL64), more);
  val low = sub(l, square, mad(l, s, add(l, square, r), tail));
  return mad(l, k, num(f, LN2_HEAD64), sub(l, f, low));
}

/* The logarithm with its values at the ends of the domain: infinities and NaN. y: the value
 * inside. */
static val with_ends(neo_llvm *l, val x, double begin, val y) {
  y = pick(l, samec(l, x, begin), num(x, -INFINITY), y);
  y = pick(l, samec(l, x, INFINITY), x, y);
  val out = LLVMBuildFCmp(l->b, LLVMRealULT, x, num(x, begin), ""); /* or NaN */
  return pick(l, out, num(x, NAN), y);
}

static val log_whole(neo_llvm *l, val x) {
  split a = split_of(l, x);
  return with_ends(l, x, 0, log_sum(l, addc(l, a.m, -1), a.k, num(x, 0)));
}

/* The logarithm of u + l, the exact sum 1 + x, is log(u) + l/u. Near 0, where u has the exponent
 * 0, f is x. */
static val log1p_core(neo_llvm *l, val x) {
  pair u = sum2(l, num(x, 1), x);
  split a = split_of(l, u.h);
  val near = samec(l, a.k, 0);
  val f = pick(l, near, x, addc(l, a.m, -1));
  val y = log_sum(l, f, a.k, pick(l, near, num(x, 0), quot(l, u.l, u.h)));
  return pick(l, lessc(l, size_of(l, x), 0x1p-54), x, y); /* keeps -0 and denormals */
}

static val softplus(neo_llvm *l, val x) {
  scaled64 e = neo_ll_exp_parts64(l, minus(l, size_of(l, x)), NULL);
  val y = add(l, at_least(l, x, 0), log1p_core(l, mul(l, e.m.h, e.s)));
  return pick(l, LLVMBuildFCmp(l->b, LLVMRealUNO, x, x, ""), x, y);
}

/* ---- pow: e^(y*log|x|), then the cases of C's pow */

/* f/(2 + f) for 1 + f = m, as a sum of two. */
static pair artanh_argument(neo_llvm *l, val m) {
  val f = addc(l, m, -1);
  pair d = sum2(l, num(m, 1), m);
  val s = quot(l, f, d.h);
  pair p = product2(l, s, d.h);
  val left = mad(l, s, minus(l, d.l), sub(l, sub(l, f, p.h), p.l));
  pair r = {s, quot(l, left, d.h)};
  return r;
}

static pair log_pair(neo_llvm *l, val x) {
  split a = split_of(l, x);
  pair s = artanh_argument(l, a.m), z = times(l, s, s);
  val q = mul(l, z.h, POLY(l, z.h, artanh_poly));
  pair w = fast_sum2(l, num(x, 0x1.5555555555555p-2), q);
  w.l = addc(l, w.l, 0x1.5555555555555p-56);
  pair more = times(l, s, times(l, z, w)), half = fast_sum2(l, s.h, more.h);
  val low = add(l, half.l, add(l, s.l, more.l));
  pair sum = fast_sum2(l, mulc(l, a.k, LN2_HEAD64), add(l, half.h, half.h));
  low = add(l, sum.l, mad(l, a.k, num(x, LN2_TAIL64), add(l, low, low)));
  return fast_sum2(l, sum.h, low);
}

/* a^y for a >= 0. Exponents beyond 2^65 are clamped, since |log(a)| >= 2^-54 unless it is 0. */
static val power(neo_llvm *l, val a, val y) {
  pair log = log_pair(l, a);
  val inf = num(a, INFINITY);
  log.h = pick(l, samec(l, a, 0), minus(l, inf), log.h);
  log.h = pick(l, samec(l, a, INFINITY), inf, log.h);
  y = at_most(l, at_least(l, y, -0x1p65), 0x1p65);
  pair p = product2(l, log.h, y);
  val inside = lessc(l, size_of(l, p.h), 800);
  scaled64 e = neo_ll_exp_parts64(l, p.h, pick(l, inside, mad(l, log.l, y, p.l), num(a, 0)));
  return mul(l, e.m.h, e.s);
}

val neo_ll_log64(neo_llvm *l, neo_op op, val x, val y) {
  switch (op) {
  case NEO_OP_LOG:
    return log_whole(l, x);
  case NEO_OP_LOG1P:
    return with_ends(l, x, -1, log1p_core(l, x));
  case NEO_OP_SOFTPLUS:
    return softplus(l, x);
  default:
    assert(op == NEO_OP_POW);
    return neo_ll_pow_cases(l, x, y, power(l, size_of(l, x), y));
  }
}

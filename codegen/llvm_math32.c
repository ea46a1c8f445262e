/* exp, log, tanh, sigmoid, erf, gelu, phi, bell, silu, expm1, elu for f32, in f32 arithmetic, no
 * branches.
 *
 * Arguments are reduced by Cody and Waite's two-part constants (n*ln2 with a short head, so that
 * n*head is exact without a fused multiply-add); what is left is a polynomial whose leading terms
 * are exact. The polynomials are minimax in relative error (Remez exchange, 40 digits, then rounded
 * to f32); their errors are given beside them. Measured, denormal results included: gelu 3.2 ulp,
 * silu 3.1, phi 3.0, sigmoid 2.7, the others 1.9 at most (the tests bound all by 4). gelu is that
 * near to x*Phi(x) in its negative tail too, where 1 + erf would have cancelled.
 *
 * NaN arguments pass through the arithmetic; comparisons that clamp are false for them. */
#include "codegen/llvm_num.h"
#include <assert.h>

#define LOG2_E 0x1.715476p+0
#define LN2_HEAD 0x1.62e4p-1 /* 15 bits */
#define LN2_TAIL 0x1.7f7d1cp-20
#define MAGIC 0x1.8p23 /* adding it rounds to an integer, in the low bits */

/* e^r on |r| <= ln2, error 2^-30. */
static const double exp_poly[] = {1,
                                  1,
                                  0x1p-1,
                                  0x1.555560p-3,
                                  0x1.55550ap-5,
                                  0x1.110a4cp-7,
                                  0x1.6c371ep-10,
                                  0x1.a5bd12p-13,
                                  0x1.9a0824p-16};
/* (e^r - 1 - r) / r^2 on |r| <= ln2/2, error 2^-32. */
static const double expm1_poly[] = {0x1p-1,        0x1.555554p-3,  0x1.5554b2p-5,
                                    0x1.11118ap-7, 0x1.6d71f8p-10, 0x1.a03310p-13};
/* (log(1+f) - f + f^2/2) / f^3 on [sqrt(1/2)-1, sqrt(2)-1], error 2^-30. */
static const double log_poly[] = {0x1.555548p-2,  -0x1.000006p-2, 0x1.99a4b6p-3,
                                  -0x1.555c4ep-3, 0x1.23376ap-3,  -0x1.fc220ap-4,
                                  0x1.e6f052p-4,  -0x1.de3bdep-4, 0x1.145780p-4};
/* erf(x)/x - 1 in x^2, |x| <= 0.875, error 2^-32; -log(erfc(x)) on [0.875, 4], error 2^-33. */
static const double erf_poly[] = {0x1.06eba8p-3, -0x1.812744p-2,  0x1.ce2e84p-4, -0x1.b819a8p-6,
                                  0x1.553abap-8, -0x1.ae7f9ap-11, 0x1.6bdf66p-14};
static const double erfc_poly[] = {-0x1.53cb6cp-13, 0x1.2123d8p+0, 0x1.4456a2p-1,   0x1.baf008p-4,
                                   -0x1.9a0b90p-6,  0x1.0f08d0p-8, -0x1.bfd4fep-12, 0x1.571f22p-16};
/* t e^(t^2/2) Phi(-t) in (t-3)/(t+3), 1 <= t <= 15, error 2^-28; (Phi(x) - 1/2)/x in x^2,
 * |x| <= 1, error 2^-30. */
static const double tail_poly[] = {
    0x1.754a76p-2,   0x1.c20d34p-4, -0x1.1e0494p-3,  0x1.764738p-4,   -0x1.d8df20p-6,
    -0x1.c68b0ep-10, 0x1.054e64p-8, -0x1.153bfap-14, -0x1.3406aap-11, 0x1.ca946ep-15};
static const double phi_poly[] = {0x1.988454p-2,   -0x1.105832p-4, 0x1.46ce4cp-7,
                                  -0x1.36fd42p-10, 0x1.dbff1ap-14, -0x1.00d544p-17};

/* ---- exponentials */

typedef struct {
  val n, r; /* x = n*ln2 + r; n as an i32 */
} reduced;

static reduced reduce(neo_llvm *l, val x) {
  val z = mad(l, x, num(x, LOG2_E), num(x, MAGIC)), k = addc(l, z, -MAGIC);
  val r = mad(l, k, num(x, -LN2_HEAD), x);
  reduced e = {isub(l, to_bits(l, z), inum(to_bits(l, z), 0x4b400000)),
               mad(l, k, num(x, -LN2_TAIL), r)};
  return e;
}

static val power_of_two(neo_llvm *l, val n) {
  return of_bits(l, ishl(l, iadd(l, n, inum(n, 127)), 23));
}

typedef struct {
  val m, s; /* m*s, rounded once: s is a power of two, m normal and far from over- and underflow */
} scaled;

/* e^(x + more) for a tiny `more` (null: 0) and x cut to [-120, 89]: beyond, it is 0 (even times
 * 120) or infinite. x = 2*n*ln2 + r, and 2^n is taken twice: n + 127 stands in the low bits of z,
 * so that one shift makes 2^n of it. */
static scaled exp_parts(neo_llvm *l, val x, val more) {
  x = at_most(l, at_least(l, x, -120), 89);
  val z = mad(l, x, num(x, LOG2_E / 2), num(x, MAGIC + 127)), n = addc(l, z, -(MAGIC + 127));
  val r = mad(l, n, num(x, -2 * LN2_TAIL), mad(l, n, num(x, -2 * LN2_HEAD), x));
  if (more)
    r = add(l, r, more);
  val s = of_bits(l, ishl(l, to_bits(l, z), 23));
  scaled e = {mul(l, POLY(l, r, exp_poly), s), s};
  return e;
}

static val exp32(neo_llvm *l, val x) {
  scaled e = exp_parts(l, x, NULL);
  return mul(l, e.m, e.s);
}

/* e^x - 1 = 2^n*(e^r - 1) + (2^n - 1), everything at half size so that 2^128 needs no care. */
static val expm1_core(neo_llvm *l, val x) {
  reduced a = reduce(l, x);
  val p = mad(l, mul(l, a.r, a.r), POLY(l, a.r, expm1_poly), a.r);
  val s = power_of_two(l, isub(l, a.n, inum(a.n, 1)));
  val y = mad(l, s, p, addc(l, s, -0.5));
  y = add(l, y, y);
  return pick(l, LLVMBuildICmp(l->b, LLVMIntEQ, a.n, inum(a.n, 0), ""), p, y);
}

static val expm1_32(neo_llvm *l, val x) {
  val y = expm1_core(l, at_most(l, at_least(l, x, -18), 89));
  return pick(l, lessc(l, size_of(l, x), 0x1p-25), x, y); /* keeps -0 and denormals */
}

/* ---- functions of one exponential */

/* e/(e + 2), e = exp(2|x|) - 1: no difference of near numbers. */
static val tanh32(neo_llvm *l, val x) {
  val a = at_most(l, size_of(l, x), 10);
  val e = expm1_core(l, add(l, a, a));
  return with_sign(l, quot(l, e, addc(l, e, 2)), x);
}

/* 1/(1 + e^-x), or e^x/(1 + e^x) for negative x: the exponential never overflows. */
static val sigmoid32(neo_llvm *l, val x) {
  val e = exp32(l, minus(l, size_of(l, x)));
  return quot(l, pick(l, lessc(l, x, 0), e, num(x, 1)), addc(l, e, 1));
}

/* The power of two comes last: x*e^x/(1 + e^x) is rounded once where it is denormal. */
static val silu32(neo_llvm *l, val x) {
  scaled e = exp_parts(l, minus(l, size_of(l, x)), NULL);
  val y = quot(l, at_least(l, x, -120), addc(l, mul(l, e.m, e.s), 1));
  val low = mul(l, mul(l, y, e.m), e.s);
  low = pick(l, samec(l, x, -INFINITY), num(x, NAN), low);
  return pick(l, lessc(l, x, 0), low, y);
}

static val elu32(neo_llvm *l, val x) {
  return pick(l, less(l, num(x, 0), x), x, expm1_32(l, at_most(l, x, 0)));
}

/* ---- log */

static val log32(neo_llvm *l, val x) {
  val tiny = lessc(l, x, 0x1p-126);
  val y = pick(l, tiny, mulc(l, x, 0x1p23), x);
  val u = isub(l, to_bits(l, y), inum(to_bits(l, y), 0x3f3504f3)); /* bits of sqrt(1/2) */
  val k = i32_to(l, isar(l, u, 23), 32);
  k = pick(l, tiny, addc(l, k, -23), k);
  val f = addc(l, of_bits(l, iadd(l, iand(l, u, 0x7fffff), inum(u, 0x3f3504f3))), -1);
  val f2 = mul(l, f, f);
  val r = mul(l, mul(l, f, f2), POLY(l, f, log_poly));
  r = mad(l, k, num(x, LN2_TAIL), r);
  r = add(l, f, mad(l, f2, num(x, -0.5), r));
  r = mad(l, k, num(x, LN2_HEAD), r);
  r = pick(l, samec(l, x, 0), num(x, -INFINITY), r);
  r = pick(l, samec(l, x, INFINITY), x, r);
  val negative = LLVMBuildFCmp(l->b, LLVMRealULT, x, num(x, 0), ""); /* or NaN */
  return pick(l, negative, num(x, NAN), r);
}

/* ---- the normal distribution */

static val erf32(neo_llvm *l, val x) {
  val a = size_of(l, x), small = mad(l, x, POLY(l, mul(l, x, x), erf_poly), x);
  val g = POLY(l, at_most(l, a, 4), erfc_poly);
  val large = sub(l, num(x, 1), exp32(l, minus(l, g)));
  return pick(l, lessc(l, a, 0.875), small, with_sign(l, large, x));
}

/* x^2 minus its rounding. */
static val square_error(neo_llvm *l, val x, val square) {
  if (l->target.fma)
    return mad(l, x, x, minus(l, square));
  val d = to_f64(l, x);
  return to_f32(l, sub(l, mul(l, d, d), to_f64(l, square)));
}

/* The parts of the three functions below, t = |x|. What is computed for one of them is computed in
 * the same words for the others: LLVM then does it once where they stand together, as a function
 * and its gradient do. */
typedef struct {
  val t;
  scaled e;  /* e^(-t^2/2), with the rounding error of t^2 */
  val near;  /* phi(x) for t < 1: 1/2 and an odd polynomial */
  val low;   /* t*phi(-t)/e.s for others: e^(-t^2/2) * tail(t) */
  val small; /* t < 1 */
} normal;

static scaled bell_parts(neo_llvm *l, val t, val t2) {
  return exp_parts(l, mulc(l, t2, -0.5), mulc(l, square_error(l, t, t2), -0.5));
}

static normal normal_parts(neo_llvm *l, val x) {
  val t = at_most(l, size_of(l, x), 15), t2 = mul(l, t, t);
  normal n = {.t = t, .e = bell_parts(l, t, t2), .small = lessc(l, t, 1)};
  n.near = mad(l, x, POLY(l, t2, phi_poly), num(x, 0.5));
  val tail = POLY(l, quot(l, addc(l, t, -3), addc(l, t, 3)), tail_poly);
  n.low = mul(l, tail, n.e.m);
  return n;
}

static val bell32(neo_llvm *l, val x) {
  val t = at_most(l, size_of(l, x), 15);
  scaled e = bell_parts(l, t, mul(l, t, t));
  return mul(l, e.m, e.s);
}

static val phi32(neo_llvm *l, val x) {
  normal n = normal_parts(l, x);
  val low = mul(l, quot(l, n.low, n.t), n.e.s);
  val y = pick(l, lessc(l, x, 0), low, sub(l, num(x, 1), low));
  return pick(l, n.small, n.near, y);
}

/* x*phi(x) is minus t*phi(-t) at -t, which is what is missing from t at t. x - x is NaN where x is
 * minus infinity, and its sign makes zeros negative. */
static val gelu32(neo_llvm *l, val x) {
  normal n = normal_parts(l, x);
  val down = sub(l, pick(l, lessc(l, x, 0), x, num(x, 0)), x);
  val y = mad(l, minus(l, n.low), n.e.s, minus(l, down));
  return pick(l, n.small, mul(l, x, n.near), y);
}

val neo_ll_math32(neo_llvm *l, neo_op op, val x) {
  switch (op) {
  case NEO_OP_EXP:
    return exp32(l, x);
  case NEO_OP_EXPM1:
    return expm1_32(l, x);
  case NEO_OP_LOG:
    return log32(l, x);
  case NEO_OP_TANH:
    return tanh32(l, x);
  case NEO_OP_SIGMOID:
    return sigmoid32(l, x);
  case NEO_OP_SILU:
    return silu32(l, x);
  case NEO_OP_GELU:
    return gelu32(l, x);
  case NEO_OP_ELU:
    return elu32(l, x);
  case NEO_OP_ERF:
    return erf32(l, x);
  case NEO_OP_PHI:
    return phi32(l, x);
  case NEO_OP_BELL:
    return bell32(l, x);
  default:
    assert(0 && "a function evaluated in f32");
    return x;
  }
}

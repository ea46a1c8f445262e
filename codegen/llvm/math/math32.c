/* exp, log, tanh, sigmoid, erf, gelu, phi, bell, silu, expm1, elu for f32, in f32 arithmetic, no
 * branches.
 *
 * Arguments are reduced by Cody and Waite's two-part constants (n*ln2 with a short head, so that
 * n*head is exact without a fused multiply-add); the remainder is the argument of a polynomial
 * whose leading terms are exact, except for exp, where only the first one is. The polynomials are
 * minimax in relative error (Remez exchange, 40 digits, then rounded to f32); their errors are
 * given beside them. Measured, denormal results included: gelu 3.1 ulp, bell 2.8, phi and sigmoid
 * 2.7, the others 2.4 at most (the tests bound all by 4). gelu is that near to x*Phi(x) in its
 * negative tail too, where 1 + erf would have cancelled.
 *
 * NaN arguments pass through the arithmetic; comparisons that clamp are false for them. */
#include "codegen/llvm/num.h"
#include <assert.h>

#define LOG2_E 0x1.715476p+0
#define LN2_HEAD 0x1.62e4p-1 /* 15 bits */
#define LN2_TAIL 0x1.7f7d1cp-20
#define MAGIC 0x1.8p23 /* adding it rounds to an integer, in the low bits */

/* (e^r - 1) / r on |r| <= ln2/2, error of e^r 2^-23.3. */
static const double exp_poly[] = {0x1.fffff6p-1, 0x1.fffdc6p-2, 0x1.555a6ap-3, 0x1.573a54p-5,
                                  0x1.0fa834p-7};
/* (e^(-r/2) - 1) / r, error of e^(-r/2) 2^-27. */
static const double falling_poly[] = {-0x1p-1,       0x1p-3,          -0x1.5554dep-6,
                                      0x1.5555bap-9, -0x1.120b28p-12, 0x1.6c6ap-16};
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
/* (t + C) e^(t^2/2) Phi(-t) in w = (t-C)/(t+C), 0 <= t <= 15, C = 2.5, error 2^-26. */
#define TAIL_C 2.5
static const double tail_poly[] = {0x1.69cee6p-1,   -0x1.bc19c2p-2,  0x1.0e4f30p-3, 0x1.2ea434p-7,
                                   -0x1.0c78a4p-6,  -0x1.a3a5d6p-10, 0x1.4ad120p-9, 0x1.66d434p-11,
                                   -0x1.46c2a0p-12, -0x1.4ab99ep-13};

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

/* e^x = (1 + p)*h*s, where h and s are powers of two: such that neither (1 + p)*h nor its product
 * with a number of moderate size over- or underflows. What is multiplied by s at last is rounded
 * once where it is denormal. */
typedef struct {
  val p, h, s;
} scaled;

/* x - n*ln2, where n is the integer nearest to x/ln2. */
static val rest_of(neo_llvm *l, val x, val n) {
  return mad(l, n, num(x, -LN2_TAIL), mad(l, n, num(x, -LN2_HEAD), x));
}

/* e^r for the remainder r of the argument reduction. */
static val exp_near_0(neo_llvm *l, val r) {
  return mad(l, r, POLY(l, r, exp_poly), num(r, 1));
}

/* e^(-(u + more)/2) for a tiny `more` (null: 0), 0 <= u <= 240: one power of two, lifted out of
 * where numbers are denormal. n + 127 + LIFT stands in the low bits of z, the exponent field of
 * 2^(n + LIFT). */
enum { LIFT = 64 };

static scaled falling_parts(neo_llvm *l, val u, val more) {
  const double magic = MAGIC + 127 + LIFT;
  val z = mad(l, u, num(u, -LOG2_E / 2), num(u, magic)), n = addc(l, z, -magic);
  val low = num(u, 2 * LN2_TAIL), r = mad(l, n, num(u, 2 * LN2_HEAD), u);
  r = more ? add(l, r, mad(l, n, low, more)) : mad(l, n, low, r);
  scaled e = {mul(l, r, horner(l, r, falling_poly, 6, 1)), of_bits(l, ishl(l, to_bits(l, z), 23)),
              num(u, ldexp(1, -LIFT))};
  return e;
}

/* y*e^x without the factor e.s. */
static val times_exp(neo_llvm *l, val y, const scaled *e) {
  val h = mul(l, y, e->h);
  return mad(l, h, e->p, h);
}

static val exp_of(neo_llvm *l, const scaled *e) {
  return mul(l, mad(l, e->h, e->p, e->h), e->s);
}

/* AVX-512 multiplies whole registers by powers of two that are no f32 themselves. */
enum { SCALE_BYTES = 64, SCALE_LANES = SCALE_BYTES / 4 };

static bool has_scale(const neo_llvm *l, val x) {
  uint32_t w = neo_ll_width(x);
  return l->target.vector_bytes == SCALE_BYTES && w >= SCALE_LANES && !(w & (w - 1));
}

/* Lanes [from, from + n) of x followed by y. */
static val lanes(neo_llvm *l, val x, val y, uint32_t from, uint32_t n) {
  LLVMTypeRef i32 = neo_ll_i32(l);
  val at[1024];
  for (uint32_t k = 0; k < n; k++)
    at[k] = LLVMConstInt(i32, from + k, false);
  return LLVMBuildShuffleVector(l->b, x, y, LLVMConstVector(at, n), "");
}

/* x*2^n, rounded once, for an integer n in a float. */
static val scale(neo_llvm *l, val x, val n) {
  enum { ALL_LANES = (1 << SCALE_LANES) - 1, AS_SET = 4 /* the rounding */ };
  uint32_t w = neo_ll_width(x), half = w / 2;
  if (w > SCALE_LANES) {
    val low = scale(l, lanes(l, x, x, 0, half), lanes(l, n, n, 0, half));
    val high = scale(l, lanes(l, x, x, half, half), lanes(l, n, n, half, half));
    return lanes(l, low, high, 0, w);
  }
  val mask = LLVMConstInt(LLVMInt16TypeInContext(l->ctx), ALL_LANES, false);
  val arg[] = {x, n, x, mask, LLVMConstInt(neo_ll_i32(l), AS_SET, false)};
  return neo_ll_call(l, "llvm.x86.avx512.mask.scalef.ps.512", NULL, arg, 5);
}

/* e^x. Beyond the limits it is 0 (even times 120) or infinite. n may be no exponent of an f32, but
 * n/2 is one: n + 254 is in the low bits of z, and half of it is the exponent field of 2^(n/2).
 * Both ways of scaling give the same bits. */
static val exp32(neo_llvm *l, val x) {
  bool scales = has_scale(l, x);
  double magic = scales ? MAGIC : MAGIC + 254;
  x = at_most(l, at_least(l, x, -120), 89);
  val z = mad(l, x, num(x, LOG2_E), num(x, magic)), n = addc(l, z, -magic);
  val y = exp_near_0(l, rest_of(l, x, n));
  if (scales)
    return scale(l, y, n);
  val twice = to_bits(l, z), half = isar(l, twice, 1);
  y = mul(l, y, of_bits(l, ishl(l, half, 23)));
  return mul(l, y, of_bits(l, ishl(l, isub(l, twice, half), 23)));
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

/* 2|x|, of which falling_parts makes e^-|x|. */
static val twice_size(neo_llvm *l, val x) {
  val a = at_most(l, size_of(l, x), 120);
  return add(l, a, a);
}

/* e/(e + 2), e = exp(2|x|) - 1, has no cancellation. */
static val tanh32(neo_llvm *l, val x) {
  val a = at_most(l, size_of(l, x), 10);
  val e = expm1_core(l, add(l, a, a));
  return with_sign(l, quot(l, e, addc(l, e, 2)), x);
}

/* q = 1/(1 + e^-|x|), or e^-|x|*q for negative x: the exponential never overflows. Both it and the
 * quotient are the same for x and -x, so that LLVM's CSE shares them in the slope of a sigmoid or a
 * tanh, which is a product of sigmoid(x) and sigmoid(-x). */
static val sigmoid32(neo_llvm *l, val x) {
  scaled parts = falling_parts(l, twice_size(l, x), NULL);
  val e = exp_of(l, &parts), q = quot(l, num(x, 1), addc(l, e, 1));
  return pick(l, lessc(l, x, 0), mul(l, e, q), q);
}

/* The power of two comes last: x*e^x/(1 + e^x) is rounded once where it is denormal. */
static val silu32(neo_llvm *l, val x) {
  scaled e = falling_parts(l, twice_size(l, x), NULL);
  val y = quot(l, at_least(l, x, -120), addc(l, exp_of(l, &e), 1));
  val low = mul(l, times_exp(l, y, &e), e.s);
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

/* 1 - inv*(t + TAIL_C), where d is t + TAIL_C, rounded, and inv is near to 1/d. */
static val inverse_error(neo_llvm *l, val t, val d, val inv) {
  if (l->target.fma) {
    val lost = sub(l, t, addc(l, d, -TAIL_C)), down = minus(l, inv);
    return mad(l, down, lost, mad(l, down, d, num(t, 1)));
  }
  val product = mul(l, to_f64(l, inv), addc(l, to_f64(l, t), TAIL_C));
  return to_f32(l, sub(l, num(product, 1), product));
}

/* The parts of the three functions below, t = |x|: Phi(-t) = tail * e. All three compute them by
 * the same instructions, so that LLVM's CSE shares them where a function and its gradient are
 * together.
 *
 * The tail is poly(w)*inv, w = 1 - 2*C*inv, with inv = 1/(t + C) rounded twice. The slope of log
 * tail in log inv is between 1 and 2. So adding the error of inv, with that of t^2, to the exponent
 * corrects most of it. */
typedef struct {
  val t, tail;
  scaled e; /* e^(-t^2/2) */
} normal;

static normal normal_parts(neo_llvm *l, val x) {
  const double slope = 1.7;
  val t = at_most(l, size_of(l, x), 15), t2 = mul(l, t, t), d = addc(l, t, TAIL_C);
  val inv = quot(l, num(t, 1), d), w = mad(l, inv, num(t, -2 * TAIL_C), num(t, 1));
  val more = mad(l, inverse_error(l, t, d, inv), num(t, -2 * slope), square_error(l, t, t2));
  normal n = {t, mul(l, POLY(l, w, tail_poly), inv), falling_parts(l, t2, more)};
  return n;
}

static val bell32(neo_llvm *l, val x) {
  normal n = normal_parts(l, x);
  return exp_of(l, &n.e);
}

static val phi32(neo_llvm *l, val x) {
  normal n = normal_parts(l, x);
  val low = mul(l, times_exp(l, n.tail, &n.e), n.e.s);
  return pick(l, lessc(l, x, 0), low, sub(l, num(x, 1), low));
}

/* gelu(x) = x*Phi(x), t = |x|: gelu(-t) = -t*Phi(-t), gelu(t) = t - t*Phi(-t). x - x is NaN where x
 * is minus infinity; zeros have the sign of x. */
static val gelu32(neo_llvm *l, val x) {
  normal n = normal_parts(l, x);
  val low = mul(l, n.t, times_exp(l, n.tail, &n.e));
  val whole = pick(l, lessc(l, x, 0), minus(l, sub(l, x, x)), x);
  return mad(l, minus(l, low), n.e.s, whole);
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

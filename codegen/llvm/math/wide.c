/* log1p, softplus, sin, cos, tan, pow for f32, computed in f64. A short f64 polynomial has more
 * bits than f32 needs, so that the rounding at the end dominates the error (at most 0.6 ulp).
 * Denormal results and huge intermediate values need no care. Each is a function of the module,
 * made at first use.
 *
 * sin, cos, tan: three-part reduction by pi/2 (33 + 33 + 53 bits), exact enough below 2^20; a
 * vector with a larger element (or infinity) calls the functions of f64 for those lanes. */
#include "codegen/llvm/num.h"
#include <assert.h>

#define MAGIC64 0x1.8p52

/* 2^f, |f| <= 1/2, error 2^-34. */
static const double exp2_poly[] = {
    0x1.ffffffffabb32p-1, 0x1.62e42ff116392p-1,  0x1.ebfbe0a4c5df7p-3,  0x1.c6b08aaf2094ep-5,
    0x1.3b29dc3b9edecp-7, 0x1.5d8a70873b04ap-10, 0x1.446a23d6b78b2p-13, 0x1.fe17940aa7fcbp-17};
/* (log((1+s)/(1-s)) - 2s) / s^3 in s^2, |s| <= 0.1716, error 2^-44. */
static const double log_poly[] = {0x1.555555561d94bp-1, 0x1.999996ab0b193p-2, 0x1.2494113aa0087p-2,
                                  0x1.c62b4d491617fp-3, 0x1.91127a811a69cp-3};
/* (sin(r)/r - 1)/r^2 and (cos(r) - 1 + r^2/2)/r^4 in r^2, |r| <= pi/4, errors 2^-37 and 2^-43. */
static const double sin_poly[] = {-0x1.5555554ca95b5p-3, 0x1.1111088a12199p-7,
                                  -0x1.a00f93ad70846p-13, 0x1.6cd5f0a87b5d4p-19};
static const double cos_poly[] = {0x1.5555554f42b12p-5, -0x1.6c16b88c10ac2p-10,
                                  0x1.a011179c1d030p-16, -0x1.24290b82a96e3p-22};

/* 2^t in f64, for |t| cut to 200. */
static val exp2_64(neo_llvm *l, val t) {
  t = at_most(l, at_least(l, t, -200), 200);
  val z = addc(l, t, MAGIC64), f = sub(l, t, addc(l, z, -MAGIC64));
  val p = to_bits(l, POLY(l, f, exp2_poly));
  return of_bits(l, iadd(l, p, ishl(l, to_bits(l, z), 52)));
}

typedef struct {
  val m, k; /* m*2^k, f64; m in [sqrt(1/2), sqrt(2)) */
} split;

/* Splits a positive finite f32 into mantissa and exponent. */
static split split32(neo_llvm *l, val x) {
  val tiny = lessc(l, x, 0x1p-126);
  val y = pick(l, tiny, mulc(l, x, 0x1p23), x);
  val u = isub(l, to_bits(l, y), inum(to_bits(l, y), 0x3f3504f3));
  val m = of_bits(l, iadd(l, iand(l, u, 0x7fffff), inum(u, 0x3f3504f3)));
  val k = isar(l, u, 23);
  k = pick(l, tiny, iadd(l, k, inum(k, -23)), k);
  split s = {to_f64(l, m), i32_to(l, k, 64)};
  return s;
}

/* Splits a positive f64 in the range of f32: the exponent comes from its f32 rounding. */
static split split64(neo_llvm *l, val y) {
  val u = to_bits(l, to_f32(l, y));
  val k = isar(l, isub(l, u, inum(u, 0x3f3504f3)), 23);
  LLVMTypeRef i64 = neo_ll_int_type(l, 64, neo_ll_width(y));
  val shift = LLVMBuildSExt(l->b, k, i64, "");
  val scale = of_bits(l, ishl(l, isub(l, inum(shift, 1023), shift), 52));
  split s = {mul(l, y, scale), i32_to(l, k, 64)};
  return s;
}

static val log_of(neo_llvm *l, split a) {
  val s = quot(l, addc(l, a.m, -1), addc(l, a.m, 1)), z = mul(l, s, s);
  val r = mad(l, mul(l, s, z), POLY(l, z, log_poly), add(l, s, s));
  return mad(l, a.k, num(r, 0x1.62e42fefa39efp-1), r);
}

/* log(1 + d) for d > -1 in the range of f32; small d by the series. */
static val log1p_64(neo_llvm *l, val d) {
  val far = log_of(l, split64(l, addc(l, d, 1)));
  val near = mad(l, d, mad(l, d, num(d, 1.0 / 3), num(d, -0.5)), num(d, 1));
  return pick(l, lessc(l, size_of(l, d), 0x1p-20), mul(l, d, near), far);
}

static val log1p32(neo_llvm *l, val x) {
  val y = to_f32(l, log1p_64(l, to_f64(l, x)));
  y = pick(l, samec(l, x, -1), num(x, -INFINITY), y);
  y = pick(l, samec(l, x, INFINITY), x, y);
  val out = LLVMBuildFCmp(l->b, LLVMRealULT, x, num(x, -1), ""); /* or NaN */
  return pick(l, out, num(x, NAN), y);
}

static val softplus32(neo_llvm *l, val x) {
  val d = to_f64(l, x), zero = num(d, 0);
  val e = exp2_64(l, mulc(l, size_of(l, d), -0x1.71547652b82fep+0));
  val y = to_f32(l, add(l, pick(l, less(l, zero, d), d, zero), log1p_64(l, e)));
  return pick(l, LLVMBuildFCmp(l->b, LLVMRealUNO, x, x, ""), x, y);
}

/* ---- sin, cos, tan */

/* Computes in f64 for the lanes where `big` holds. */
static val far_lanes(neo_llvm *l, neo_op op, val d, val big, val near) {
  LLVMValueRef fn = LLVMGetBasicBlockParent(LLVMGetInsertBlock(l->b));
  LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b);
  LLVMBasicBlockRef far = LLVMAppendBasicBlockInContext(l->ctx, fn, "far");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(l->ctx, fn, "done");
  val any = big;
  if (neo_ll_width(big) > 1)
    any = neo_ll_call(l, "llvm.vector.reduce.or", LLVMTypeOf(big), &big, 1);
  LLVMBuildCondBr(l->b, any, far, done);
  LLVMPositionBuilderAtEnd(l->b, far);
  val mixed = pick(l, big, to_f32(l, neo_ll_math_f64(l, op, d, NULL)), near);
  LLVMBuildBr(l->b, done);
  LLVMPositionBuilderAtEnd(l->b, done);
  val y = LLVMBuildPhi(l->b, LLVMTypeOf(near), "");
  LLVMAddIncoming(y, (val[]){near, mixed}, (LLVMBasicBlockRef[]){from, far}, 2);
  return y;
}

static val trig(neo_llvm *l, neo_op op, val x) {
  val d = to_f64(l, x);
  val z = mad(l, d, num(d, 0x1.45f306dc9c883p-1), num(d, MAGIC64)), n = addc(l, z, -MAGIC64);
  val r = mad(l, n, num(d, -0x1.921fb544p+0), d);
  r = mad(l, n, num(d, -0x1.0b4611a6p-34), r);
  r = mad(l, n, num(d, -0x1.3198a2e037073p-69), r);
  val r2 = mul(l, r, r);
  val s = mul(l, r, mad(l, r2, POLY(l, r2, sin_poly), num(d, 1)));
  val c = mad(l, mul(l, r2, r2), POLY(l, r2, cos_poly), mad(l, r2, num(d, -0.5), num(d, 1)));
  val q = to_bits(l, z);
  if (op == NEO_OP_COS)
    q = iadd(l, q, inum(q, 1));
  val odd = LLVMBuildICmp(l->b, LLVMIntNE, iand(l, q, 1), inum(q, 0), "");
  val flip = LLVMBuildICmp(l->b, LLVMIntNE, iand(l, q, 2), inum(q, 0), "");
  val y = pick(l, odd, c, s);
  if (op == NEO_OP_TAN)
    y = quot(l, y, pick(l, odd, minus(l, s), c));
  else
    y = pick(l, flip, minus(l, y), y);
  val big = not_(l, lessc(l, size_of(l, x), 0x1p20)); /* or NaN */
  return far_lanes(l, op, d, big, to_f32(l, y));
}

/* ---- pow: 2^(y*log2|x|), then the cases of C's pow */

static val pow32(neo_llvm *l, val x, val y) {
  val a = size_of(l, x);
  val log2 = mulc(l, log_of(l, split32(l, a)), 0x1.71547652b82fep+0), inf = num(log2, INFINITY);
  log2 = pick(l, samec(l, a, 0), minus(l, inf), log2);
  log2 = pick(l, samec(l, a, INFINITY), inf, log2);
  return neo_ll_pow_cases(l, x, y, to_f32(l, exp2_64(l, mul(l, to_f64(l, y), log2))));
}

/* ---- one function of the module for each operator and width */

static val body(neo_llvm *l, neo_op op, val x, val y) {
  switch (op) {
  case NEO_OP_LOG1P:
    return log1p32(l, x);
  case NEO_OP_SOFTPLUS:
    return softplus32(l, x);
  case NEO_OP_POW:
    return pow32(l, x, y);
  case NEO_OP_SIN:
  case NEO_OP_COS:
  case NEO_OP_TAN:
    return trig(l, op, x);
  default:
    assert(0 && "a function evaluated in f64");
    return x;
  }
}

val neo_ll_math_wide(neo_llvm *l, neo_op op, val x, val y) {
  const char *name = neo_arena_printf(l->arena, "%s.%u", neo_op_text(op), neo_ll_width(x));
  return neo_ll_math_shared(l, name, op, x, y, body);
}

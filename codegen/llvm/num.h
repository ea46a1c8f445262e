/* Private to codegen/llvm/math: arithmetic in few letters, so that a formula stays
 * readable. All values of one call have the same number of lanes. */
#pragma once
#include "codegen/llvm/gen.h"
#include <math.h>

typedef LLVMValueRef val;

static inline val num(val like, double c) {
  return neo_ll_float(LLVMTypeOf(like), c);
}
static inline val add(neo_llvm *l, val x, val y) {
  return LLVMBuildFAdd(l->b, x, y, "");
}
static inline val sub(neo_llvm *l, val x, val y) {
  return LLVMBuildFSub(l->b, x, y, "");
}
static inline val mul(neo_llvm *l, val x, val y) {
  return LLVMBuildFMul(l->b, x, y, "");
}
static inline val quot(neo_llvm *l, val x, val y) {
  return LLVMBuildFDiv(l->b, x, y, "");
}
static inline val minus(neo_llvm *l, val x) {
  return LLVMBuildFNeg(l->b, x, "");
}
static inline val mulc(neo_llvm *l, val x, double c) {
  return mul(l, x, num(x, c));
}
static inline val addc(neo_llvm *l, val x, double c) {
  return add(l, x, num(x, c));
}

/* x*y + z, fused where the target has it. */
static inline val mad(neo_llvm *l, val x, val y, val z) {
  val arg[] = {x, y, z};
  if (l->target.fma)
    return neo_ll_call(l, "llvm.fma", LLVMTypeOf(x), arg, 3);
  return add(l, mul(l, x, y), z);
}

static inline val size_of(neo_llvm *l, val x) {
  return neo_ll_call(l, "llvm.fabs", LLVMTypeOf(x), &x, 1);
}

static inline val with_sign(neo_llvm *l, val x, val sign) {
  val arg[] = {x, sign};
  return neo_ll_call(l, "llvm.copysign", LLVMTypeOf(x), arg, 2);
}

/* Comparisons are false for NaN. */
static inline val less(neo_llvm *l, val x, val y) {
  return LLVMBuildFCmp(l->b, LLVMRealOLT, x, y, "");
}
static inline val same(neo_llvm *l, val x, val y) {
  return LLVMBuildFCmp(l->b, LLVMRealOEQ, x, y, "");
}
static inline val lessc(neo_llvm *l, val x, double c) {
  return less(l, x, num(x, c));
}
static inline val samec(neo_llvm *l, val x, double c) {
  return same(l, x, num(x, c));
}
static inline val pick(neo_llvm *l, val c, val x, val y) {
  return LLVMBuildSelect(l->b, c, x, y, "");
}
static inline val both(neo_llvm *l, val x, val y) {
  return LLVMBuildAnd(l->b, x, y, "");
}
static inline val either(neo_llvm *l, val x, val y) {
  return LLVMBuildOr(l->b, x, y, "");
}
static inline val not_(neo_llvm *l, val x) {
  return LLVMBuildNot(l->b, x, "");
}

/* Into [lo, hi]; NaN stays. */
static inline val at_least(neo_llvm *l, val x, double lo) {
  return pick(l, lessc(l, x, lo), num(x, lo), x);
}
static inline val at_most(neo_llvm *l, val x, double hi) {
  return pick(l, less(l, num(x, hi), x), num(x, hi), x);
}

/* c[0] + c[step]*x + c[2*step]*x^2 + ..., n of them, by Horner's rule. */
static inline val horner(neo_llvm *l, val x, const double *c, int n, int step) {
  val p = num(x, c[(n - 1) * step]);
  for (int i = n - 2; i >= 0; i--)
    p = mad(l, p, x, num(x, c[i * step]));
  return p;
}

/* c[0] + c[1]*x + ... + c[n-1]*x^(n-1). The first step is Horner's, which keeps what it rounds
 * small; the rest is two chains, of odd and even powers, neither of which waits for the other. */
static inline val poly(neo_llvm *l, val x, const double *c, int n) {
  if (n < 6)
    return horner(l, x, c, n, 1);
  val x2 = mul(l, x, x), even = horner(l, x2, c + 1, n / 2, 2);
  val p = mad(l, horner(l, x2, c + 2, (n - 1) / 2, 2), x, even);
  return mad(l, p, x, num(x, c[0]));
}
#define POLY(l, x, table) poly(l, x, table, (int)(sizeof(table) / sizeof((table)[0])))

/* The bits as integers of the same size, and back. */
static inline val to_bits(neo_llvm *l, val x) {
  return LLVMBuildBitCast(l->b, x, neo_ll_int_type(l, neo_ll_bits(x), neo_ll_width(x)), "");
}
static inline val of_bits(neo_llvm *l, val x) {
  return LLVMBuildBitCast(l->b, x, neo_ll_float_type(l, neo_ll_bits(x), neo_ll_width(x)), "");
}
static inline val inum(val like, int64_t c) {
  return neo_ll_int(LLVMTypeOf(like), c);
}
static inline val iadd(neo_llvm *l, val x, val y) {
  return LLVMBuildAdd(l->b, x, y, "");
}
static inline val isub(neo_llvm *l, val x, val y) {
  return LLVMBuildSub(l->b, x, y, "");
}
static inline val iand(neo_llvm *l, val x, int64_t c) {
  return LLVMBuildAnd(l->b, x, inum(x, c), "");
}
static inline val ishl(neo_llvm *l, val x, int c) {
  return LLVMBuildShl(l->b, x, inum(x, c), "");
}
static inline val isar(neo_llvm *l, val x, int c) {
  return LLVMBuildAShr(l->b, x, inum(x, c), "");
}

static inline val to_f64(neo_llvm *l, val x) {
  return LLVMBuildFPExt(l->b, x, neo_ll_float_type(l, 64, neo_ll_width(x)), "");
}
static inline val to_f32(neo_llvm *l, val x) {
  return LLVMBuildFPTrunc(l->b, x, neo_ll_float_type(l, 32, neo_ll_width(x)), "");
}
static inline val i32_to(neo_llvm *l, val x, uint32_t bits) {
  return LLVMBuildSIToFP(l->b, x, neo_ll_float_type(l, bits, neo_ll_width(x)), "");
}

/* Calls the function of the module "<prefix>.<name>", whose body `of` writes. llvm/math/wide.c */
typedef val neo_ll_math_body(neo_llvm *l, neo_op op, val x, val y);
val neo_ll_math_shared(neo_llvm *l, const char *name, neo_op op, val x, val y,
                       neo_ll_math_body *of);

/* Element functions for float (vectors): in f32 arithmetic, and by way of f64. For double: in our
 * own code. */
val neo_ll_math32(neo_llvm *l, neo_op op, val x);           /* llvm/math/math32.c */
val neo_ll_math_wide(neo_llvm *l, neo_op op, val x, val y); /* llvm/math/wide.c */
/* x^y, given r = |x|^y: a negative base has the sign of odd powers, and no value between whole
 * ones; the cases of C's pow. llvm/math/wide.c */
val neo_ll_pow_cases(neo_llvm *l, val x, val y, val r);
val neo_ll_math_f64(neo_llvm *l, neo_op op, val x, val y); /* by libm, where there is one */
val neo_ll_math64(neo_llvm *l, neo_op op, val x, val y);   /* llvm/math/math64.c */

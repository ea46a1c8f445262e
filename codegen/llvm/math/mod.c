/* The remainder of floats, exact, with the sign of the divisor: x % y.
 *
 * C's fmod of |x| and |y| is computed in f64. If |x/y| is so small that the quotient is an exact
 * integer and its product with y is exact, one step is enough:
 *
 *   q = trunc(|x|/|y|)      rounding may make it one too large, never too small
 *   r = |x| - q*|y|         exact; below 0 where q is too large
 *
 * A vector with another lane calls a function that subtracts |y|*2^k, the largest k first, which is
 * exact and takes a step for each bit of the quotient. Then the remainder gets the sign of x, and y
 * is added if the signs differ, which is the only rounding. */
#include "codegen/llvm/math/math64.h"
#include <assert.h>

static val is_nan(neo_llvm *l, val x, val y) {
  return LLVMBuildFCmp(l->b, LLVMRealUNO, x, y, "");
}

static val not_less(neo_llvm *l, val x, val y) {
  return LLVMBuildFCmp(l->b, LLVMRealOGE, x, y, "");
}

/* ---- far: a loop over the bits of the quotient */

/* phi of (first, then), where `then` is set at the end of the loop's body. */
static val loop_value(neo_llvm *l, val first, LLVMBasicBlockRef entry) {
  val phi = LLVMBuildPhi(l->b, LLVMTypeOf(first), "");
  LLVMAddIncoming(phi, &first, &entry, 1);
  return phi;
}

static void next_value(neo_llvm *l, val phi, val then) {
  LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b);
  LLVMAddIncoming(phi, &then, &from, 1);
}

/* double fmod(double a, double b), a >= b > 0, a finite. */
static void build_far(neo_llvm *l, LLVMValueRef fn) {
  val a = LLVMGetParam(fn, 0), b = LLVMGetParam(fn, 1);
  LLVMBasicBlockRef entry = LLVMGetInsertBlock(l->b);
  LLVMBasicBlockRef grow = LLVMAppendBasicBlockInContext(l->ctx, fn, "grow");
  LLVMBasicBlockRef shrink = LLVMAppendBasicBlockInContext(l->ctx, fn, "shrink");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(l->ctx, fn, "done");
  LLVMBuildBr(l->b, grow);
  LLVMPositionBuilderAtEnd(l->b, grow); /* the largest b*2^k that is at most a */
  val up = loop_value(l, b, entry), twice = add(l, up, up);
  next_value(l, up, twice);
  LLVMBuildCondBr(l->b, not_less(l, a, twice), grow, shrink);
  LLVMPositionBuilderAtEnd(l->b, shrink);
  val r = loop_value(l, a, grow), part = loop_value(l, up, grow);
  val rest = pick(l, not_less(l, r, part), sub(l, r, part), r), half = mulc(l, part, 0.5);
  next_value(l, r, rest);
  next_value(l, part, half);
  LLVMBuildCondBr(l->b, not_less(l, half, b), shrink, done);
  LLVMPositionBuilderAtEnd(l->b, done);
  LLVMBuildRet(l->b, rest);
}

static val call_far(neo_llvm *l, val a, val b) {
  LLVMTypeRef f64 = neo_ll_float_type(l, 64, 1), args[] = {f64, f64};
  LLVMTypeRef type = LLVMFunctionType(f64, args, 2, false);
  neo_ll_shared f = neo_ll_shared_begin(l, "fmod", type);
  if (f.body) {
    build_far(l, f.body);
    neo_ll_shared_end(l, &f);
  }
  return LLVMBuildCall2(l->b, type, f.fn, (val[]){a, b}, 2, "");
}

static val far_lanes(neo_llvm *l, val a, val b) {
  uint32_t w = neo_ll_width(a);
  if (w == 1)
    return call_far(l, a, b);
  val y = a;
  for (uint32_t k = 0; k < w; k++) {
    val at = neo_ll_int(neo_ll_i32(l), k);
    val r = call_far(l, LLVMBuildExtractElement(l->b, a, at, ""),
                     LLVMBuildExtractElement(l->b, b, at, ""));
    y = LLVMBuildInsertElement(l->b, y, r, at, "");
  }
  return y;
}

/* ---- fmod of sizes, in f64 */

/* a - trunc(a/b)*b. */
static val near_rest(neo_llvm *l, val a, val b, bool narrow) {
  val ratio = quot(l, a, b), q = neo_ll_call(l, "llvm.trunc", LLVMTypeOf(a), &ratio, 1);
  pair p = {mul(l, q, b), num(a, 0)};
  if (!narrow)
    p = product2(l, q, b);
  val r = sub(l, sub(l, a, p.h), p.l);
  return pick(l, lessc(l, r, 0), add(l, r, b), r);
}

/* a and b are sizes of f32 if `narrow`: products of 29 bits by theirs are exact. */
static val size_mod(neo_llvm *l, val a, val b, bool narrow) {
  val most = mulc(l, b, narrow ? 0x1p29 : 0x1p52), below = less(l, a, b);
  val near = both(l, less(l, a, most), lessc(l, a, 0x1p1000)); /* no product overflows */
  val never = either(l, is_nan(l, a, b), either(l, samec(l, a, INFINITY), samec(l, b, 0)));
  val r = pick(l, below, a, near_rest(l, a, b, narrow));
  val far = not_(l, either(l, either(l, near, below), never)), any = far;
  LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b);
  LLVMValueRef fn = LLVMGetBasicBlockParent(from);
  LLVMBasicBlockRef loop = LLVMAppendBasicBlockInContext(l->ctx, fn, "far");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(l->ctx, fn, "done");
  if (neo_ll_width(far) > 1)
    any = neo_ll_call(l, "llvm.vector.reduce.or", LLVMTypeOf(far), &far, 1);
  LLVMBuildCondBr(l->b, any, loop, done);
  LLVMPositionBuilderAtEnd(l->b, loop);
  val one = num(a, 1);
  val slow = pick(l, far, far_lanes(l, pick(l, far, a, one), pick(l, far, b, one)), r);
  LLVMBasicBlockRef end = LLVMGetInsertBlock(l->b);
  LLVMBuildBr(l->b, done);
  LLVMPositionBuilderAtEnd(l->b, done);
  val y = LLVMBuildPhi(l->b, LLVMTypeOf(r), "");
  LLVMAddIncoming(y, (val[]){r, slow}, (LLVMBasicBlockRef[]){from, end}, 2);
  return pick(l, never, num(a, NAN), y);
}

val neo_ll_float_mod(neo_llvm *l, val x, val y) {
  bool narrow = neo_ll_bits(x) == 32;
  assert(narrow || neo_ll_bits(x) == 64);
  val a = size_of(l, x), b = size_of(l, y);
  val r =
      narrow ? to_f32(l, size_mod(l, to_f64(l, a), to_f64(l, b), true)) : size_mod(l, a, b, false);
  val zero = samec(l, r, 0), signs = LLVMBuildXor(l->b, to_bits(l, x), to_bits(l, y), "");
  val differ = LLVMBuildICmp(l->b, LLVMIntSLT, signs, inum(signs, 0), "");
  val rest = with_sign(l, r, pick(l, zero, y, x));
  return pick(l, both(l, differ, not_(l, zero)), add(l, rest, y), rest);
}

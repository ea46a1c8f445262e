/* Shared by the files of element functions: functions of the module, one for each operator and
 * width, and the special cases of pow. */
#include "codegen/llvm/num.h"

val neo_ll_math_shared(neo_llvm *l, const char *name, neo_op op, val x, val y,
                       neo_ll_math_body *of) {
  LLVMTypeRef t = LLVMTypeOf(x), param[] = {t, t};
  unsigned n = y ? 2 : 1;
  LLVMTypeRef type = LLVMFunctionType(t, param, n, false);
  neo_ll_shared f = neo_ll_shared_begin(l, name, type);
  if (f.body) {
    LLVMBuildRet(l->b, of(l, op, LLVMGetParam(f.body, 0), y ? LLVMGetParam(f.body, 1) : NULL));
    neo_ll_shared_end(l, &f);
  }
  return LLVMBuildCall2(l->b, type, f.fn, (val[]){x, y}, n, "");
}

static val is_whole(neo_llvm *l, val y) {
  return same(l, neo_ll_call(l, "llvm.floor", LLVMTypeOf(y), &y, 1), y);
}

val neo_ll_pow_cases(neo_llvm *l, val x, val y, val r) {
  val bits = to_bits(l, x);
  val whole = is_whole(l, y), odd = both(l, whole, not_(l, is_whole(l, mulc(l, y, 0.5))));
  val negative = LLVMBuildICmp(l->b, LLVMIntSLT, bits, inum(bits, 0), "");
  r = pick(l, both(l, negative, odd), minus(l, r), r);
  val inside = both(l, lessc(l, x, 0), less(l, num(x, -INFINITY), x));
  r = pick(l, both(l, inside, not_(l, whole)), num(x, NAN), r);
  r = pick(l, LLVMBuildFCmp(l->b, LLVMRealUNO, x, y, ""), num(x, NAN), r);
  val unit = both(l, samec(l, x, -1), samec(l, size_of(l, y), INFINITY));
  unit = either(l, unit, either(l, samec(l, x, 1), samec(l, y, 0)));
  return pick(l, unit, num(x, 1), r);
}

/* Element functions of f64: libm's, lane by lane, or those of llvm/math/math64.c without a libm. */
#include "codegen/llvm/num.h"

/* Calls a function of libm lane by lane. */
static LLVMValueRef libm(neo_llvm *l, const char *name, LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef f64 = LLVMDoubleTypeInContext(l->ctx), param[] = {f64, f64};
  LLVMTypeRef i32 = neo_ll_i32(l);
  LLVMTypeRef type = LLVMFunctionType(f64, param, y ? 2 : 1, false);
  LLVMValueRef fn = neo_ll_extern(l, name, type);
  uint32_t w = neo_ll_width(x);
  LLVMValueRef arg[] = {x, y}, out = LLVMGetPoison(LLVMTypeOf(x));
  if (w == 1)
    return LLVMBuildCall2(l->b, type, fn, arg, y ? 2 : 1, "");
  for (uint32_t k = 0; k < w; k++) {
    LLVMValueRef at = neo_ll_int(i32, k);
    arg[0] = LLVMBuildExtractElement(l->b, x, at, "");
    if (y)
      arg[1] = LLVMBuildExtractElement(l->b, y, at, "");
    LLVMValueRef r = LLVMBuildCall2(l->b, type, fn, arg, y ? 2 : 1, "");
    out = LLVMBuildInsertElement(l->b, out, r, at, "");
  }
  return out;
}

static LLVMValueRef sigmoid(neo_llvm *l, LLVMValueRef x) {
  LLVMTypeRef t = LLVMTypeOf(x);
  LLVMValueRef one = neo_ll_float(t, 1), size = neo_ll_call(l, "llvm.fabs", t, &x, 1);
  LLVMValueRef e = libm(l, "exp", LLVMBuildFNeg(l->b, size, ""), NULL);
  LLVMValueRef low = LLVMBuildFCmp(l->b, LLVMRealOLT, x, neo_ll_float(t, 0), "");
  LLVMValueRef top = LLVMBuildSelect(l->b, low, e, one, "");
  return LLVMBuildFDiv(l->b, top, LLVMBuildFAdd(l->b, one, e, ""), "");
}

static LLVMValueRef gelu(neo_llvm *l, LLVMValueRef x) {
  LLVMTypeRef t = LLVMTypeOf(x);
  LLVMValueRef z = LLVMBuildFMul(l->b, x, neo_ll_float(t, -0.70710678118654752440), "");
  LLVMValueRef c = libm(l, "erfc", z, NULL);
  return LLVMBuildFMul(l->b, LLVMBuildFMul(l->b, x, neo_ll_float(t, 0.5), ""), c, "");
}

static LLVMValueRef phi(neo_llvm *l, LLVMValueRef x) {
  LLVMTypeRef t = LLVMTypeOf(x);
  LLVMValueRef z = LLVMBuildFMul(l->b, x, neo_ll_float(t, -0.70710678118654752440), "");
  return LLVMBuildFMul(l->b, libm(l, "erfc", z, NULL), neo_ll_float(t, 0.5), "");
}

static LLVMValueRef bell(neo_llvm *l, LLVMValueRef x) {
  LLVMValueRef half = LLVMBuildFMul(l->b, x, neo_ll_float(LLVMTypeOf(x), -0.5), "");
  return libm(l, "exp", LLVMBuildFMul(l->b, half, x, ""), NULL);
}

static LLVMValueRef softplus(neo_llvm *l, LLVMValueRef x) {
  LLVMTypeRef t = LLVMTypeOf(x);
  LLVMValueRef zero = neo_ll_float(t, 0), size = neo_ll_call(l, "llvm.fabs", t, &x, 1);
  LLVMValueRef e = libm(l, "exp", LLVMBuildFNeg(l->b, size, ""), NULL);
  LLVMValueRef more = libm(l, "log1p", e, NULL);
  LLVMValueRef up = LLVMBuildFCmp(l->b, LLVMRealOGT, x, zero, "");
  return LLVMBuildFAdd(l->b, LLVMBuildSelect(l->b, up, x, zero, ""), more, "");
}

static LLVMValueRef elu(neo_llvm *l, LLVMValueRef x) {
  LLVMValueRef up = LLVMBuildFCmp(l->b, LLVMRealOGT, x, neo_ll_float(LLVMTypeOf(x), 0), "");
  return LLVMBuildSelect(l->b, up, x, libm(l, "expm1", x, NULL), "");
}

static LLVMValueRef by_libm(neo_llvm *l, neo_op op, LLVMValueRef x, LLVMValueRef y) {
  switch (op) {
  case NEO_OP_SIGMOID:
    return sigmoid(l, x);
  case NEO_OP_SILU:
    return LLVMBuildFMul(l->b, x, sigmoid(l, x), "");
  case NEO_OP_GELU:
    return gelu(l, x);
  case NEO_OP_PHI:
    return phi(l, x);
  case NEO_OP_BELL:
    return bell(l, x);
  case NEO_OP_SOFTPLUS:
    return softplus(l, x);
  case NEO_OP_ELU:
    return elu(l, x);
  default:
    return libm(l, neo_op_text(op), x, y);
  }
}

/* Does the target have a libm? An emulated GPU has none, so that it runs the same code as a GPU. */
static bool has_libm(const neo_llvm *l) {
  return !l->target.sm && !l->target.own_math;
}

LLVMValueRef neo_ll_math_f64(neo_llvm *l, neo_op op, LLVMValueRef x, LLVMValueRef y) {
  return has_libm(l) ? by_libm(l, op, x, y) : neo_ll_math64(l, op, x, y);
}

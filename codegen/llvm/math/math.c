/* Chooses how element functions are computed: those of f64 by llvm/math/libm.c, those of f32 (and
 * of f16 and bf16, which are computed in f32) by llvm/math/math32.c and llvm/math/wide.c. */
#include "codegen/llvm/num.h"

static bool is_wide(neo_op op) {
  switch (op) {
  case NEO_OP_LOG1P:
  case NEO_OP_SOFTPLUS:
  case NEO_OP_POW:
  case NEO_OP_SIN:
  case NEO_OP_COS:
  case NEO_OP_TAN:
    return true;
  default:
    return false;
  }
}

LLVMValueRef neo_ll_math(neo_llvm *l, neo_op op, LLVMValueRef x, LLVMValueRef y) {
  if (neo_ll_bits(x) == 64)
    return neo_ll_math_f64(l, op, x, y);
  return is_wide(op) ? neo_ll_math_wide(l, op, x, y) : neo_ll_math32(l, op, x);
}

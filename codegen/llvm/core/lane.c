/* Masked stores of a single lane become stores of an element.
 *
 *   masked.store(v, p, mask of lane 3)    ->    store v[3], p + 3
 *
 * The last step of a loop may have a single element, with a store whose mask is a constant of one
 * lane. With AVX-512, LLVM 22 turns it into a store of that lane. But if the value is truncated
 * first (trunc <16 x i32> to <16 x i16>), it stores the lane before truncation: more bytes than the
 * element has, over the data that follow. So this pass replaces such stores of integers. It is the
 * last pass, because masks become constants until then. */
#include "codegen/llvm/gen.h"
#include <string.h>

static bool is_masked_store(LLVMValueRef i) {
  if (LLVMGetInstructionOpcode(i) != LLVMCall)
    return false;
  size_t n;
  LLVMValueRef fn = LLVMGetCalledValue(i);
  return LLVMIsAFunction(fn) && !strncmp(LLVMGetValueName2(fn, &n), "llvm.masked.store.", 18);
}

/* The lane of a constant mask that has only that one; else -1. */
static int lane_of(LLVMValueRef mask) {
  int lane = -1;
  if (!LLVMIsConstant(mask))
    return -1;
  for (unsigned k = 0, n = neo_ll_width(mask); k < n; k++) {
    LLVMValueRef on = LLVMGetAggregateElement(mask, k);
    if (!on || !LLVMIsAConstantInt(on))
      return -1;
    if (LLVMConstIntGetZExtValue(on) == 0)
      continue;
    if (lane >= 0)
      return -1;
    lane = (int)k;
  }
  return lane;
}

static void store_lane(neo_llvm *l, LLVMValueRef i) {
  LLVMValueRef value = LLVMGetOperand(i, 0), at = LLVMGetOperand(i, 1);
  LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(value)), i32 = neo_ll_i32(l);
  unsigned mask = LLVMGetNumArgOperands(i) - 1;
  int lane = lane_of(LLVMGetOperand(i, mask));
  if (lane < 0 || LLVMGetTypeKind(element) != LLVMIntegerTypeKind)
    return;
  LLVMPositionBuilderBefore(l->b, i);
  LLVMValueRef k = LLVMConstInt(i32, (unsigned)lane, false);
  LLVMValueRef x = LLVMBuildExtractElement(l->b, value, k, "");
  LLVMValueRef to = LLVMBuildGEP2(l->b, element, at, &k, 1, "");
  LLVMSetAlignment(LLVMBuildStore(l->b, x, to), LLVMGetIntTypeWidth(element) / 8);
  LLVMInstructionEraseFromParent(i);
}

void neo_ll_scalarize_masked_stores(neo_llvm *l) {
  for (LLVMValueRef f = LLVMGetFirstFunction(l->mod); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (is_masked_store(i))
          store_lane(l, i);
      }
}

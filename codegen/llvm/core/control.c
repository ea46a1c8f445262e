/* Control flow of a kernel's function. */
#include "codegen/llvm/gen.h"

LLVMBasicBlockRef neo_ll_new_block(neo_ll_gen *g, const char *name) {
  return LLVMAppendBasicBlockInContext(g->l->ctx, g->fn, name);
}

void neo_ll_loop_end(neo_ll_gen *g, LLVMValueRef x, LLVMValueRef next, LLVMValueRef hi,
                     LLVMBasicBlockRef body, LLVMBasicBlockRef after) {
  LLVMBuilderRef b = g->l->b;
  LLVMBasicBlockRef last = LLVMGetInsertBlock(b);
  LLVMAddIncoming(x, &next, &last, 1);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, next, hi, ""), body, after);
  LLVMMoveBasicBlockAfter(after, last);
  LLVMPositionBuilderAtEnd(b, after);
}

/* Loops over blocks of rows (neo_rt_loop) in a persistent kernel: iteration b has the rows t[b] ..
 * t[b + 1] - 1, and t never decreases. There may be as many empty blocks after the last row as
 * there are rows, so one binary search finds the first of them, and the loop ends there. */
#include "codegen/llvm/nvptx/nvptx.h"

LLVMValueRef neo_ll_gpu_row(neo_llvm *l, LLVMValueRef rows, LLVMValueRef at) {
  LLVMTypeRef i32 = neo_ll_i32(l);
  LLVMValueRef place = LLVMBuildInBoundsGEP2(l->b, i32, rows, &at, 1, "");
  return LLVMBuildSExt(l->b, LLVMBuildLoad2(l->b, i32, place, ""), neo_ll_i64(l), "");
}

static LLVMBasicBlockRef new_block(const neo_llvm *l, LLVMValueRef fn, const char *name) {
  return LLVMAppendBasicBlockInContext(l->ctx, fn, name);
}

LLVMValueRef neo_ll_gpu_blocks_end(neo_llvm *l, LLVMValueRef fn, LLVMValueRef rows, LLVMValueRef lo,
                                   LLVMValueRef hi) {
  LLVMBuilderRef b = l->b;
  LLVMTypeRef i64 = neo_ll_i64(l);
  LLVMValueRef one = neo_ll_int64(l, 1);
  LLVMBasicBlockRef from = LLVMGetInsertBlock(b), search = new_block(l, fn, "search");
  LLVMBasicBlockRef look = new_block(l, fn, "look"), found = new_block(l, fn, "found");
  LLVMValueRef all = neo_ll_gpu_row(l, rows, hi);
  LLVMBuildBr(b, search);
  LLVMPositionBuilderAtEnd(b, search);
  LLVMValueRef first = LLVMBuildPhi(b, i64, ""), last = LLVMBuildPhi(b, i64, "");
  LLVMAddIncoming(first, &lo, &from, 1);
  LLVMAddIncoming(last, &hi, &from, 1);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, first, last, ""), look, found);
  LLVMPositionBuilderAtEnd(b, look);
  LLVMValueRef middle = LLVMBuildAShr(b, LLVMBuildNSWAdd(b, first, last, ""), one, "");
  LLVMValueRef before = LLVMBuildICmp(b, LLVMIntSLT, neo_ll_gpu_row(l, rows, middle), all, "");
  LLVMValueRef after = LLVMBuildNSWAdd(b, middle, one, "");
  LLVMValueRef next = LLVMBuildSelect(b, before, after, first, "");
  LLVMValueRef end = LLVMBuildSelect(b, before, last, middle, "");
  LLVMAddIncoming(first, &next, &look, 1);
  LLVMAddIncoming(last, &end, &look, 1);
  LLVMBuildBr(b, search);
  LLVMPositionBuilderAtEnd(b, found);
  return first;
}

/* Code for size programs (neo_rt.h). The host evaluates them before a launch; a persistent kernel
 * evaluates them in each iteration of its loops. */
#include "codegen/llvm/nvptx/nvptx.h"
#include "neo/neo_rt.h"
#include <assert.h>

enum { STACK = 32 }; /* as deep as the runtime's */

static neo_op op_of(int64_t code) {
  switch (code) {
  case NEO_RT_OP_ADD:
    return NEO_OP_ADD;
  case NEO_RT_OP_SUB:
    return NEO_OP_SUB;
  case NEO_RT_OP_MUL:
    return NEO_OP_MUL;
  case NEO_RT_OP_DIV:
    return NEO_OP_DIV;
  case NEO_RT_OP_MOD:
    return NEO_OP_MOD;
  case NEO_RT_OP_MIN:
    return NEO_OP_MIN;
  default:
    assert(code == NEO_RT_OP_MAX && "a size program");
    return NEO_OP_MAX;
  }
}

LLVMValueRef neo_ll_gpu_program(neo_llvm *l, const int64_t *code, const LLVMValueRef *size) {
  LLVMValueRef stack[STACK + 1];
  int n = 0;
  while (*code != NEO_RT_OP_END) {
    assert(n < STACK && "programs are shallow");
    int64_t op = *code++;
    if (op == NEO_RT_OP_CONST) {
      stack[n++] = neo_ll_int64(l, *code++);
    } else if (op == NEO_RT_OP_SIZE) {
      stack[n++] = size[*code++];
    } else {
      n--;
      stack[n - 1] = neo_ll_op(l, op_of(op), NEO_I64_T, NEO_I64_T, &stack[n - 1]);
    }
  }
  return stack[0];
}

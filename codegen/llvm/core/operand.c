/* Constants of formulas become operands in memory, if instructions have such operands and registers
 * are few.
 *
 * A processor with 16 vector registers does not have one for each coefficient of a polynomial. LLVM
 * then broadcasts the coefficient into a register for each use: one more instruction for nearly
 * every multiply-add of a gelu. A whole vector of the coefficient in memory can be an operand of
 * the multiply-add itself. But LLVM uses a load as an operand only if the load has a single use,
 * and the halves of a value of two registers share loads of equal constants:
 *
 *   fma(x, y, splat c)    ->    fma(x, y, load [c, c, ...])     of the value's length
 *
 * So the constant is in memory in the value's own length, and each use has a load of its own: each
 * half then reads other lines.
 *
 * The pass is the last one, because others would replace the loads by constants, or hoist them out
 * of the loop. Values of one register are not changed: LLVM makes their constants operands by
 * itself. */
#include "codegen/llvm/gen.h"
#include <string.h>

typedef struct {
  neo_llvm *l;
  NEO_VEC(LLVMValueRef) constants, homes;
} operands;

static bool applies(const neo_target *t) {
  return t->isa == NEO_ISA_AVX2;
}

/* Can the k-th operand of the instruction be in memory? */
static bool may_load(LLVMValueRef i, unsigned k) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMFAdd:
  case LLVMFMul:
  case LLVMAdd:
  case LLVMAnd:
    return true;
  case LLVMFSub:
  case LLVMSub:
    return k == 1;
  case LLVMCall: {
    size_t n;
    LLVMValueRef fn = LLVMGetCalledValue(i);
    const char *name = LLVMIsAFunction(fn) ? LLVMGetValueName2(fn, &n) : "";
    return !strncmp(name, "llvm.fma.", 9) && k < 3;
  }
  default:
    return false;
  }
}

static bool is_long(const neo_llvm *l, LLVMValueRef c) {
  return LLVMIsConstant(c) && !LLVMIsNull(c) && !LLVMIsUndef(c) && neo_ll_width(c) > 1 &&
         neo_ll_width(c) * neo_ll_bits(c) > 8 * l->target.vector_bytes;
}

/* Constants are few: those of some formulas. */
static LLVMValueRef home_of(operands *o, LLVMValueRef c) {
  for (size_t k = 0; k < o->constants.n; k++)
    if (o->constants.at[k] == c)
      return o->homes.at[k];
  LLVMValueRef home = neo_ll_private_data(o->l, c, o->l->target.vector_bytes);
  NEO_PUSH(o->l->arena, &o->constants, c);
  NEO_PUSH(o->l->arena, &o->homes, home);
  return home;
}

static void load_operands(operands *o, LLVMValueRef i) {
  int n = LLVMGetNumOperands(i);
  for (unsigned k = 0; (int)k < n; k++) {
    LLVMValueRef c = LLVMGetOperand(i, k);
    if (!may_load(i, k) || !is_long(o->l, c))
      continue;
    LLVMPositionBuilderBefore(o->l->b, i);
    LLVMValueRef x = LLVMBuildLoad2(o->l->b, LLVMTypeOf(c), home_of(o, c), "");
    LLVMSetAlignment(x, o->l->target.vector_bytes);
    LLVMSetOperand(i, k, x);
  }
}

void neo_ll_constants_to_operands(neo_llvm *l) {
  operands o = {.l = l};
  if (!applies(&l->target))
    return;
  for (LLVMValueRef f = LLVMGetFirstFunction(l->mod); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
        load_operands(&o, i);
}

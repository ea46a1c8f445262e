/* The end of a module: LLVM's pass pipeline. Kernels are explicit vector code already, so a short
 * pipeline is enough: registers to SSA, common subexpressions, loop-invariant code motion. */
#include "codegen/llvm/gen.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

static const char pipeline[] =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(loop-simplifycfg,licm<allowspeculation>),early-cse<memssa>,adce,simplifycfg)";

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__clang__)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif

static LLVMErrorRef run_passes(neo_llvm *l, const char *passes) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(l->mod, passes, l->machine, options);
  LLVMDisposePassBuilderOptions(options);
  return error;
}

/* Under the address sanitizer the kernels of an emulated GPU are checked by it too. */
static LLVMErrorRef add_checks(neo_llvm *l) {
#ifdef WITH_ASAN
  for (LLVMValueRef f = LLVMGetFirstFunction(l->mod); f; f = LLVMGetNextFunction(f))
    if (l->target.emulated && LLVMCountBasicBlocks(f) > 0)
      neo_ll_enum_attribute(l, f, "sanitize_address");
  return l->target.emulated ? run_passes(l, "asan") : NULL;
#else
  (void)l;
  return NULL;
#endif
}

/* ---- Masked stores of a single lane become stores of an element.
 *
 *   masked.store(v, p, mask of lane 3)    ->    store v[3], p + 3
 *
 * The last step of a loop may have a single element, with a store whose mask is a constant of one
 * lane. With AVX-512, LLVM 22 turns it into a store of that lane. But if the value is truncated
 * first (trunc <16 x i32> to <16 x i16>), it stores the lane before truncation: more bytes than the
 * element has, over the data that follow. So this pass replaces such stores of integers. It is the
 * last pass, because masks become constants until then. */

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

/* Masked stores of a single lane of integers become stores of that element. */
static void scalarize_masked_stores(neo_llvm *l) {
  for (LLVMValueRef f = LLVMGetFirstFunction(l->mod); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (is_masked_store(i))
          store_lane(l, i);
      }
}

/* ---- Constants of formulas become operands in memory, if instructions have such operands and
 * registers are few.
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

/* Long constant vectors of a finished module become operands in memory. */
static void constants_to_operands(neo_llvm *l) {
  operands o = {.l = l};
  if (!applies(&l->target))
    return;
  for (LLVMValueRef f = LLVMGetFirstFunction(l->mod); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
        load_operands(&o, i);
}

neo_status neo_llvm_finish(neo_llvm *l, const char **why) {
  char *text = NULL;
  *why = "";
  l->finished = true;
  if (LLVMVerifyModule(l->mod, LLVMReturnStatusAction, &text)) {
    *why = neo_ll_message(l, text);
    return NEO_INTERNAL;
  }
  LLVMDisposeMessage(text);
  LLVMErrorRef error = run_passes(l, pipeline);
  if (!error)
    error = add_checks(l);
  if (!error) {
    scalarize_masked_stores(l);
    constants_to_operands(l);
    return NEO_OK;
  }
  char *message = LLVMGetErrorMessage(error);
  *why = neo_arena_strdup(l->arena, message);
  LLVMDisposeErrorMessage(message);
  return NEO_INTERNAL;
}

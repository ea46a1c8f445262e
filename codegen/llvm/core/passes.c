/* The end of a module: LLVM's pass pipeline. Kernels are explicit vector code already, so a short
 * pipeline is enough: registers to SSA, common subexpressions, loop-invariant code motion. */
#include "codegen/llvm/gen.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>

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
    neo_ll_scalarize_masked_stores(l);
    neo_ll_constants_to_operands(l);
    return NEO_OK;
  }
  char *message = LLVMGetErrorMessage(error);
  *why = neo_arena_strdup(l->arena, message);
  LLVMDisposeErrorMessage(message);
  return NEO_INTERNAL;
}

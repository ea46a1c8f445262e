/* One LLVM module for one target: making, functions and their attributes. */
#include "codegen/llvm/gen.h"
#include <llvm-c/Comdat.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <string.h>

static void init_targets(void) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86Disassembler();
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}

const char *neo_ll_message(neo_llvm *l, char *llvm_text) {
  const char *copy = neo_arena_strdup(l->arena, llvm_text ? llvm_text : "");
  LLVMDisposeMessage(llvm_text);
  return copy;
}

static neo_status make_machine(neo_llvm *l, const char **why) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  char *text = NULL;
  LLVMTargetRef target;
  pthread_once(&once, init_targets);
  if (LLVMGetTargetFromTriple(l->target.triple, &target, &text)) {
    *why = neo_ll_message(l, text);
    return NEO_UNSUPPORTED;
  }
  l->machine = LLVMCreateTargetMachine(target, l->target.triple, l->target.cpu, l->target.features,
                                       LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
  return NEO_OK;
}

neo_status neo_llvm_new(neo_arena *a, const neo_target *t, const char *name, neo_llvm **out,
                        const char **why) {
  neo_llvm *l = NEO_NEW(a, neo_llvm);
  *why = "";
  *out = NULL;
  l->arena = a;
  l->target = *t;
  l->name = neo_arena_strdup(a, name);
  neo_status status = make_machine(l, why);
  if (status)
    return status;
  l->ctx = LLVMContextCreate();
  l->mod = LLVMModuleCreateWithNameInContext(name, l->ctx);
  LLVMSetTarget(l->mod, t->triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(l->machine);
  LLVMSetModuleDataLayout(l->mod, layout);
  LLVMDisposeTargetData(layout);
  l->b = LLVMCreateBuilderInContext(l->ctx);
  l->entry = LLVMCreateBuilderInContext(l->ctx);
  *out = l;
  return NEO_OK;
}

void neo_llvm_free(neo_llvm *l) {
  if (!l)
    return;
  if (l->jit)
    LLVMConsumeError(LLVMOrcDisposeLLJIT(l->jit));
  LLVMDisposeBuilder(l->b);
  LLVMDisposeBuilder(l->entry);
  LLVMDisposeModule(l->mod);
  LLVMContextDispose(l->ctx);
  LLVMDisposeTargetMachine(l->machine);
}

/* ---- functions */

void neo_ll_enum_attribute(neo_llvm *l, LLVMValueRef fn, const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(l->ctx, kind, 0));
}

void neo_ll_text_attribute(neo_llvm *l, LLVMValueRef fn, const char *name, const char *value) {
  LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                          LLVMCreateStringAttribute(l->ctx, name, (unsigned)strlen(name), value,
                                                    (unsigned)strlen(value)));
}

static void target_attributes(neo_llvm *l, LLVMValueRef fn) {
  neo_ll_enum_attribute(l, fn, "nounwind");
  neo_ll_text_attribute(l, fn, "target-cpu", l->target.cpu);
  if (l->target.tune)
    neo_ll_text_attribute(l, fn, "tune-cpu", l->target.tune);
  neo_ll_text_attribute(l, fn, "target-features", l->target.features);
  if (!l->target.sm && l->target.vector_bytes > 16)
    neo_ll_text_attribute(l, fn, "prefer-vector-width",
                          l->target.vector_bytes == 64 ? "512" : "256");
}

/* Gives `made` the name; a placeholder of that name, referred to before, becomes `made`. */
void neo_ll_define(neo_llvm *l, const char *symbol, LLVMValueRef made) {
  LLVMValueRef old = LLVMGetNamedFunction(l->mod, symbol);
  if (!old)
    old = LLVMGetNamedGlobal(l->mod, symbol);
  if (old && old != made) {
    LLVMReplaceAllUsesWith(old, made);
    if (LLVMIsAFunction(old))
      LLVMDeleteFunction(old);
    else
      LLVMDeleteGlobal(old);
  }
  LLVMSetValueName2(made, symbol, strlen(symbol));
}

/* A loop of a kernel keeps its place in the lines of the instruction cache, whatever kernels stand
 * before its own: of a convolution that moved by half a line, 10 % more or less time was measured. */
enum { LINE_BYTES = 64 };

LLVMValueRef neo_ll_function(neo_llvm *l, const char *symbol, LLVMTypeRef type, bool exported) {
  LLVMValueRef fn = LLVMAddFunction(l->mod, "", type);
  neo_ll_define(l, symbol, fn);
  LLVMSetVisibility(fn, exported ? LLVMDefaultVisibility : LLVMHiddenVisibility);
  if (!l->target.sm)
    LLVMSetAlignment(fn, LINE_BYTES);
  target_attributes(l, fn);
  return fn;
}

void neo_llvm_export(neo_llvm *l, const char *symbol) {
  LLVMSetVisibility(LLVMGetNamedFunction(l->mod, symbol), LLVMDefaultVisibility);
}

/* Every module that needs it has it; a linker keeps one of those of a model. */
LLVMValueRef neo_ll_shared(neo_llvm *l, const char *what, LLVMTypeRef type,
                           LLVMBasicBlockRef *back) {
  const char *name = neo_arena_printf(l->arena, "%s.%s", l->name, what);
  LLVMValueRef fn = LLVMGetNamedFunction(l->mod, name);
  *back = NULL;
  if (fn)
    return fn;
  *back = LLVMGetInsertBlock(l->b);
  fn = LLVMAddFunction(l->mod, name, type);
  target_attributes(l, fn);
  if (l->target.sm) { /* one module, whose assembler takes no dots in visible names */
    LLVMSetLinkage(fn, LLVMInternalLinkage);
  } else {
    LLVMSetLinkage(fn, LLVMLinkOnceODRLinkage);
    LLVMSetVisibility(fn, LLVMHiddenVisibility);
    LLVMSetComdat(fn, LLVMGetOrInsertComdat(l->mod, name));
  }
  neo_ll_enum_attribute(l, fn, "noinline");
  neo_ll_enum_attribute(l, fn, "willreturn");
  neo_ll_enum_attribute(l, fn, "memory"); /* none: errno is nobody's */
  LLVMPositionBuilderAtEnd(l->b, LLVMAppendBasicBlockInContext(l->ctx, fn, "entry"));
  return fn;
}

LLVMValueRef neo_ll_extern(neo_llvm *l, const char *symbol, LLVMTypeRef type) {
  LLVMValueRef fn = LLVMGetNamedFunction(l->mod, symbol);
  if (fn)
    return fn;
  fn = LLVMAddFunction(l->mod, symbol, type);
  neo_ll_enum_attribute(l, fn, "nounwind");
  return fn;
}

void neo_ll_tell(neo_llvm *l, const char *symbol, LLVMValueRef *arg, unsigned n) {
  enum { MOST = 8 };
  LLVMTypeRef type[MOST];
  for (unsigned k = 0; k < n && k < MOST; k++)
    type[k] = LLVMTypeOf(arg[k]);
  LLVMTypeRef fn = LLVMFunctionType(LLVMVoidTypeInContext(l->ctx), type, n, false);
  LLVMBuildCall2(l->b, fn, neo_ll_extern(l, symbol, fn), arg, n, "");
}

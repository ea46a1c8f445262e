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

static LLVMModuleRef new_module(neo_llvm *l) {
  LLVMModuleRef mod = LLVMModuleCreateWithNameInContext(l->name, l->ctx);
  LLVMSetTarget(mod, l->target.triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(l->machine);
  LLVMSetModuleDataLayout(mod, layout);
  LLVMDisposeTargetData(layout);
  return mod;
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
  l->mod = new_module(l);
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
  for (size_t k = 0; k < l->shared.n; k++)
    LLVMDisposeModule(l->shared.at[k].mod);
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

/* Functions begin at a cache line. A loop of a kernel then has the same position in the lines of
 * the instruction cache for any kernels before its own: a move by half a line changed the time of a
 * convolution by 10 %. */
LLVMValueRef neo_ll_function(neo_llvm *l, const char *symbol, LLVMTypeRef type, bool exported) {
  LLVMValueRef fn = LLVMAddFunction(l->mod, "", type);
  neo_ll_define(l, symbol, fn);
  LLVMSetVisibility(fn, exported ? LLVMDefaultVisibility : LLVMHiddenVisibility);
  if (!l->target.sm)
    LLVMSetAlignment(fn, (unsigned)l->target.machine.profile.line_bytes);
  target_attributes(l, fn);
  return fn;
}

void neo_llvm_export(neo_llvm *l, const char *symbol) {
  LLVMSetVisibility(LLVMGetNamedFunction(l->mod, symbol), LLVMDefaultVisibility);
}

/* ---- functions that kernels share */

static void shared_attributes(neo_llvm *l, LLVMValueRef fn) {
  target_attributes(l, fn);
  if (l->target.sm) /* one module, whose assembler takes no dots in visible names */
    LLVMSetLinkage(fn, LLVMInternalLinkage);
  else
    LLVMSetVisibility(fn, LLVMHiddenVisibility);
  neo_ll_enum_attribute(l, fn, "noinline");
  neo_ll_enum_attribute(l, fn, "willreturn");
  neo_ll_enum_attribute(l, fn, "memory"); /* none: no code reads errno */
}

static void begin_body(neo_llvm *l, LLVMValueRef fn) {
  LLVMPositionBuilderAtEnd(l->b, LLVMAppendBasicBlockInContext(l->ctx, fn, "entry"));
}

/* The module that calls it has a declaration; it, one of its own, once. */
static void begin_outlined(neo_llvm *l, const char *name, LLVMTypeRef type, neo_ll_shared *f) {
  for (size_t k = 0; k < l->shared.n; k++)
    if (neo_streq(l->shared.at[k].name, name))
      return;
  neo_ll_module x = {name, new_module(l)};
  NEO_PUSH(l->arena, &l->shared, x);
  l->mod = x.mod;
  f->body = LLVMAddFunction(x.mod, name, type);
  shared_attributes(l, f->body);
  begin_body(l, f->body);
}

/* Begins a function in a module of its own, if shared functions are outlined. Otherwise every
 * module that needs the function has a copy, and the linker uses one for the model. */
neo_ll_shared neo_ll_shared_begin(neo_llvm *l, const char *what, LLVMTypeRef type) {
  const char *name = neo_arena_printf(l->arena, "%s.%s", l->name, what);
  neo_ll_shared f = {.fn = LLVMGetNamedFunction(l->mod, name), .mod = l->mod};
  if (f.fn)
    return f;
  f.back = LLVMGetInsertBlock(l->b);
  f.fn = LLVMAddFunction(l->mod, name, type);
  shared_attributes(l, f.fn);
  if (l->outlines) {
    begin_outlined(l, name, type, &f);
    return f;
  }
  if (!l->target.sm) {
    LLVMSetLinkage(f.fn, LLVMLinkOnceODRLinkage);
    LLVMSetComdat(f.fn, LLVMGetOrInsertComdat(l->mod, name));
  }
  f.body = f.fn;
  begin_body(l, f.body);
  return f;
}

void neo_ll_shared_end(neo_llvm *l, const neo_ll_shared *f) {
  l->mod = f->mod;
  LLVMPositionBuilderAtEnd(l->b, f->back);
}

void neo_llvm_outline_shared(neo_llvm *l) {
  l->outlines = true;
}

size_t neo_llvm_n_outlined(const neo_llvm *l) {
  return l->shared.n;
}

const char *neo_llvm_outlined_name(const neo_llvm *l, size_t k) {
  return l->shared.at[k].name;
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

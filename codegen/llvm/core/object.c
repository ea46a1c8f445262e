/* What leaves the module: objects, assembly, text, and code callable in this process.
 * The JIT links the very object that a file would get. */
#include "codegen/llvm/gen.h"

static neo_status emit(neo_llvm *l, const char *path, LLVMCodeGenFileType kind, const char **why) {
  char *text = NULL;
  *why = "";
  /* Code generation changes the module, so it gets a copy. */
  LLVMModuleRef copy = LLVMCloneModule(l->mod);
  LLVMBool failed = LLVMTargetMachineEmitToFile(l->machine, copy, path, kind, &text);
  LLVMDisposeModule(copy);
  if (!failed)
    return NEO_OK;
  *why = neo_ll_message(l, text);
  return NEO_IO;
}

neo_status neo_llvm_emit_object(neo_llvm *l, const char *path, const char **why) {
  return emit(l, path, LLVMObjectFile, why);
}

neo_status neo_llvm_take_object(neo_llvm *l, neo_arena *a, const char **data, size_t *n,
                                const char **why) {
  LLVMMemoryBufferRef object;
  char *text = NULL;
  *why = "";
  if (LLVMTargetMachineEmitToMemoryBuffer(l->machine, l->mod, LLVMObjectFile, &text, &object)) {
    *why = neo_ll_message(l, text);
    return NEO_IO;
  }
  *n = LLVMGetBufferSize(object);
  *data = neo_arena_copy(a, LLVMGetBufferStart(object), *n);
  LLVMDisposeMemoryBuffer(object);
  return NEO_OK;
}

neo_status neo_llvm_emit_asm(neo_llvm *l, const char *path, const char **why) {
  return emit(l, path, LLVMAssemblyFile, why);
}

neo_status neo_llvm_emit_text(neo_llvm *l, const char *path, const char **why) {
  char *text = NULL;
  *why = "";
  if (!LLVMPrintModuleToFile(l->mod, path, &text))
    return NEO_OK;
  *why = neo_ll_message(l, text);
  return NEO_IO;
}

static bool failed(neo_llvm *l, LLVMErrorRef error, const char **why) {
  if (!error)
    return false;
  char *message = LLVMGetErrorMessage(error);
  *why = neo_arena_strdup(l->arena, message);
  LLVMDisposeErrorMessage(message);
  return true;
}

static bool make_jit(neo_llvm *l, const char **why) {
  LLVMMemoryBufferRef object;
  LLVMOrcDefinitionGeneratorRef process;
  char *text = NULL;
  LLVMModuleRef copy = LLVMCloneModule(l->mod);
  LLVMBool bad =
      LLVMTargetMachineEmitToMemoryBuffer(l->machine, copy, LLVMObjectFile, &text, &object);
  LLVMDisposeModule(copy);
  if (bad) {
    *why = neo_ll_message(l, text);
    return false;
  }
  if (failed(l, LLVMOrcCreateLLJIT(&l->jit, NULL), why)) {
    LLVMDisposeMemoryBuffer(object);
    return false;
  }
  LLVMOrcJITDylibRef dylib = LLVMOrcLLJITGetMainJITDylib(l->jit);
  char prefix = LLVMOrcLLJITGetGlobalPrefix(l->jit);
  if (failed(l, LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&process, prefix, NULL, NULL),
             why)) {
    LLVMDisposeMemoryBuffer(object);
    return false;
  }
  LLVMOrcJITDylibAddGenerator(dylib, process);
  return !failed(l, LLVMOrcLLJITAddObjectFile(l->jit, dylib, object), why);
}

void *neo_llvm_jit(neo_llvm *l, const char *symbol, const char **why) {
  LLVMOrcExecutorAddress at = 0;
  *why = "";
  if (!l->target.is_host_arch) {
    *why = "the code is for another architecture";
    return NULL;
  }
  if (!l->jit && !make_jit(l, why))
    return NULL;
  if (failed(l, LLVMOrcLLJITLookup(l->jit, &at, symbol), why))
    return NULL;
  return (void *)(uintptr_t)at;
}

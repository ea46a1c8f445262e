/* Output of a module: objects, assembly, text, and code that this process calls. The JIT links the
 * same object that would be written to a file. */
#include "base/file.h"
#include "codegen/llvm/gen.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The module's object code. Code generation changes the module; with `keep` it works on a copy. */
static neo_status object_of(neo_llvm *l, bool keep, LLVMMemoryBufferRef *out, const char **why) {
  char *text = NULL;
  LLVMModuleRef mod = keep ? LLVMCloneModule(l->mod) : l->mod;
  LLVMBool failed =
      LLVMTargetMachineEmitToMemoryBuffer(l->machine, mod, LLVMObjectFile, &text, out);
  if (keep)
    LLVMDisposeModule(mod);
  if (!failed)
    return NEO_OK;
  *why = neo_ll_message(l, text);
  return NEO_IO;
}

static bool unchecked(const neo_llvm *l) {
  return !l->checked && neo_ll_has_short_masks(&l->target);
}

static neo_status checked_object(neo_llvm *l, bool keep, LLVMMemoryBufferRef *out,
                                 const char **why) {
  neo_status s = object_of(l, keep, out, why);
  bool again = !s && unchecked(l) && neo_ll_drops_masks(l, *out);
  l->checked = !s;
  if (!again)
    return s;
  LLVMDisposeMemoryBuffer(*out);
  return object_of(l, keep, out, why);
}

static neo_status write_object(neo_llvm *l, LLVMMemoryBufferRef object, const char *path,
                               const char **why) {
  FILE *f = fopen(path, "wb");
  size_t n = LLVMGetBufferSize(object);
  bool good = f && fwrite(LLVMGetBufferStart(object), 1, n, f) == n;
  if (f && fclose(f))
    good = false;
  if (good)
    return NEO_OK;
  *why = neo_arena_printf(l->arena, "%s: %s", path, strerror(errno));
  return NEO_IO;
}

neo_status neo_llvm_emit_object(neo_llvm *l, const char *path, const char **why) {
  LLVMMemoryBufferRef object;
  *why = "";
  neo_status s = checked_object(l, true, &object, why);
  if (s)
    return s;
  s = write_object(l, object, path, why);
  LLVMDisposeMemoryBuffer(object);
  return s;
}

neo_status neo_llvm_take_object(neo_llvm *l, neo_arena *a, const char **data, size_t *n,
                                const char **why) {
  LLVMMemoryBufferRef object;
  *why = "";
  neo_status s = checked_object(l, false, &object, why);
  if (s)
    return s;
  *n = LLVMGetBufferSize(object);
  *data = neo_arena_copy(a, LLVMGetBufferStart(object), *n);
  LLVMDisposeMemoryBuffer(object);
  return NEO_OK;
}

/* LLVM ends the process where a file of its own cannot be written. */
static neo_status write_text(neo_llvm *l, const char *path, const char *text, size_t n,
                             const char **why) {
  if (neo_file_write(&neo_io_default, path, text, n) == NEO_OK)
    return NEO_OK;
  *why = neo_arena_printf(l->arena, "%s: %s", path, strerror(errno));
  return NEO_IO;
}

/* The object's code as assembly text. */
static neo_status make_asm(neo_llvm *l, LLVMMemoryBufferRef *out, const char **why) {
  char *text = NULL;
  *why = "";
  if (unchecked(l)) {
    neo_status s = checked_object(l, true, out, why);
    if (s)
      return s;
    LLVMDisposeMemoryBuffer(*out);
  }
  LLVMModuleRef copy = LLVMCloneModule(l->mod);
  LLVMBool failed =
      LLVMTargetMachineEmitToMemoryBuffer(l->machine, copy, LLVMAssemblyFile, &text, out);
  LLVMDisposeModule(copy);
  if (!failed)
    return NEO_OK;
  *why = neo_ll_message(l, text);
  return NEO_INTERNAL;
}

neo_status neo_llvm_emit_asm(neo_llvm *l, const char *path, const char **why) {
  LLVMMemoryBufferRef made;
  neo_status s = make_asm(l, &made, why);
  if (s)
    return s;
  s = write_text(l, path, LLVMGetBufferStart(made), LLVMGetBufferSize(made), why);
  LLVMDisposeMemoryBuffer(made);
  return s;
}

neo_status neo_llvm_take_asm(neo_llvm *l, neo_arena *a, const char **data, size_t *n,
                             const char **why) {
  LLVMMemoryBufferRef made;
  neo_status s = make_asm(l, &made, why);
  if (s)
    return s;
  *n = LLVMGetBufferSize(made);
  *data = neo_arena_strndup(a, LLVMGetBufferStart(made), *n);
  LLVMDisposeMemoryBuffer(made);
  return NEO_OK;
}

const char *neo_llvm_take_text(neo_llvm *l, neo_arena *a) {
  char *text = LLVMPrintModuleToString(l->mod);
  const char *copy = neo_arena_strdup(a, text);
  LLVMDisposeMessage(text);
  return copy;
}

neo_status neo_llvm_emit_text(neo_llvm *l, const char *path, const char **why) {
  *why = "";
  char *text = LLVMPrintModuleToString(l->mod);
  neo_status s = write_text(l, path, text, strlen(text), why);
  LLVMDisposeMessage(text);
  return s;
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
  if (checked_object(l, true, &object, why))
    return false;
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

/* Output of a module: objects, assembly, text, and code that this process calls. The JIT links the
 * same object that would be written to a file. */
#include "base/file.h"
#include "codegen/llvm/gen.h"
#include <errno.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Object.h>
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

/* ---- A check of the machine code that LLVM made of masks in AVX-512's registers, and its repair.
 *
 *   vpmovd2m  %xmm0, %k1                                     vmovmskps %xmm0, %eax
 *   kmovd     %k1, %eax                             ->
 *   vpcmpltd  a, %xmm1, %k1 {%k1}                            vpcmpltd  a, %xmm1, %k1 {%k1}
 *
 * LLVM 22 replaces the first two instructions (X86CompressEVEX) and drops the mask, although an
 * instruction that overwrites it, or one of another block, reads it afterwards, and although
 * vmovmskps cannot name xmm16 to xmm31 (llvm/llvm-project 198197, 191304): the kernel computes with
 * the old content of the register. On a target with mask registers no other part of LLVM makes a
 * vmovmsk* or a vpmovmskb. So a function that contains one is compiled again without AVX-512's
 * instructions on short vectors, the only ones that LLVM replaces. */

enum { VEX2 = 0xc5, VEX3 = 0xc4, MOVMSKP = 0x50, PMOVMSKB = 0xd7, REGISTERS = 0xc0 };

static const char short_vectors[] = "avx512vl";

/* Do these bytes look like the instruction? The middle of another instruction may look like it,
 * too. */
static bool is_like_move(const uint8_t *p, size_t n) {
  size_t op = n >= 4 && p[0] == VEX2 ? 2 : n >= 5 && p[0] == VEX3 ? 3 : 0;
  return op && (p[op] == MOVMSKP || p[op] == PMOVMSKB) && p[op + 1] >= REGISTERS;
}

static bool is_move(const char *text) {
  while (*text == ' ' || *text == '\t')
    text++;
  return !strncmp(text, "vmovmskp", 8) || !strncmp(text, "vpmovmskb", 9);
}

static bool disassembled_has_move(LLVMDisasmContextRef d, uint8_t *p, size_t n) {
  char text[128];
  size_t length;
  for (size_t at = 0; at < n; at += length ? length : 1) {
    length = LLVMDisasmInstruction(d, p + at, n - at, at, text, sizeof text);
    if (length && is_move(text))
      return true;
  }
  return false;
}

static bool has_move(LLVMDisasmContextRef d, const uint8_t *p, size_t n) {
  for (size_t at = 0; at < n; at++)
    if (is_like_move(p + at, n - at))
      return disassembled_has_move(d, (uint8_t *)(uintptr_t)p, n); /* reads it only */
  return false;
}

static bool compile_without(neo_llvm *l, const char *symbol) {
  LLVMValueRef fn = LLVMGetNamedFunction(l->mod, symbol);
  if (!fn)
    return false;
  neo_ll_text_attribute(l, fn, "target-features",
                        neo_arena_printf(l->arena, "%s,-%s", l->target.features, short_vectors));
  return true;
}

static bool check_symbols(neo_llvm *l, LLVMBinaryRef object, LLVMDisasmContextRef d) {
  bool found = false;
  LLVMSectionIteratorRef section = LLVMObjectFileCopySectionIterator(object);
  LLVMSymbolIteratorRef symbol = LLVMObjectFileCopySymbolIterator(object);
  for (; !LLVMObjectFileIsSymbolIteratorAtEnd(object, symbol); LLVMMoveToNextSymbol(symbol)) {
    LLVMMoveToContainingSection(section, symbol);
    if (LLVMObjectFileIsSectionIteratorAtEnd(object, section) ||
        strncmp(LLVMGetSectionName(section), ".text", 5))
      continue;
    uint64_t from = LLVMGetSymbolAddress(symbol) - LLVMGetSectionAddress(section);
    uint64_t n = LLVMGetSymbolSize(symbol), whole = LLVMGetSectionSize(section);
    const char *code = LLVMGetSectionContents(section);
    if (from <= whole && n <= whole - from && has_move(d, (const uint8_t *)code + from, n))
      found = compile_without(l, LLVMGetSymbolName(symbol)) || found;
  }
  LLVMDisposeSymbolIterator(symbol);
  LLVMDisposeSectionIterator(section);
  return found;
}

/* A workaround for masks that LLVM drops Can it drop masks in code for the
 * target? Did it, in this object? Then the module's functions that lost masks are marked, and the
 * next object is right. */
static bool has_short_masks(const neo_target *t) {
  return !t->sm && strstr(t->features, short_vectors);
}

static bool drops_masks(neo_llvm *l, LLVMMemoryBufferRef object) {
  char *text = NULL;
  LLVMBinaryRef file = LLVMCreateBinary(object, l->ctx, &text);
  LLVMDisasmContextRef d = LLVMCreateDisasmCPUFeatures(l->target.triple, l->target.cpu,
                                                       l->target.features, NULL, 0, NULL, NULL);
  bool found = file && d && check_symbols(l, file, d);
  if (d)
    LLVMDisasmDispose(d);
  if (file)
    LLVMDisposeBinary(file);
  LLVMDisposeMessage(text);
  return found;
}

static bool unchecked(const neo_llvm *l) {
  return !l->checked && has_short_masks(&l->target);
}

static neo_status checked_object(neo_llvm *l, bool keep, LLVMMemoryBufferRef *out,
                                 const char **why) {
  neo_status s = object_of(l, keep, out, why);
  bool again = !s && unchecked(l) && drops_masks(l, *out);
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

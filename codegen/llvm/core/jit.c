/* See codegen/llvm/jit.h. Each object has an LLJIT of its own, which ends with it, and in that a
 * bare library ("dylib"): it is linked only to the symbols that `define` below adds. */
#include "codegen/llvm/jit.h"
#include "codegen/llvm/emit.h"
#include <elf.h>
#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct neo_jit {
  LLVMOrcLLJITRef jit;
  const neo_jit_symbol *table;
  size_t n_table;
  char *reported; /* LLVM's first report while it linked; null: none */
};

/* ---- symbols that the object does not define */

#define X(symbol) extern void symbol##_(void) __asm__(#symbol);
#include "codegen/llvm/jit_symbols.def"
#undef X

static const neo_jit_symbol system_symbols[] = {
#define X(symbol) {#symbol, symbol##_},
#include "codegen/llvm/jit_symbols.def"
#undef X
};

static neo_jit_fn *find(const neo_jit_symbol *table, size_t n, const char *name) {
  for (size_t k = 0; k < n; k++)
    if (strcmp(table[k].name, name) == 0)
      return table[k].fn;
  return NULL;
}

static neo_jit_fn *find_symbol(const neo_jit *j, const char *name) {
  neo_jit_fn *fn = find(j->table, j->n_table, name);
  return fn ? fn : find(system_symbols, sizeof system_symbols / sizeof *system_symbols, name);
}

static LLVMErrorRef define_one(LLVMOrcJITDylibRef dylib, LLVMOrcSymbolStringPoolEntryRef name,
                               neo_jit_fn *fn) {
  LLVMOrcCSymbolMapPair pair = {.Name = name};
  LLVMOrcRetainSymbolStringPoolEntry(name); /* the definition takes it over */
  pair.Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)fn;
  pair.Sym.Flags.GenericFlags =
      LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
  return LLVMOrcJITDylibDefine(dylib, LLVMOrcAbsoluteSymbols(&pair, 1));
}

/* The generator of missing symbols: LLVM calls it with names that are not defined yet. Names that
 * stay undefined are an error of the lookup. */
static LLVMErrorRef define(LLVMOrcDefinitionGeneratorRef generator, void *ctx,
                           LLVMOrcLookupStateRef *state, LLVMOrcLookupKind kind,
                           LLVMOrcJITDylibRef dylib, LLVMOrcJITDylibLookupFlags flags,
                           LLVMOrcCLookupSet names, size_t n) {
  const neo_jit *j = ctx;
  LLVMErrorRef error = NULL;
  (void)generator, (void)state, (void)kind, (void)flags;
  for (size_t k = 0; k < n && !error; k++) {
    neo_jit_fn *fn = find_symbol(j, LLVMOrcSymbolStringPoolEntryStr(names[k].Name));
    if (fn)
      error = define_one(dylib, names[k].Name, fn);
  }
  return error;
}

/* ---- errors */

/* Is there an error? The error of a lookup names the missing symbols, and a report has the
 * reason. */
static bool failed(neo_arena *a, const neo_jit *j, LLVMErrorRef error, const char **why) {
  if (!error)
    return false;
  char *message = LLVMGetErrorMessage(error);
  *why = neo_arena_printf(a, "%s%s%s", message, j->reported ? ": " : "",
                          j->reported ? j->reported : "");
  LLVMDisposeErrorMessage(message);
  return true;
}

/* Without this, reports are printed. */
static void note(void *ctx, LLVMErrorRef error) {
  neo_jit *j = ctx;
  char *message = LLVMGetErrorMessage(error);
  if (j->reported)
    LLVMDisposeErrorMessage(message);
  else
    j->reported = message;
}

/* ---- loading */

static void init_host(void) {
#if defined(__aarch64__)
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
#else
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
#endif
}

static bool is_for_host(const void *object, size_t n) {
  Elf64_Ehdr head;
#if defined(__aarch64__)
  enum { MACHINE = EM_AARCH64 };
#else
  enum { MACHINE = EM_X86_64 };
#endif
  if (n < sizeof head)
    return false;
  memcpy(&head, object, sizeof head);
  return memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_machine == MACHINE;
}

typedef struct {
  LLVMErrorRef error;
  LLVMOrcExecutorAddress address;
} found;

static void take_result(LLVMErrorRef error, LLVMOrcCSymbolMapPairs result, size_t n, void *ctx) {
  found *f = ctx;
  f->error = error;
  f->address = !error && n == 1 ? result[0].Sym.Address : 0;
}

/* Links all that the symbol needs, on this thread. */
static LLVMErrorRef look_up(neo_jit *j, LLVMOrcJITDylibRef dylib, const char *name,
                            const void **address) {
  found f = {0};
  LLVMOrcExecutionSessionRef session = LLVMOrcLLJITGetExecutionSession(j->jit);
  LLVMOrcCJITDylibSearchOrderElement in = {dylib,
                                           LLVMOrcJITDylibLookupFlagsMatchExportedSymbolsOnly};
  LLVMOrcCLookupSetElement wanted = {LLVMOrcLLJITMangleAndIntern(j->jit, name),
                                     LLVMOrcSymbolLookupFlagsRequiredSymbol};
  LLVMOrcExecutionSessionLookup(session, LLVMOrcLookupKindStatic, &in, 1, &wanted, 1, take_result,
                                &f);
  *address = (const void *)(uintptr_t)f.address;
  return f.error;
}

static LLVMErrorRef link(neo_jit *j, const void *object, size_t n, const char *wanted,
                         const void **address) {
  LLVMErrorRef error = LLVMOrcCreateLLJIT(&j->jit, NULL);
  if (error)
    return error;
  LLVMOrcExecutionSessionRef session = LLVMOrcLLJITGetExecutionSession(j->jit);
  LLVMOrcExecutionSessionSetErrorReporter(session, note, j);
  LLVMOrcJITDylibRef dylib = LLVMOrcExecutionSessionCreateBareJITDylib(session, "model");
  LLVMOrcJITDylibAddGenerator(dylib, LLVMOrcCreateCustomCAPIDefinitionGenerator(define, j, NULL));
  LLVMMemoryBufferRef copy = LLVMCreateMemoryBufferWithMemoryRangeCopy(object, n, "model");
  error = LLVMOrcLLJITAddObjectFile(j->jit, dylib, copy);
  return error ? error : look_up(j, dylib, wanted, address);
}

neo_status neo_jit_load(neo_arena *a, const void *object, size_t size_bytes,
                        const neo_jit_symbol *table, size_t n_table, const char *wanted,
                        neo_jit **out, const void **address, const char **why) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  neo_jit *j = NEO_NEW(a, neo_jit);
  *j = (neo_jit){.table = table, .n_table = n_table};
  *out = NULL;
  *why = "the code is for another machine";
  if (!is_for_host(object, size_bytes))
    return NEO_UNSUPPORTED;
  neo_llvm_enter();
  pthread_once(&once, init_host);
  LLVMErrorRef error = link(j, object, size_bytes, wanted, address);
  neo_llvm_leave();
  if (failed(a, j, error, why)) {
    neo_jit_free(j);
    return NEO_INTERNAL;
  }
  *out = j;
  return NEO_OK;
}

void neo_jit_free(neo_jit *j) {
  if (!j)
    return;
  neo_llvm_enter();
  if (j->jit)
    LLVMConsumeError(LLVMOrcDisposeLLJIT(j->jit));
  if (j->reported)
    LLVMDisposeErrorMessage(j->reported);
  neo_llvm_leave();
}

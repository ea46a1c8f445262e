/* A check of the machine code that LLVM made of masks in AVX-512's registers, and its repair.
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
#include "codegen/llvm/gen.h"
#include <llvm-c/Disassembler.h>
#include <llvm-c/Object.h>
#include <string.h>

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

bool neo_ll_has_short_masks(const neo_target *t) {
  return !t->sm && strstr(t->features, short_vectors);
}

bool neo_ll_drops_masks(neo_llvm *l, LLVMMemoryBufferRef object) {
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

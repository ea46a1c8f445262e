/* Kernels of NVIDIA GPUs: what differs from those of a processor.
 *
 *   void symbol(buffers..., sizes..., seed, step, call, units)
 *
 * with the calling convention of PTX's entries; buffers are pointers to global memory, all others
 * are i64. A thread of the grid is a unit of work; those that the last block has too many of do
 * nothing. There is no argument record: what a kernel needs lies in constant memory anyway, and the
 * driver's graphs change arguments one by one. */
#include "codegen/llvm_gen.h"
#include <string.h>

enum { PTX_KERNEL = 71 }; /* LLVM's number of the calling convention; its C API has no name */

static LLVMTypeRef i64_type(neo_ll_gen *g) {
  return LLVMInt64TypeInContext(g->l->ctx);
}

static void attribute_of(neo_ll_gen *g, unsigned param, const char *name, uint64_t value) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(g->fn, param + 1, LLVMCreateEnumAttribute(g->l->ctx, kind, value));
}

static void give_buffer(neo_ll_gen *g, uint32_t buf, unsigned param) {
  const neo_kbuf *b = &g->k->bufs.at[buf];
  g->buf[buf].ptr = LLVMGetParam(g->fn, param);
  if (b->no_alias)
    attribute_of(g, param, "noalias", 0);
  if (!(b->use & NEO_BUF_WRITE))
    attribute_of(g, param, "readonly", 0);
  attribute_of(g, param, "align", (uint64_t)b->align);
}

/* The function, and what it is given in the places where a processor's kernel would look for it. */
void neo_ll_gpu_function(neo_ll_gen *g, const char *symbol) {
  const neo_kernel *k = g->k;
  size_t n_bufs = k->bufs.n, n = n_bufs + k->sizes.n + 4;
  LLVMTypeRef *type = NEO_NEW_ARRAY(g->l->arena, LLVMTypeRef, n);
  for (size_t i = 0; i < n; i++)
    type[i] = i < n_bufs ? neo_ll_ptr_type(g->l) : i64_type(g);
  LLVMTypeRef none = LLVMVoidTypeInContext(g->l->ctx);
  g->fn = neo_ll_function(g->l, symbol, LLVMFunctionType(none, type, (unsigned)n, false), true);
  LLVMSetFunctionCallConv(g->fn, PTX_KERNEL);
}

void neo_ll_gpu_arguments(neo_ll_gen *g) {
  const neo_kernel *k = g->k;
  unsigned at = 0;
  for (uint32_t b = 0; b < k->bufs.n; b++)
    give_buffer(g, b, at++);
  for (uint32_t s = 0; s < k->sizes.n; s++)
    g->size[s] = LLVMGetParam(g->fn, at++);
  for (uint32_t i = 0; i < 3; i++)
    g->key[i] = LLVMGetParam(g->fn, at++);
  g->units = LLVMGetParam(g->fn, at);
}

static LLVMValueRef special(neo_ll_gen *g, const char *name) {
  LLVMValueRef x = neo_ll_call(g->l, name, NULL, NULL, 0);
  return LLVMBuildZExt(g->l->b, x, i64_type(g), "");
}

/* The number of this thread in the grid. */
LLVMValueRef neo_ll_gpu_thread(neo_ll_gen *g) {
  LLVMValueRef block = special(g, "llvm.nvvm.read.ptx.sreg.ctaid.x");
  LLVMValueRef size = special(g, "llvm.nvvm.read.ptx.sreg.ntid.x");
  LLVMValueRef thread = special(g, "llvm.nvvm.read.ptx.sreg.tid.x");
  LLVMValueRef first = LLVMBuildNSWMul(g->l->b, block, size, "");
  return LLVMBuildNSWAdd(g->l->b, first, thread, "");
}

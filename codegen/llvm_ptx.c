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

/* Parameter n. An emulated kernel has one only, the table of their addresses that it is launched
 * with: who launches it does not know how many there are. */
static LLVMValueRef given(neo_ll_gen *g, LLVMTypeRef type, unsigned n) {
  LLVMBuilderRef b = g->l->entry;
  LLVMTypeRef ptr = neo_ll_ptr_type(g->l);
  if (!g->l->target.emulated)
    return LLVMGetParam(g->fn, n);
  LLVMValueRef at = neo_ll_int(i64_type(g), n);
  at = LLVMBuildInBoundsGEP2(b, ptr, LLVMGetParam(g->fn, 0), &at, 1, "");
  return LLVMBuildLoad2(b, type, LLVMBuildLoad2(b, ptr, at, ""), "");
}

static void give_buffer(neo_ll_gen *g, uint32_t buf, unsigned param) {
  const neo_kbuf *b = &g->k->bufs.at[buf];
  g->buf[buf].ptr = given(g, neo_ll_ptr_type(g->l), param);
  if (g->l->target.emulated)
    return;
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
    type[i] = i < n_bufs || g->l->target.emulated ? neo_ll_ptr_type(g->l) : i64_type(g);
  LLVMTypeRef none = LLVMVoidTypeInContext(g->l->ctx);
  if (g->l->target.emulated)
    n = 1;
  g->fn = neo_ll_function(g->l, symbol, LLVMFunctionType(none, type, (unsigned)n, false), true);
  if (!g->l->target.emulated)
    LLVMSetFunctionCallConv(g->fn, PTX_KERNEL);
}

void neo_ll_gpu_arguments(neo_ll_gen *g) {
  const neo_kernel *k = g->k;
  unsigned at = 0;
  for (uint32_t b = 0; b < k->bufs.n; b++)
    give_buffer(g, b, at++);
  for (uint32_t s = 0; s < k->sizes.n; s++)
    g->size[s] = given(g, i64_type(g), at++);
  for (uint32_t i = 0; i < 3; i++)
    g->key[i] = given(g, i64_type(g), at++);
  g->units = given(g, i64_type(g), at);
}

typedef enum { BLOCK, BLOCK_SIZE, THREAD } place_in_grid;

/* An emulator's function "neo_gpu_place(i32) -> i32" stands for the registers. */
static LLVMValueRef place_of(neo_ll_gen *g, place_in_grid what) {
  static const char *const name[] = {"llvm.nvvm.read.ptx.sreg.ctaid.x",
                                     "llvm.nvvm.read.ptx.sreg.ntid.x",
                                     "llvm.nvvm.read.ptx.sreg.tid.x"};
  LLVMTypeRef i32 = LLVMInt32TypeInContext(g->l->ctx);
  LLVMValueRef x, number = neo_ll_int(i32, what);
  if (g->l->target.emulated) {
    LLVMTypeRef type = LLVMFunctionType(i32, &i32, 1, false);
    LLVMValueRef fn = neo_ll_extern(g->l, "neo_gpu_place", type);
    x = LLVMBuildCall2(g->l->b, type, fn, &number, 1, "");
  } else {
    x = neo_ll_call(g->l, name[what], NULL, NULL, 0);
  }
  return LLVMBuildZExt(g->l->b, x, i64_type(g), "");
}

/* The number of this thread in the grid. */
LLVMValueRef neo_ll_gpu_thread(neo_ll_gen *g) {
  LLVMValueRef block = place_of(g, BLOCK), size = place_of(g, BLOCK_SIZE);
  LLVMValueRef thread = place_of(g, THREAD);
  LLVMValueRef first = LLVMBuildNSWMul(g->l->b, block, size, "");
  return LLVMBuildNSWAdd(g->l->b, first, thread, "");
}

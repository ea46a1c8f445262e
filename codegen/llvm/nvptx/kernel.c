/* Kernels of NVIDIA GPUs: what differs from those of a processor.
 *
 *   void symbol(buffers..., sizes..., seed, step, call, units, maps...)
 *
 * with the calling convention of PTX's entries; buffers are pointers to global memory, all others
 * are i64, but maps of tensors (llvm/nvptx/tma.c), which are 128 bytes by value. A thread of the grid is
 * a unit of work; those that the last block has too many of do nothing. There is no argument
 * record: what a kernel needs lies in constant memory anyway, and the driver's graphs change
 * arguments one by one.
 *
 * Where a kernel may be launched while those before it still run (from sm_90 on), the first thing
 * that each thread does is to wait for their end; only then may the next be launched, so that no
 * more than one generation of blocks waits. Nothing is read-only then in the sense of ld.global.nc,
 * which is for memory that nobody writes while the kernel lives: others end writing during it. */
#include "codegen/llvm/nvptx/nvptx.h"
#include <string.h>

enum { SURE_THREADS = 256 }; /* of a block, however many registers each has */
enum { PTX_KERNEL = 71 };    /* LLVM's number of the calling convention; its C API has no name */

static void attribute_of(neo_ll_gen *g, unsigned param, const char *name, uint64_t value) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(g->fn, param + 1, LLVMCreateEnumAttribute(g->l->ctx, kind, value));
}

/* Parameter n; type null: its address. An emulated kernel has one only, the table of their
 * addresses that it is launched with: who launches it does not know how many there are. */
LLVMValueRef neo_ll_gpu_given(neo_ll_gen *g, LLVMTypeRef type, unsigned n) {
  LLVMBuilderRef b = g->l->entry;
  LLVMTypeRef ptr = neo_ll_ptr_type(g->l);
  if (!g->l->target.emulated)
    return LLVMGetParam(g->fn, n);
  LLVMValueRef at = neo_ll_int64(g->l, n);
  at = LLVMBuildInBoundsGEP2(b, ptr, LLVMGetParam(g->fn, 0), &at, 1, "");
  LLVMValueRef address = LLVMBuildLoad2(b, ptr, at, "");
  return type ? LLVMBuildLoad2(b, type, address, "") : address;
}

/* By value, and read where it lies: without grid_constant it would be copied for each thread. */
static void give_map(neo_ll_gen *g, uint32_t k, unsigned param) {
  enum { MAP_BYTES = 128, MAP_ALIGN = 64 };
  static const char in_place[] = "nvvm.grid_constant";
  g->map[k] = neo_ll_gpu_given(g, NULL, param);
  if (g->l->target.emulated)
    return;
  LLVMTypeRef bytes = LLVMArrayType2(LLVMInt8TypeInContext(g->l->ctx), MAP_BYTES);
  unsigned by_value = LLVMGetEnumAttributeKindForName("byval", strlen("byval"));
  LLVMAddAttributeAtIndex(g->fn, param + 1, LLVMCreateTypeAttribute(g->l->ctx, by_value, bytes));
  attribute_of(g, param, "align", MAP_ALIGN);
  LLVMAddAttributeAtIndex(
      g->fn, param + 1, LLVMCreateStringAttribute(g->l->ctx, in_place, sizeof in_place - 1, "", 0));
}

static void give_buffer(neo_ll_gen *g, uint32_t buf, unsigned param) {
  const neo_kbuf *b = &g->k->bufs.at[buf];
  bool alone = !g->team; /* what one kernel of a persistent grid writes, the next one reads */
  g->buf[buf].ptr = neo_ll_gpu_given(g, neo_ll_ptr_type(g->l), param);
  if (g->l->target.emulated)
    return;
  if (b->no_alias && alone)
    attribute_of(g, param, "noalias", 0);
  if (!(b->use & NEO_BUF_WRITE) && alone && !neo_target_waits(&g->l->target))
    attribute_of(g, param, "readonly", 0);
  attribute_of(g, param, "align", (uint64_t)b->align);
}

/* Buffers that are given: all but scratch, which is shared memory. */
size_t neo_ll_gpu_buffers(const neo_kernel *k) {
  size_t n = 0;
  for (size_t b = 0; b < k->bufs.n; b++)
    n += !(k->bufs.at[b].use & NEO_BUF_SCRATCH);
  return n;
}

LLVMValueRef neo_ll_gpu_new_function(neo_llvm *l, const char *symbol, size_t n_buffers,
                                     size_t n_words, size_t n_maps) {
  LLVMTypeRef i64 = neo_ll_i64(l), ptr = neo_ll_ptr_type(l);
  size_t n_plain = n_buffers + n_words, n = n_plain + n_maps;
  LLVMTypeRef *type = NEO_NEW_ARRAY(l->arena, LLVMTypeRef, n + 1);
  for (size_t i = 0; i < n; i++)
    type[i] = i < n_buffers || i >= n_plain || l->target.emulated ? ptr : i64;
  LLVMTypeRef none = LLVMVoidTypeInContext(l->ctx);
  unsigned given = l->target.emulated ? 1 : (unsigned)n;
  LLVMValueRef fn = neo_ll_function(l, symbol, LLVMFunctionType(none, type, given, false), true);
  if (!l->target.emulated)
    LLVMSetFunctionCallConv(fn, PTX_KERNEL);
  return fn;
}

/* Registers have to suffice for so many. */
void neo_ll_gpu_most_threads(neo_ll_gen *g, int64_t threads) {
  if (!g->l->target.emulated)
    neo_ll_text_attribute(g->l, g->fn, "nvvm.maxntid",
                          neo_arena_printf(g->l->arena, "%lld", (long long)threads));
}

/* The function, and what it is given in the places where a processor's kernel would look for it. */
void neo_ll_gpu_function(neo_ll_gen *g, const char *symbol) {
  size_t n_words = g->k->sizes.n + 4;
  g->fn = neo_ll_gpu_new_function(g->l, symbol, neo_ll_gpu_buffers(g->k), n_words, g->n_maps);
  if (g->threads > SURE_THREADS)
    neo_ll_gpu_most_threads(g, neo_kernel_block_threads(g->k));
}

/* Inline assembly, as LLVM takes its own intrinsics for ones that touch no memory. */
void neo_ll_gpu_wait(neo_ll_gen *g) {
  static const char text[] = "griddepcontrol.wait; griddepcontrol.launch_dependents;";
  static const char clobbers[] = "~{memory}";
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->l->ctx), NULL, 0, false);
  LLVMValueRef fn = g->l->target.emulated ? neo_ll_extern(g->l, "neo_gpu_wait", type)
                                          : LLVMGetInlineAsm(type, text, sizeof text - 1, clobbers,
                                                             sizeof clobbers - 1, true, false,
                                                             LLVMInlineAsmDialectATT, false);
  LLVMBuildCall2(g->l->b, type, fn, NULL, 0, "");
}

/* Scratch is shared memory. */
unsigned neo_ll_gpu_give_buffers(neo_ll_gen *g, unsigned at) {
  if (neo_kernel_scratch_bytes(g->k))
    g->scratch = neo_ll_gpu_shared(g);
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    if (!(g->k->bufs.at[b].use & NEO_BUF_SCRATCH))
      give_buffer(g, b, at++);
  return at;
}

void neo_ll_gpu_arguments(neo_ll_gen *g) {
  const neo_kernel *k = g->k;
  bool warpgroups = false;
  for (uint32_t b = 0; b < k->bufs.n; b++)
    warpgroups = warpgroups || g->matrix[b];
  if (warpgroups) /* what a block's threads have of the registers */
    neo_ll_gpu_most_threads(g, neo_kernel_block_threads(k));
  neo_ll_bound_registers(g);
  unsigned at = neo_ll_gpu_give_buffers(g, 0);
  for (uint32_t s = 0; s < k->sizes.n; s++)
    g->size[s] = neo_ll_gpu_given(g, neo_ll_i64(g->l), at++);
  for (uint32_t i = 0; i < 3; i++)
    g->key[i] = neo_ll_gpu_given(g, neo_ll_i64(g->l), at++);
  g->units = neo_ll_gpu_given(g, neo_ll_i64(g->l), at++);
  for (uint32_t i = 0; i < g->n_maps; i++)
    give_map(g, i, at++);
  if (neo_target_waits(&g->l->target))
    neo_ll_gpu_wait(g);
}

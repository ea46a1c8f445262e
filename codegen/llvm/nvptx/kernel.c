/* The function and parameters of a kernel for an NVIDIA GPU.
 *
 *   void symbol(buffers..., sizes..., seed, step, call, units, maps...)
 *
 * The function has the calling convention of PTX's entries. Buffers are pointers to global memory,
 * tensor maps (llvm/nvptx/tma.c) are 128 bytes by value, all others are i64. A thread of the grid
 * is a unit of work; the surplus threads of the last block do nothing. There is no argument record
 * as on a processor: parameters are in constant memory anyway, and the driver's graphs change
 * arguments one by one.
 *
 * From sm_90 on a kernel may be launched while earlier kernels still run (programmatic dependent
 * launch). Each thread first waits for their end, and only then may the next kernel be launched, so
 * that at most one generation of blocks waits. Such a kernel uses no ld.global.nc, which is for
 * memory that nobody writes while the kernel lives: earlier kernels may still write during its
 * lifetime. */
#include "codegen/llvm/nvptx/nvptx.h"
#include <string.h>

enum { SURE_THREADS = 256 }; /* threads of a block that any number of registers allows */
enum { PTX_KERNEL = 71 };    /* LLVM's number of the calling convention; its C API has no name */

static void attribute_of(neo_ll_gen *g, unsigned param, const char *name, uint64_t value) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(g->fn, param + 1, LLVMCreateEnumAttribute(g->l->ctx, kind, value));
}

/* Parameter n; type null: its address. An emulated kernel has a single parameter, the table of the
 * addresses of all parameters, because the launch does not know their number. */
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

/* Passes tensor map k by value. grid_constant makes the kernel read it from its parameters;
 * otherwise each thread would copy it. */
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
  /* false: in a persistent grid another kernel may have written the buffer */
  bool alone = !g->team;
  g->buf[buf].ptr = neo_ll_gpu_given(g, neo_ll_ptr_type(g->l), param);
  if (g->l->target.emulated)
    return;
  if (b->no_alias && alone)
    attribute_of(g, param, "noalias", 0);
  if (!(b->use & NEO_BUF_WRITE) && alone && !neo_target_waits(&g->l->target))
    attribute_of(g, param, "readonly", 0);
  attribute_of(g, param, "align", (uint64_t)b->align);
}

/* The number of buffers that are parameters: all but scratch, which is shared memory. */
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

/* Limits registers so that a block can have this number of threads. */
void neo_ll_gpu_most_threads(neo_ll_gen *g, int64_t threads) {
  if (!g->l->target.emulated)
    neo_ll_text_attribute(g->l, g->fn, "nvvm.maxntid",
                          neo_arena_printf(g->l->arena, "%lld", (long long)threads));
}

/* Declares the kernel's function with all of its parameters. */
void neo_ll_gpu_function(neo_ll_gen *g, const char *symbol) {
  size_t n_words = g->k->sizes.n + 4;
  g->fn = neo_ll_gpu_new_function(g->l, symbol, neo_ll_gpu_buffers(g->k), n_words, g->n_maps);
  if (g->threads > SURE_THREADS)
    neo_ll_gpu_most_threads(g, neo_kernel_block_threads(g->k));
}

/* The wait for earlier kernels: inline assembly, because LLVM assumes that its intrinsics touch no
 * memory. */
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

/* Sets the addresses of all buffers, from parameter `at` on; scratch is shared memory. Returns the
 * next parameter. */
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
  if (warpgroups) /* the registers of a multiprocessor, divided by the block's threads */
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

/* The numbers of a GPU's threads and blocks, barriers of a block, its shared memory; and inline
 * assembly. */
#include "codegen/llvm/nvptx/nvptx.h"
#include <string.h>

enum { SHARED_SPACE = 3 };

/* A special register; on an emulated device "neo_gpu_place(i32) -> i32". */
LLVMValueRef neo_ll_gpu_place(neo_ll_gen *g, neo_gpu_place what) {
  static const char *const name[] = {
      "llvm.nvvm.read.ptx.sreg.ctaid.x", "llvm.nvvm.read.ptx.sreg.ntid.x",
      "llvm.nvvm.read.ptx.sreg.tid.x", "llvm.nvvm.read.ptx.sreg.nctaid.x"};
  LLVMTypeRef i32 = neo_ll_i32(g->l);
  LLVMValueRef x, number = neo_ll_int(i32, what);
  if (g->l->target.emulated) {
    LLVMTypeRef type = LLVMFunctionType(i32, &i32, 1, false);
    LLVMValueRef fn = neo_ll_extern(g->l, "neo_gpu_place", type);
    x = LLVMBuildCall2(g->l->b, type, fn, &number, 1, "");
  } else {
    x = neo_ll_call(g->l, name[what], NULL, NULL, 0);
  }
  return LLVMBuildZExt(g->l->b, x, neo_ll_i64(g->l), "");
}

/* The number of this thread in the grid. */
LLVMValueRef neo_ll_gpu_thread(neo_ll_gen *g) {
  LLVMValueRef block = neo_ll_gpu_block(g), size = neo_ll_gpu_place(g, NEO_GPU_BLOCK_SIZE);
  LLVMValueRef thread = neo_ll_gpu_place(g, NEO_GPU_THREAD);
  LLVMValueRef first = LLVMBuildNSWMul(g->l->b, block, size, "");
  return LLVMBuildNSWAdd(g->l->b, first, thread, "");
}

LLVMValueRef neo_ll_gpu_lane(neo_ll_gen *g) {
  return neo_ll_gpu_place(g, NEO_GPU_THREAD);
}

LLVMValueRef neo_ll_gpu_block(neo_ll_gen *g) {
  return g->block ? g->block : neo_ll_gpu_place(g, NEO_GPU_BLOCK);
}

/* ---- barriers and shared memory */

/* A barrier of the kernel's threads. Where a block of a persistent grid has more threads than the
 * kernel, only the kernel's threads take part, as only consumers do under warp specialization. An
 * emulated device gets 0 as the number of threads where all threads of the block take part. */
static bool are_some(const neo_ll_gen *g) {
  return g->threads < g->team || g->role == NEO_LL_CONSUMER;
}

/* The arguments of a barrier: its number in the block, and the number of threads that take part. */
static void barrier_of(neo_ll_gen *g, LLVMValueRef *arg) {
  enum { EVERY = 0, SOME = 1 };
  LLVMTypeRef i32 = neo_ll_i32(g->l);
  bool some = are_some(g);
  arg[0] = neo_ll_int(i32, some ? SOME : EVERY);
  arg[1] = neo_ll_int(i32, some ? g->threads : 0);
}

void neo_ll_gpu_barrier(neo_ll_gen *g) {
  LLVMValueRef arg[2];
  barrier_of(g, arg);
  if (g->l->target.emulated)
    neo_ll_tell(g->l, "neo_gpu_barrier", arg, 2);
  else if (are_some(g))
    neo_ll_call(g->l, "llvm.nvvm.barrier.cta.sync.aligned.count", NULL, arg, 2);
  else
    neo_ll_call(g->l, "llvm.nvvm.barrier.cta.sync.aligned.all", NULL, arg, 1);
}

/* The vote of an emulated device: "neo_gpu_vote(barrier, threads, says) -> i32". */
static LLVMValueRef emulated_vote(neo_ll_gen *g, LLVMValueRef *arg, LLVMValueRef says) {
  LLVMTypeRef i32 = neo_ll_i32(g->l), param[] = {i32, i32, i32};
  LLVMTypeRef type = LLVMFunctionType(i32, param, 3, false);
  LLVMValueRef all[] = {arg[0], arg[1], LLVMBuildZExt(g->l->b, says, i32, "")};
  LLVMValueRef fn = neo_ll_extern(g->l, "neo_gpu_vote", type);
  LLVMValueRef x = LLVMBuildCall2(g->l->b, type, fn, all, 3, "");
  return LLVMBuildICmp(g->l->b, LLVMIntNE, x, neo_ll_int32(g->l, 0), "");
}

static void voted(neo_ll_gen *g);

void neo_ll_vote(neo_ll_gen *g, const neo_ls *s) {
  LLVMValueRef arg[3], any, *at = g->reg[s->vote.of].at;
  LLVMTypeRef type = neo_ll_type(g->l, NEO_BOOL_T, 1);
  LLVMValueRef says = LLVMBuildLoad2(g->l->b, type, at[0], "");
  barrier_of(g, arg);
  if (g->l->target.emulated) {
    any = emulated_vote(g, arg, says);
  } else if (are_some(g)) {
    arg[2] = says;
    any = neo_ll_call(g->l, "llvm.nvvm.barrier.cta.red.or.aligned.count", NULL, arg, 3);
  } else {
    arg[1] = says;
    any = neo_ll_call(g->l, "llvm.nvvm.barrier.cta.red.or.aligned.all", NULL, arg, 2);
  }
  LLVMBuildStore(g->l->b, any, g->reg[s->vote.any].at[0]);
  voted(g);
}

/* The alignment of shared memory: factors of warpgroups need a larger one than other buffers. */
static unsigned shared_align(const neo_ll_gen *g) {
  enum { PLAIN = 128 };
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    if (g->matrix[b])
      return NEO_WGMMA_ALIGN_BYTES;
  return PLAIN;
}

/* The block's shared memory, whose size is an argument of the launch. */
LLVMValueRef neo_ll_gpu_shared(neo_ll_gen *g) {
  static const char name[] = "neo_shared";
  neo_llvm *l = g->l;
  LLVMTypeRef ptr = neo_ll_ptr_type(l);
  if (l->target.emulated) {
    LLVMTypeRef type = LLVMFunctionType(ptr, NULL, 0, false);
    return LLVMBuildCall2(l->entry, type, neo_ll_extern(l, "neo_gpu_shared", type), NULL, 0, "");
  }
  LLVMValueRef v = LLVMGetNamedGlobal(l->mod, name);
  if (!v) {
    LLVMTypeRef t = LLVMArrayType2(LLVMInt8TypeInContext(l->ctx), 0);
    v = LLVMAddGlobalInAddressSpace(l->mod, t, name, SHARED_SPACE);
  }
  if (LLVMGetAlignment(v) < shared_align(g))
    LLVMSetAlignment(v, shared_align(g));
  return LLVMConstAddrSpaceCast(v, ptr);
}

void neo_ll_gpu_assembly(neo_ll_gen *g, const char *text, const char *rule, LLVMValueRef *arg) {
  enum { MOST = 8 };
  LLVMTypeRef type[MOST];
  unsigned n = 0;
  neo_str all = neo_str_in(g->l->arena);
  for (; rule[n]; n++) {
    type[n] = LLVMTypeOf(arg[n]);
    neo_str_addf(&all, "%c,", rule[n]);
  }
  neo_str_add(&all, "~{memory}");
  LLVMTypeRef fn = LLVMFunctionType(LLVMVoidTypeInContext(g->l->ctx), type, n, false);
  LLVMValueRef code = LLVMGetInlineAsm(fn, text, strlen(text), neo_str_text(&all), all.n, true,
                                       false, LLVMInlineAsmDialectATT, false);
  LLVMBuildCall2(g->l->b, fn, code, arg, n, "");
}

LLVMValueRef neo_ll_shared_place(neo_ll_gen *g, const neo_element *of) {
  LLVMBuilderRef b = g->l->b;
  LLVMValueRef p = neo_ll_buf_value(g, of->buf);
  int64_t size = neo_type_bytes((neo_type)g->k->bufs.at[of->buf].type);
  LLVMValueRef at = neo_ll_expr(g, of->offset).v;
  at = LLVMBuildMul(b, at, neo_ll_int64(g->l, size), "");
  p = LLVMBuildInBoundsGEP2(b, LLVMInt8TypeInContext(g->l->ctx), p, &at, 1, "");
  if (g->l->target.emulated)
    return p;
  p = LLVMBuildAddrSpaceCast(b, p, LLVMPointerTypeInContext(g->l->ctx, SHARED_SPACE), "");
  return LLVMBuildPtrToInt(b, p, neo_ll_i32(g->l), "");
}

int64_t neo_ll_mbarrier_arrivals(const neo_ll_gen *g) {
  return g->threads / NEO_WARP;
}

static void voted(neo_ll_gen *g) {
  memset(g->open, 0, g->k->bufs.n);
}

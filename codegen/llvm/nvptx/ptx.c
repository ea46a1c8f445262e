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
#include "codegen/llvm/gen.h"
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
  bool alone = !g->team; /* what one kernel of a grid that stays writes, the next one reads */
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

unsigned neo_ll_gpu_give_buffers(neo_ll_gen *g, unsigned at) {
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

/* An emulator's function "neo_gpu_place(i32) -> i32" stands for the registers. */
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

/* ---- what threads of a block share */

void neo_ll_gpu_tell(neo_ll_gen *g, const char *symbol, LLVMValueRef *arg, unsigned n) {
  LLVMTypeRef type[4];
  for (unsigned k = 0; k < n; k++)
    type[k] = LLVMTypeOf(arg[k]);
  LLVMTypeRef fn = LLVMFunctionType(LLVMVoidTypeInContext(g->l->ctx), type, n, false);
  LLVMBuildCall2(g->l->b, fn, neo_ll_extern(g->l, symbol, fn), arg, n, "");
}

/* In a grid that stays, where the kernel has fewer threads than a block: those alone meet, as
 * consumers do. An emulated device is told of no number of threads where all of the block meet. */
void neo_ll_gpu_barrier(neo_ll_gen *g) {
  enum { EVERY = 0, SOME = 1 }; /* barriers of the block, by number */
  LLVMTypeRef i32 = neo_ll_i32(g->l);
  bool some = g->threads < g->team || g->role == NEO_LL_CONSUMER;
  LLVMValueRef arg[] = {neo_ll_int(i32, some ? SOME : EVERY),
                        neo_ll_int(i32, some ? g->threads : 0)};
  if (g->l->target.emulated)
    neo_ll_gpu_tell(g, "neo_gpu_barrier", arg, 2);
  else if (some)
    neo_ll_call(g->l, "llvm.nvvm.barrier.cta.sync.aligned.count", NULL, arg, 2);
  else
    neo_ll_call(g->l, "llvm.nvvm.barrier.cta.sync.aligned.all", NULL, arg, 1);
}

/* Factors of warpgroups begin at larger multiples than anything else. */
static unsigned shared_align(const neo_ll_gen *g) {
  enum { PLAIN = 128 };
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    if (g->matrix[b])
      return NEO_WGMMA_ALIGN_BYTES;
  return PLAIN;
}

/* Its size is an argument of the launch. */
LLVMValueRef neo_ll_gpu_shared(neo_ll_gen *g) {
  enum { SHARED_SPACE = 3 };
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

/* ---- barriers
 *
 * What threads have done to each buffer since the last barrier is kept; one is put before a
 * statement that writes what others have read or written, or reads what others have written. Only
 * memory counts that threads share: scratch, and buffers that the kernel both reads and writes;
 * those that may be the same memory as others count as one. A loop around loops of threads begins
 * and ends with a barrier, if anything is open there, so that its first iteration needs none that
 * all others would have as well; behind it nothing is open, whether it ran or not.
 * Behind a branch is open what is in one of its arms.
 *
 * A copy writes where nobody reads or writes any more; what it has written is there for the thread
 * once it has waited, and for others after a barrier. So a wait counts as writing all of scratch,
 * and a copy under way as nothing: who reads its elements before makes a mistake, which a barrier
 * would not mend.
 *
 * Boxes are copied as those copies are, but who waits at their mbarrier sees them without a barrier.
 * Where a producer asks for them, mbarriers say as well when they may be written, and no barrier does.
 *
 * What warpgroups multiply they read from where it is named on until it is awaited, which other
 * threads do at other times: it counts as read at both. They read past the way that threads write:
 * each fences what it wrote there before the barrier. */

enum { READS = 1, WRITES = 2, COPIES = 4 };

static bool is_shared(const neo_ll_gen *g, uint32_t buf) {
  uint8_t use = g->k->bufs.at[buf].use;
  bool alone = g->k->bufs.at[buf].no_alias;
  return (use & NEO_BUF_SCRATCH) || use == (NEO_BUF_READ | NEO_BUF_WRITE) || !alone;
}

/* The first of the buffers that may be the same memory. */
static uint32_t place_in_memory(const neo_ll_gen *g, uint32_t buf) {
  const neo_kbuf *b = g->k->bufs.at;
  uint32_t first = 0;
  if (b[buf].no_alias || b[buf].use & NEO_BUF_SCRATCH)
    return buf;
  while (b[first].no_alias || b[first].use & NEO_BUF_SCRATCH)
    first++;
  return first;
}

static void note_reads(neo_ll_gen *g, uint8_t *use, const neo_lx *e) {
  if ((e->kind == NEO_LX_LOAD || e->kind == NEO_LX_LOADIF) && is_shared(g, e->attr))
    use[place_in_memory(g, e->attr)] |= READS;
  for (uint32_t k = 0; k < e->n; k++)
    note_reads(g, use, e->arg[k]);
}

static void note_access(neo_ll_gen *g, uint8_t *use, uint32_t buf, uint8_t what) {
  if (is_shared(g, buf))
    use[place_in_memory(g, buf)] |= what;
}

/* What it does itself, without what is inside of it. */
static void note_head(neo_ll_gen *g, uint8_t *use, const neo_ls *s) {
  const neo_lx *own[NEO_LS_EXPRS];
  uint32_t n = neo_ls_exprs(s, own);
  for (uint32_t k = 0; k < n; k++)
    note_reads(g, use, own[k]);
  switch (s->kind) {
  case NEO_LS_STORE:
    note_access(g, use, s->store.to.buf, WRITES);
    break;
  case NEO_LS_LDMATRIX:
    use[place_in_memory(g, s->ldmatrix.from.buf)] |= READS;
    break;
  case NEO_LS_WGMMA:
    for (int k = 0; k < 2; k++)
      use[s->wgmma.factor[k].buf] |= READS;
    break;
  case NEO_LS_COPY:
    use[s->copy.to.buf] |= COPIES;
    note_access(g, use, s->copy.from.buf, READS);
    break;
  case NEO_LS_TMA_COPY:
    use[s->tma_copy.to.buf] |= COPIES;
    break;
  default:
    break;
  }
}

static void note_all(neo_ll_gen *g, uint8_t *use, const neo_ls *s) {
  note_head(g, use, s);
  for (uint32_t k = 0; neo_ls_block(s, k); k++)
    for (size_t i = 0; i < neo_ls_block(s, k)->n; i++)
      note_all(g, use, neo_ls_block(s, k)->at[i]);
}

static void note_threads(void *any, neo_ls *s) {
  *(bool *)any = *(bool *)any || neo_ls_is_loop(s, NEO_LOOP_THREAD);
}

static bool holds_threads(const neo_ls *s) {
  bool any = false;
  for (uint32_t k = 0; neo_ls_block(s, k); k++)
    neo_block_visit(neo_ls_block(s, k), note_threads, &any);
  return any;
}

static uint8_t *new_uses(neo_ll_gen *g) {
  return NEO_NEW_ARRAY(g->l->arena, uint8_t, g->k->bufs.n + 1);
}

/* What threads wrote is seen by those that read it in another way. */
static void fence(neo_ll_gen *g) {
  bool wanted = false;
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    wanted = wanted || (g->open[b] & WRITES && g->matrix[b]);
  if (wanted && g->l->target.emulated)
    neo_ll_gpu_tell(g, "neo_gpu_fence_async", NULL, 0);
  else if (wanted)
    neo_ll_gpu_assembly(g, "fence.proxy.async.shared::cta;", "", NULL);
}

static void meet(neo_ll_gen *g) {
  fence(g);
  neo_ll_gpu_barrier(g);
  memset(g->open, 0, g->k->bufs.n);
}

static bool any(const neo_ll_gen *g) {
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    if (g->open[b])
      return true;
  return false;
}

/* Of a branch around loops of threads, and of a loop whose iterations are copies, only the head is
 * looked at. */
void neo_ll_gpu_before(neo_ll_gen *g, const neo_ls *s) {
  uint8_t *use = new_uses(g);
  if (g->role == NEO_LL_PRODUCER)
    return;
  bool clash = false, again = neo_ls_is_loop(s, NEO_LOOP_SERIAL);
  if (holds_threads(s) && !neo_ls_is_loop(s, NEO_LOOP_THREAD) && !again)
    note_head(g, use, s);
  else
    note_all(g, use, s);
  bool loop = again && holds_threads(s);
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    use[b] = g->by_mbarriers[b] ? 0 : use[b];
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    clash = clash || (loop && g->open[b]);
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    clash = clash || (use[b] & (WRITES | COPIES) && g->open[b]) || (use[b] && g->open[b] & WRITES);
  if (clash)
    meet(g);
  bool runs =
      neo_ls_is_loop(s, NEO_LOOP_THREAD) || s->kind == NEO_LS_LDMATRIX || s->kind == NEO_LS_WGMMA;
  for (uint32_t b = 0; b < g->k->bufs.n; b++) {
    if (runs)
      g->open[b] |= use[b] & (READS | WRITES);
    if (s->kind == NEO_LS_WGMMA_WAIT && g->matrix[b] && !g->by_mbarriers[b])
      g->open[b] |= READS;
  }
}

void neo_ll_gpu_arrived(neo_ll_gen *g) {
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    if (g->k->bufs.at[b].use & NEO_BUF_SCRATCH)
      g->open[b] |= WRITES;
}

uint8_t *neo_ll_gpu_open(neo_ll_gen *g) {
  uint8_t *copy = new_uses(g);
  memcpy(copy, g->open, g->k->bufs.n);
  return copy;
}

void neo_ll_gpu_loop_end(neo_ll_gen *g) {
  if (any(g))
    meet(g);
}

void neo_ll_gpu_set_open(neo_ll_gen *g, const uint8_t *open, const uint8_t *also) {
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    g->open[b] = (uint8_t)(open[b] | (also ? also[b] : 0));
}

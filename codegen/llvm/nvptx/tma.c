/* Copies of boxes by the tensor memory accelerator of sm_90 (loop/statement.h: tma_copy) and their
 * mbarriers: inline assembly, because LLVM assumes that its own intrinsics order nothing.
 *
 *   EXPECT_TX      mbarrier.arrive.expect_tx         \ by the block's first thread
 *   TMA_COPY       cp.async.bulk.tensor.Nd           /
 *   MBARRIER_WAIT  mbarrier.try_wait.parity, repeated until it succeeds: by all threads
 *
 * A phase of an mbarrier takes one arrival, that of EXPECT_TX, or those of the consumers
 * (llvm/nvptx/specialize.c). In a producer, which is a single thread, there is no branch to the
 * first thread. A kernel begins with the initialization of its mbarriers and a barrier. Tensor
 * maps, 128 bytes each, describe the tensors. The runtime makes them from neo_rt_map; they are
 * parameters by value, after all others, and the kernel reads them from its parameters
 * (grid_constant).
 *
 * On an emulated device: "neo_gpu_phases(mbarriers, n, arrivals)", "neo_gpu_fence_phases()",
 * "neo_gpu_expect(mbarrier, bytes)", "neo_gpu_bulk(to, map, mbarrier, c0, .., c4)",
 * "neo_gpu_reach(mbarrier, parity)". */
#include "base/str.h"
#include "codegen/llvm/nvptx/nvptx.h"
#include <assert.h>

enum { SHARED_SPACE = 3 };

static LLVMValueRef number(neo_ll_gen *g, const neo_lx *e) {
  return LLVMBuildTrunc(g->l->b, neo_ll_expr(g, e).v, neo_ll_i32(g->l), "");
}

/* Begins code of the block's first thread alone. Returns the block where all threads continue;
 * null: in a producer, which is one thread. */
static LLVMBasicBlockRef first_thread(neo_ll_gen *g) {
  LLVMBuilderRef b = g->l->b;
  if (g->role == NEO_LL_PRODUCER)
    return NULL;
  LLVMBasicBlockRef then = LLVMAppendBasicBlockInContext(g->l->ctx, g->fn, "first");
  LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(g->l->ctx, g->fn, "all");
  LLVMValueRef is = LLVMBuildICmp(b, LLVMIntEQ, neo_ll_gpu_lane(g), neo_ll_int64(g->l, 0), "");
  LLVMBuildCondBr(b, is, then, after);
  LLVMPositionBuilderAtEnd(b, then);
  return after;
}

static void all_threads(neo_ll_gen *g, LLVMBasicBlockRef after) {
  if (!after)
    return;
  LLVMBuildBr(g->l->b, after);
  LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(g->l->b));
  LLVMPositionBuilderAtEnd(g->l->b, after);
}

/* ---- statements */

static void expect_tx(neo_ll_gen *g, const neo_ls *s) {
  LLVMValueRef arg[] = {neo_ll_shared_place(g, &s->expect_tx.mbarrier),
                        neo_ll_int32(g->l, s->expect_tx.bytes)};
  LLVMBasicBlockRef after = first_thread(g);
  if (g->l->target.emulated)
    neo_ll_tell(g->l, "neo_gpu_expect", arg, 2);
  else
    neo_ll_gpu_assembly(g, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "rr", arg);
  all_threads(g, after);
}

static LLVMValueRef map_of(neo_ll_gen *g, const neo_ls *s) {
  uint32_t k = 0;
  while (g->maps[k].buf != s->tma_copy.from || !neo_box_same(g->maps[k].box, s->tma_copy.box))
    k++;
  return g->map[k];
}

static void copy(neo_ll_gen *g, const neo_ls *s) {
  const neo_box *x = s->tma_copy.box;
  LLVMValueRef arg[3 + NEO_BOX_RANK] = {neo_ll_shared_place(g, &s->tma_copy.to), map_of(g, s),
                                        neo_ll_shared_place(g, &s->tma_copy.mbarrier)};
  for (uint32_t d = 0; d < NEO_BOX_RANK; d++)
    arg[3 + d] = d < x->rank ? number(g, x->at[d]) : neo_ll_int32(g->l, 0);
  LLVMBasicBlockRef after = first_thread(g);
  if (g->l->target.emulated) {
    neo_ll_tell(g->l, "neo_gpu_bulk", arg, 3 + NEO_BOX_RANK);
    all_threads(g, after);
    return;
  }
  neo_str text = neo_str_in(g->l->arena);
  neo_str_addf(&text,
               "cp.async.bulk.tensor.%ud.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[$0], [$1, {",
               x->rank);
  for (uint32_t d = 0; d < x->rank; d++)
    neo_str_addf(&text, d ? ", $%u" : "$%u", 3 + d);
  neo_str_add(&text, "}], [$2];");
  arg[1] = LLVMBuildPtrToInt(g->l->b, arg[1], neo_ll_i64(g->l), "");
  char rule[] = "rlrrrrrr";
  rule[3 + x->rank] = 0;
  neo_ll_gpu_assembly(g, neo_str_text(&text), rule, arg);
  all_threads(g, after);
}

static void wait_for(neo_ll_gen *g, const neo_ls *s) {
  static const char text[] = "{\n\t.reg .pred p;\n"
                             "again:\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\n\t"
                             "@p bra there;\n\tbra again;\nthere:\n\t}";
  LLVMValueRef arg[] = {neo_ll_shared_place(g, &s->mbarrier_wait.mbarrier),
                        number(g, s->mbarrier_wait.parity)};
  if (g->l->target.emulated)
    neo_ll_tell(g->l, "neo_gpu_reach", arg, 2);
  else
    neo_ll_gpu_assembly(g, text, "rr", arg);
}

void neo_ll_tma(neo_ll_gen *g, const neo_ls *s) {
  assert(g->threads && !g->in_threads && "boxes are copied for a GPU's blocks");
  if (s->kind == NEO_LS_TMA_COPY)
    copy(g, s);
  else if (s->kind == NEO_LS_EXPECT_TX)
    expect_tx(g, s);
  else
    wait_for(g, s);
}

/* ---- initialization of mbarriers */

typedef enum { NO_MBARRIERS, OF_BYTES, OF_ARRIVALS } mbarriers;

static void note(void *what, neo_ls *s) {
  mbarriers *by_buffer = what;
  if (s->kind == NEO_LS_EXPECT_TX)
    by_buffer[s->expect_tx.mbarrier.buf] = OF_BYTES;
  if (s->kind == NEO_LS_MBARRIER_ARRIVE)
    by_buffer[s->mbarrier_arrive.mbarrier.buf] = OF_ARRIVALS;
}

static void make(neo_ll_gen *g, uint32_t buf, int64_t arrivals) {
  LLVMValueRef p = neo_ll_buf_value(g, buf), each = neo_ll_int32(g->l, arrivals);
  if (g->l->target.emulated) {
    LLVMValueRef n = neo_ll_int32(g->l, g->k->bufs.at[buf].scratch_elems);
    neo_ll_tell(g->l, "neo_gpu_phases", (LLVMValueRef[]){p, n, each}, 3);
    return;
  }
  p = LLVMBuildAddrSpaceCast(g->l->b, p, LLVMPointerTypeInContext(g->l->ctx, SHARED_SPACE), "");
  p = LLVMBuildPtrToInt(g->l->b, p, neo_ll_i32(g->l), "");
  for (int64_t k = 0; k < g->k->bufs.at[buf].scratch_elems; k++) {
    LLVMValueRef arg[] = {LLVMBuildAdd(g->l->b, p, neo_ll_int32(g->l, 8 * k), ""), each};
    neo_ll_gpu_assembly(g, "mbarrier.init.shared::cta.b64 [$0], $1;", "rn", arg);
  }
}

void neo_ll_tma_begin(neo_ll_gen *g) {
  mbarriers *what = NEO_NEW_ARRAY(g->l->arena, mbarriers, g->k->bufs.n + 1);
  if (!g->n_maps)
    return;
  neo_block_visit(&g->k->body, note, what);
  LLVMBasicBlockRef after = first_thread(g);
  for (uint32_t b = 0; b < g->k->bufs.n; b++)
    if (what[b])
      make(g, b, what[b] == OF_BYTES ? 1 : neo_ll_mbarrier_arrivals(g));
  if (g->l->target.emulated)
    neo_ll_tell(g->l, "neo_gpu_fence_phases", NULL, 0);
  else
    neo_ll_gpu_assembly(g, "fence.mbarrier_init.release.cluster;", "", NULL);
  all_threads(g, after);
  neo_ll_gpu_barrier(g);
}

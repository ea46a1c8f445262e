/* Statements that only a GPU has. */
#include "codegen/llvm/nvptx/nvptx.h"
#include <assert.h>

void neo_ll_gpu_statement(neo_ll_gen *g, const neo_ls *s, neo_ll_emit_block *block) {
  switch (s->kind) {
  case NEO_LS_SHUFFLE:
    neo_ll_shuffle(g, s);
    break;
  case NEO_LS_VOTE:
    neo_ll_vote(g, s);
    break;
  case NEO_LS_MMA:
    neo_ll_mma(g, s);
    break;
  case NEO_LS_LDMATRIX:
    neo_ll_ldmatrix(g, s);
    break;
  case NEO_LS_WGMMA:
    neo_ll_wgmma(g, s);
    break;
  case NEO_LS_WGMMA_WAIT:
    neo_ll_wgmma_wait(g, s);
    break;
  case NEO_LS_COPY:
  case NEO_LS_COPY_COMMIT:
  case NEO_LS_COPY_WAIT:
    neo_ll_cp_async(g, s);
    if (s->kind == NEO_LS_COPY_WAIT)
      neo_ll_gpu_arrived(g);
    break;
  case NEO_LS_TMA_COPY:
  case NEO_LS_EXPECT_TX:
  case NEO_LS_MBARRIER_WAIT:
    neo_ll_tma(g, s);
    break;
  case NEO_LS_MBARRIER_ARRIVE:
    neo_ll_mbarrier_arrive(g, s);
    break;
  case NEO_LS_SPECIALIZE:
    neo_ll_specialize(g, s, block);
    break;
  case NEO_LS_FOR: /* statements of every target (core/emit.c) */
  case NEO_LS_IF:
  case NEO_LS_REG:
  case NEO_LS_SET:
  case NEO_LS_STORE:
  case NEO_LS_PREFETCH:
  case NEO_LS_TILE:
    assert(false);
    break;
  }
}

/* A contraction's tile with warp specialization (schedule/gpu_tile/producer.h): a producer thread
 * starts the TMA copies of lower/gpu_tile/tma.c, and consumer warpgroups multiply.
 *
 *   producer                                     one thread of a warpgroup of its own
 *     stage = 0, parity = 0
 *     for k in 0..steps step BLOCK_K
 *       if S*BLOCK_K <= k: mbarrier_wait empty[stage] 1 - parity
 *       full[stage] <~ boxes of steps k ..
 *       stage = (stage + 1) % S; parity changes when stage becomes 0
 *   consumers
 *     acc = 0
 *     stage = 0, parity = 0
 *     for k in 0..steps step BLOCK_K
 *       mbarrier_wait full[stage] parity
 *       wgmma acc, rows, columns [this stage]
 *       wgmma_wait 1                             the product of the block before this one has ended
 *       if 0 < k: mbarrier_arrive empty[the stage before]
 *       stage, parity = the next ones
 *     wgmma_wait 0, acc
 *     stages after it, at each sum of the thread
 *
 * A stage is overwritten after all warpgroups have arrived at its `empty` mbarrier, and read after
 * its bytes have arrived. So the loop has no barrier: a warpgroup may be a stage ahead of another
 * one, which multiplies while the first one waits, and copies are S - 1 blocks of steps ahead.
 * Consumers do not arrive for the last block of steps, because nothing overwrites the last stages.
 *
 * A persistent block computes several tiles; stages and parities carry over from tile to tile.
 * Consumers arrive for all stages, also before the first tile. So the producer always waits, with
 * the parity of the boxes. Copies for the next tile run while consumers store a tile:
 *
 *   producer
 *     stage = 0, parity = 0
 *     for u in 0..units unit
 *       for k in 0..steps step BLOCK_K
 *         mbarrier_wait empty[stage] parity
 *         full[stage] <~ boxes of steps k ..
 *         stage, parity = the next ones
 *   consumers
 *     stage = 0, parity = 0
 *     mbarrier_arrive empty[0], .. empty[S-1]
 *     for u in 0..units unit
 *       acc = 0
 *       for k .. as above
 *       wgmma_wait 0, acc
 *       mbarrier_arrive empty[the stage before]
 *       stages after it, at each sum of the thread */
#include "schedule/gpu_tile/producer.h"
#include "codegen/lower/gpu_tile/tile.h"

void neo_btile_plan_producer(block_tile *x) {
  x->producer = x->p.l->s->block.producer;
  if (x->producer)
    x->empty = neo_btile_phases(x, "empty");
}

static const neo_lx *not_before(lowering *l, int64_t least, const neo_lx *k) {
  return neo_lx_op2(l->k, NEO_OP_LE, lx_int(l, least), k);
}

neo_block *neo_btile_open_specialized(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  neo_producer_registers count = neo_producer_share(l->machine, l->s);
  x->specialized = neo_ls_specialize(l->k, in, (const uint32_t[]){count.producer, count.consumer});
  x->produced = neo_btile_first_stage(x, &x->specialized->specialize.arm[NEO_PRODUCER]);
  return &x->specialized->specialize.arm[NEO_PRODUCER];
}

void neo_btile_produce(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  const neo_lx *k;
  const neo_btile_pipeline_state *r = &x->produced;
  neo_block *body = neo_lower_open(l, in, "k", lx_int(l, 0), x->steps, x->p.block_k, &k);
  if (x->persistent) {
    neo_ls_mbarrier_wait(l->k, body, x->empty, r->stage, r->parity);
  } else {
    const neo_lx *before = lx_add(l, lx_mul(l, r->parity, -1), lx_int(l, 1));
    neo_block *later =
        &neo_ls_if(l->k, body, not_before(l, x->stages * x->p.block_k, k))->branch.then;
    neo_ls_mbarrier_wait(l->k, later, x->empty, r->stage, before);
  }
  neo_btile_start_boxes(x, body, k, r->stage);
  neo_btile_next_stage(x, body, r);
  neo_lower_close(l);
}

neo_block *neo_btile_open_consumers(block_tile *x) {
  neo_block *in = &x->specialized->specialize.arm[NEO_CONSUMER];
  if (!x->persistent)
    return in;
  x->consumed = neo_btile_first_stage(x, in);
  for (int64_t s = 0; s < x->stages; s++)
    neo_ls_mbarrier_arrive(x->p.l->k, in, x->empty, lx_int(x->p.l, s));
  neo_lower_close(x->p.l); /* closes the producer's loop over units */
  return neo_btile_open_units(x, in);
}

/* Arrives for the stage before the current one, if least <= steps. */
static void arrive_before(block_tile *x, neo_block *in, int64_t least, const neo_lx *steps) {
  lowering *l = x->p.l;
  const neo_lx *stage = x->consumed.stage, *is_any = not_before(l, least, steps);
  const neo_lx *is_first = neo_lx_op2(l->k, NEO_OP_EQ, stage, lx_int(l, 0));
  int64_t always;
  if (!neo_lx_is_int(is_any, &always) || !always)
    in = &neo_ls_if(l->k, in, is_any)->branch.then;
  neo_ls_mbarrier_arrive(l->k, in, x->empty,
                         neo_lx_op3(l->k, NEO_OP_SELECT, is_first, lx_int(l, x->stages - 1),
                                    lx_add(l, stage, lx_int(l, -1))));
}

void neo_btile_consume(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  const neo_lx *k;
  if (!x->persistent)
    x->consumed = neo_btile_first_stage(x, in);
  const neo_btile_pipeline_state *r = &x->consumed;
  neo_block *body = neo_lower_open(l, in, "k", lx_int(l, 0), x->steps, x->p.block_k, &k);
  neo_ls_mbarrier_wait(l->k, body, x->phases, r->stage, r->parity);
  neo_btile_multiply_stage(x, body, r->stage);
  neo_ls_wgmma_wait(l->k, body, x->p.acc, 1);
  arrive_before(x, body, x->p.block_k, k);
  neo_btile_next_stage(x, body, r);
  neo_lower_close(l);
  neo_ls_wgmma_wait(l->k, in, x->p.acc, 0);
  if (x->persistent)
    arrive_before(x, in, 1, x->steps);
}

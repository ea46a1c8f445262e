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

neo_block *neo_btile_open_specialized(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  neo_producer_registers count = neo_producer_share(l->machine, l->s);
  x->specialized = neo_ls_specialize(l->k, in, (const uint32_t[]){count.producer, count.consumer});
  x->produced = neo_btile_first_stage(x, &x->specialized->specialize.arm[NEO_PRODUCER]);
  return &x->specialized->specialize.arm[NEO_PRODUCER];
}

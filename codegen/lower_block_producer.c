/* A contraction's tile whose boxes (lower_block_bulk.c) one thread asks for that does nothing else
 * (schedule/producer.h), while warpgroups multiply:
 *
 *   producer                                     one thread of a warpgroup of its own
 *     stage = 0, turn = 0
 *     for k in 0..steps step BLOCK_K
 *       if S*BLOCK_K <= k: reach empty[stage] the turn before
 *       full[stage] <~ boxes of steps k ..
 *       stage = the next one, round about; turn = the other one, if that is the first
 *   consumers
 *     acc = 0
 *     stage = 0, turn = 0
 *     for k in 0..steps step BLOCK_K
 *       reach full[stage] turn
 *       warpgroup acc, rows, columns [this stage]
 *       await 1                                  the product of the block before this one has ended
 *       if 0 < k: arrive empty[the stage before]
 *       stage, turn = the next ones
 *     await 0, acc
 *     stages after it, at each sum of the thread
 *
 * A stage is written when all warpgroups have said that they have read it, and read when its bytes
 * are there. So no barrier stands in the loop: one warpgroup may be a stage ahead of another, which
 * multiplies while the first one waits, and boxes are S - 1 blocks of steps ahead. Nobody waits for
 * the last stages to be free, as nothing comes after them: the last block of steps is not arrived
 * at. */
#include "codegen/lower_block.h"
#include "schedule/producer.h"

void neo_btile_plan_producer(block_tile *x) {
  x->producer = x->l->s->at[NEO_SCHED_PRODUCER];
  if (x->producer)
    x->empty = neo_btile_phases(x, "empty");
}

static const neo_lx *not_before(lowering *l, int64_t least, const neo_lx *k) {
  return neo_lx_op2(l->k, NEO_OP_LE, lx_int(l, least), k);
}

neo_block *neo_btile_produce(block_tile *x, neo_block *in) {
  lowering *l = x->l;
  const neo_lx *k;
  neo_producer_registers count = neo_producer_share(l->s);
  neo_ls *roles = neo_ls_roles(l->k, in, (const uint32_t[]){count.producer, count.consumer});
  neo_btile_round r = neo_btile_first_stage(x, &roles->body);
  neo_block *body = neo_lower_open(l, &roles->body, "k", lx_int(l, 0), x->steps, x->block_k, &k);
  const neo_lx *before = lx_add(l, lx_mul(l, r.turn, -1), lx_int(l, 1));
  neo_block *later = &neo_ls_if(l->k, body, not_before(l, x->stages * x->block_k, k))->body;
  neo_ls_reach(l->k, later, x->empty, r.stage, before);
  neo_btile_start_boxes(x, body, k, r.stage);
  neo_btile_next_stage(x, body, &r);
  neo_lower_close(l);
  return &roles->other;
}

void neo_btile_consume(block_tile *x, neo_block *in) {
  lowering *l = x->l;
  const neo_lx *k;
  neo_btile_round r = neo_btile_first_stage(x, in);
  neo_block *body = neo_lower_open(l, in, "k", lx_int(l, 0), x->steps, x->block_k, &k);
  neo_ls_reach(l->k, body, x->phases, r.stage, r.turn);
  neo_btile_multiply_stage(x, body, r.stage);
  neo_ls_await(l->k, body, x->acc, 1);
  neo_block *later = &neo_ls_if(l->k, body, not_before(l, x->block_k, k))->body;
  const neo_lx *is_first = neo_lx_op2(l->k, NEO_OP_EQ, r.stage, lx_int(l, 0));
  neo_ls_arrive(l->k, later, x->empty,
                neo_lx_op3(l->k, NEO_OP_SELECT, is_first, lx_int(l, x->stages - 1),
                           lx_add(l, r.stage, lx_int(l, -1))));
  neo_btile_next_stage(x, body, &r);
  neo_lower_close(l);
  neo_ls_await(l->k, in, x->acc, 0);
}

/* A contraction's tile in stages that TMA fills (schedule/gpu_tile/stages.h), for warpgroups. A few
 * boxes of the operands' tensors replace the copies of threads in lower/gpu_tile/pipeline.c.
 *
 *   for p in 0..S-2 unroll
 *     if p*BLOCK_K < steps: full[p] <~ boxes of steps p*BLOCK_K ..
 *   stage = 0, parity = 0
 *   for k in 0..steps step BLOCK_K
 *     if k + (S-2)*BLOCK_K < steps: full[two stages before] <~ boxes of these steps
 *     mbarrier_wait full[stage] parity           this block of steps has arrived
 *     wgmma acc, rows, columns [this stage]
 *     wgmma_wait 1                               the product of the block before this one has ended
 *     stage = (stage + 1) % S; parity changes when stage becomes 0
 *   wgmma_wait 0, acc
 *
 * The barrier of a block of steps comes after wgmma_wait: then all warpgroups have read the stage
 * that the next iteration's boxes overwrite. Nothing is started beyond the last step, because a
 * phase that is begun has to be waited for. Elements of a box beyond the ends of rows, columns and
 * steps are 0.
 *
 * A producer thread may start the copies instead: lower/gpu_tile/producer.c.
 *
 * A box has 128 bytes along the contiguous axis. If these are BLOCK_K steps, its lines are rows, at
 * most 256. If they are 64 rows, its lines are BLOCK_K steps, and boxes follow each other in shared
 * memory (codegen/loop/wgmma.h). */
#include "codegen/lower/gpu_tile/tile.h"

uint32_t neo_btile_phases(block_tile *x, const char *name) {
  return neo_kernel_scratch(x->p.l->k, name, NEO_I64_T, x->stages);
}

bool neo_btile_plan_tma(block_tile *x) {
  lowering *l = x->p.l;
  x->tma = l->s->block.tma && x->p.o[0].from.i && x->p.o[1].from.i;
  for (int k = 0; k < 2 && x->tma; k++)
    x->tma = neo_stages_boxed(l->m, l->f, &x->c, l->s, x->p.o[k].side, &x->p.o[k].box) &&
             x->p.o[k].along_steps == x->p.o[k].box.along_steps;
  if (!x->tma)
    return false;
  x->phases = neo_btile_phases(x, "full");
  return true;
}

static const neo_lx *extent_of(block_tile *x, uint32_t axis) {
  uint32_t own = (uint32_t)x->p.l->f->axes.n;
  return axis < own ? neo_lower_extent(x->p.l, axis) : x->length[axis - own];
}

/* The number of lines of a box. */
static int64_t lines_of(const block_tile *x, const operand *o) {
  if (!o->along_steps)
    return x->p.block_k;
  int64_t n = o->block; /* a multiple of eight that divides the block's rows */
  while (n > NEO_BOX_MOST)
    n = n % 16 == 0 ? n / 2 : 8;
  return n;
}

/* Starts the copy of the box from row `row` of the block and step `from` on. */
static void start_box(block_tile *x, neo_block *in, const operand *o, const neo_lx *from,
                      const neo_lx *stage, int64_t row) {
  lowering *l = x->p.l;
  neo_box b = {.rank = o->box.rank};
  neo_btile_set_shared(l, o->axes, o->fast, lx_add(l, o->lo, lx_int(l, row)), NULL);
  neo_btile_set_own(x, from, lx_int(l, 0), NULL);
  neo_lower_forget(l);
  for (uint32_t d = 0; d < b.rank; d++) {
    b.at[d] = neo_lower_expr(l, o->box.at[d]);
    b.extent[d] = extent_of(x, o->box.axis[d]);
    b.stride[d] = o->box.stride[d];
    b.count[d] = 1;
  }
  b.count[0] = o->along_steps ? x->p.block_k : NEO_WGMMA_SIDE;
  b.count[1] = lines_of(x, o);
  const neo_lx *to = lx_add(l, lx_mul(l, stage, o->elements), lx_int(l, row * x->p.block_k));
  neo_ls_tma_copy(l->k, in, o->buf, to, o->from_buf, &b, x->phases, stage);
}

void neo_btile_start_boxes(block_tile *x, neo_block *in, const neo_lx *from, const neo_lx *stage) {
  lowering *l = x->p.l;
  neo_ls_expect_tx(l->k, in, x->phases, stage,
                   NEO_WGMMA_BYTES * (x->p.o[0].block + x->p.o[1].block));
  for (int k = 0; k < 2; k++) {
    const operand *o = &x->p.o[k];
    int64_t rows = o->along_steps ? lines_of(x, o) : NEO_WGMMA_SIDE;
    for (int64_t row = 0; row < o->block; row += rows)
      start_box(x, in, o, from, stage, row);
  }
}

/* Starts the boxes of the block of steps from `from` on, if it exists. */
static void start_if_any(block_tile *x, neo_block *in, const neo_lx *from, const neo_lx *stage) {
  lowering *l = x->p.l;
  in = &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_LT, from, x->steps))->branch.then;
  neo_btile_start_boxes(x, in, from, stage);
}

static uint32_t counter(block_tile *x, neo_block *in, const char *name) {
  lowering *l = x->p.l;
  uint32_t r = neo_kernel_reg(l->k, (neo_reg){.name = name, .type = NEO_I64_T});
  neo_ls_reg(l->k, in, r);
  neo_ls_set(l->k, in, r, NULL, 0, lx_int(l, 0));
  return r;
}

static const neo_lx *choice(lowering *l, const neo_lx *x, int64_t is, const neo_lx *then,
                            const neo_lx *other) {
  return neo_lx_op3(l->k, NEO_OP_SELECT, neo_lx_op2(l->k, NEO_OP_EQ, x, lx_int(l, is)), then,
                    other);
}

/* The stage two before: the next boxes go there. The stage one before is still multiplied. */
static const neo_lx *two_before(block_tile *x, const neo_lx *stage) {
  lowering *l = x->p.l;
  const neo_lx *before = lx_add(l, stage, lx_int(l, -2));
  before = choice(l, stage, 1, lx_int(l, x->stages - 1), before);
  return choice(l, stage, 0, lx_int(l, x->stages - 2), before);
}

neo_btile_pipeline_state neo_btile_first_stage(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  neo_btile_pipeline_state r = {.reg = {counter(x, in, "stage"), counter(x, in, "parity")}};
  r.stage = neo_lx_reg(l->k, r.reg[0], NULL, 0);
  r.parity = neo_lx_reg(l->k, r.reg[1], NULL, 0);
  return r;
}

void neo_btile_next_stage(block_tile *x, neo_block *in, const neo_btile_pipeline_state *r) {
  lowering *l = x->p.l;
  int64_t last = x->stages - 1;
  const neo_lx *other = lx_add(l, lx_mul(l, r->parity, -1), lx_int(l, 1));
  neo_ls_set(l->k, in, r->reg[1], NULL, 0, choice(l, r->stage, last, other, r->parity));
  const neo_lx *next = lx_add(l, r->stage, lx_int(l, 1));
  neo_ls_set(l->k, in, r->reg[0], NULL, 0, choice(l, r->stage, last, lx_int(l, 0), next));
}

void neo_btile_multiply_stage(block_tile *x, neo_block *in, const neo_lx *stage) {
  const neo_lx *start[2];
  for (int i = 0; i < 2; i++)
    start[i] = lx_mul(x->p.l, stage, x->p.o[i].elements);
  neo_btile_multiply_by_groups(x, in, (const uint32_t[]){x->p.o[0].buf, x->p.o[1].buf}, start);
}

void neo_btile_sum_tma(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  const neo_lx *k, *distance = lx_int(l, (x->stages - 2) * x->p.block_k);
  for (int64_t p = 0; p < x->stages - 2; p++)
    start_if_any(x, in, lx_int(l, p * x->p.block_k), lx_int(l, p));
  neo_btile_pipeline_state r = neo_btile_first_stage(x, in);
  neo_block *body = neo_lower_open(l, in, "k", lx_int(l, 0), x->steps, x->p.block_k, &k);
  start_if_any(x, body, lx_add(l, k, distance), two_before(x, r.stage));
  neo_ls_mbarrier_wait(l->k, body, x->phases, r.stage, r.parity);
  neo_btile_multiply_stage(x, body, r.stage);
  neo_ls_wgmma_wait(l->k, body, x->p.acc, 1);
  neo_btile_next_stage(x, body, &r);
  neo_lower_close(l);
  neo_ls_wgmma_wait(l->k, in, x->p.acc, 0);
}

/* A contraction's tile with products of warpgroups (codegen/loop/wgmma.h): a warpgroup computes
 * TILE_M by TILE_N of the block's rows and columns.
 *
 *   for u in 0..units unit
 *     for t in 0..threads thread: acc = 0; one half of rows, columns <- steps 0..BLOCK_K
 *     for k in 0..steps step 2*BLOCK_K
 *       for each half:
 *         for t in 0..threads thread: next <- the BLOCK_K steps after these
 *         wgmma acc, rows, columns              begins to multiply this half
 *         for t in 0..threads thread: the other half = next
 *         wgmma_wait 0, acc
 *     for t in 0..threads thread: stages after it, at each sum of the thread
 *
 * So loads of operands and their stores to shared memory overlap the products. The halves are
 * separate buffers (double buffering). One barrier separates them: after it every warpgroup has
 * read the one half, and every thread has written the other.
 *
 * Stages may replace the two halves (lower/gpu_tile/pipeline.c).
 */
#include "codegen/lower/gpu_tile/tile.h"

/* ---- the sum */

static int64_t height_of(const block_tile *x) {
  return x->p.o[0].tile / NEO_WGMMA_ROWS;
}

static void begin(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  x->p.acc =
      neo_gpu_thread_reg(l, in, "acc", NEO_F32_T, height_of(x), x->p.o[1].tile / 2, x->p.threads);
  neo_btile_declare_next(x, in, true);
  in = open_threads(x, in);
  neo_gpu_clear(l, in, x->p.acc, "f", "e");
  for (int k = 0; k < 2 && !x->stages; k++) {
    neo_btile_get_next(x, in, &x->p.o[k], lx_int(l, 0));
    neo_btile_put_next(x, in, &x->p.o[k], x->p.o[k].buf, lx_int(l, 0));
  }
}

/* A copy of single elements computes an address for each. Addresses of both operands and the sums
 * may need more registers than there are. Then the second operand is loaded during the products. */
static bool one_by_one(const block_tile *x) {
  enum { MOST = 64 };
  int64_t sums = height_of(x) * x->p.o[1].tile / 2, copies = 0;
  for (int k = 0; k < 2; k++)
    copies += x->p.o[k].copies * x->p.o[k].width;
  return (x->p.o[0].width == 1 || x->p.o[1].width == 1) && sums + copies > MOST;
}

/* Adds the products of one half of the buffers: the block of steps from k + half*BLOCK_K on. */
static void sum_half(block_tile *x, neo_block *in, const neo_lx *k, int half) {
  lowering *l = x->p.l;
  const neo_lx *zero = lx_int(l, 0);
  uint32_t now[2], then[2];
  for (int i = 0; i < 2; i++) {
    now[i] = half ? x->p.o[i].other : x->p.o[i].buf;
    then[i] = half ? x->p.o[i].buf : x->p.o[i].other;
  }
  const neo_lx *from = lx_add(l, k, lx_int(l, (half + 1) * x->p.block_k));
  neo_block *body = open_threads(x, in);
  neo_btile_get_next(x, body, &x->p.o[0], from);
  if (!one_by_one(x))
    neo_btile_get_next(x, body, &x->p.o[1], from);
  neo_btile_multiply_by_groups(x, in, now, (const neo_lx *[]){zero, zero});
  body = open_threads(x, in);
  neo_btile_put_next(x, body, &x->p.o[0], then[0], zero);
  if (one_by_one(x))
    neo_btile_get_next(x, body, &x->p.o[1], from);
  neo_btile_put_next(x, body, &x->p.o[1], then[1], zero);
  neo_ls_wgmma_wait(l->k, in, x->p.acc, 0);
}

static const neo_lx *not_before(lowering *l, int64_t least, const neo_lx *k) {
  return neo_lx_op2(l->k, NEO_OP_LE, lx_int(l, least), k);
}

static void produce(block_tile *x, neo_block *in) {
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

static neo_block *open_consumers(block_tile *x) {
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

static void consume(block_tile *x, neo_block *in) {
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

static void sum(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  const neo_lx *k;
  begin(x, in);
  if (x->stages) {
    (x->producer ? consume : x->tma ? neo_btile_sum_tma : neo_btile_sum_stages)(x, in);
    return;
  }
  in = neo_lower_open(l, in, "k", lx_int(l, 0), x->steps, 2 * x->p.block_k, &k);
  sum_half(x, in, k, 0);
  const neo_lx *next = lx_add(l, k, lx_int(l, x->p.block_k));
  sum_half(x, &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_LT, next, x->steps))->branch.then, k, 1);
  neo_lower_close(l);
}

/* ---- the stages that store */

/* The thread's first row and column in the block. */
static void place_of(block_tile *x, const neo_lx *at[2]) {
  enum { WARP = 32, WARP_ROWS = 16 };
  lowering *l = x->p.l;
  int64_t across = x->p.o[1].block / x->p.o[1].tile;
  const neo_lx *group = lx_div(l, x->p.thread, NEO_WARPGROUP);
  const neo_lx *warp = lx_mod(l, lx_div(l, x->p.thread, WARP), lx_int(l, NEO_WARPGROUP / WARP));
  const neo_lx *lane = lx_mod(l, x->p.thread, lx_int(l, WARP));
  at[0] = lx_mul(l, lx_div(l, group, across), x->p.o[0].tile);
  at[0] = lx_add(l, lx_add(l, at[0], lx_mul(l, warp, WARP_ROWS)), lx_div(l, lane, 4));
  at[1] = lx_mul(l, lx_mod(l, group, lx_int(l, across)), x->p.o[1].tile);
  at[1] = lx_add(l, at[1], lx_mul(l, lx_mod(l, lane, lx_int(l, 4)), 2));
}

static void store(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  const neo_lx *f, *j, *down, *right, *first[2], *at[2];
  in = open_threads(x, in);
  place_of(x, first);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "f", height_of(x), &f);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "h", 2, &down);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "j", x->p.o[1].tile / NEO_WGMMA_COLUMNS, &j);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "e", 2, &right);
  at[0] = lx_add(l, first[0], lx_add(l, lx_mul(l, f, NEO_WGMMA_ROWS), lx_mul(l, down, 8)));
  at[1] = lx_add(l, first[1], lx_add(l, lx_mul(l, j, NEO_WGMMA_COLUMNS), right));
  const neo_lx *e = lx_add(l, lx_mul(l, j, 4), lx_add(l, lx_mul(l, down, 2), right));
  neo_btile_store_point(x, in, at, neo_lx_reg(l->k, x->p.acc, (const neo_lx *[]){f, e}, 2));
}

void neo_btile_warpgroups(block_tile *x, neo_block *in) {
  if (x->producer) {
    produce(x, x->persistent ? in : neo_btile_open_specialized(x, in));
    in = open_consumers(x);
  }
  sum(x, in);
  store(x, in);
}

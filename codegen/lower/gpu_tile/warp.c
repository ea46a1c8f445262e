/* A contraction's tile with products of warps (codegen/loop/warp.h): a warp computes TILE_M by
 * TILE_N of the block's rows and columns, in fragments of 16 by 8.
 *
 *   for u in 0..units unit
 *     for t in 0..threads thread: acc = 0; one half of rows, columns <- steps 0..BLOCK_K
 *     for k in 0..steps step 2*BLOCK_K
 *       for each half:
 *         for t in 0..threads thread: next <- the BLOCK_K steps after these
 *         for s in 0..BLOCK_K/(steps of a fragment) unroll
 *           fragments a[i], b[j] <- shared memory
 *           warp acc[i, j] += a[i] * b[j]
 *         for t in 0..threads thread: the other half = next
 *     for t in 0..threads thread: stages after it, at each element of the fragments
 *
 * The halves are separate buffers (double buffering), so that one is read while the other is
 * written, with one barrier for both.
 *
 * Stages may replace the two halves (lower/gpu_tile/pipeline.c). lower/gpu_block/fragments.c has
 * the layout of operands in shared memory. */
#include "codegen/lower/gpu_tile/tile.h"

enum { HALVES = 2 };

/* ---- the sum */

static void begin(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  const neo_lx *zero = lx_int(l, 0);
  int64_t n = neo_mma_fragments(&x->p.o[0]) * neo_mma_fragments(&x->p.o[1]);
  x->p.acc = neo_gpu_thread_reg(l, in, "acc", NEO_F32_T, n, NEO_MMA_C, x->p.threads);
  neo_mma_declare(&x->p, in);
  neo_btile_declare_next(x, in, true);
  in = open_threads(x, in);
  neo_gpu_clear(l, in, x->p.acc, "f", "e");
  neo_mma_set_rows(&x->p, in);
  for (int k = 0; k < 2 && !x->stages; k++) {
    neo_btile_get_next(x, in, &x->p.o[k], zero);
    neo_btile_put_next(x, in, &x->p.o[k], x->p.o[k].buf, zero);
  }
}

/* Adds the block of steps from k + half*BLOCK_K on, which is in that half. */
static void sum_half(block_tile *x, neo_block *in, const neo_lx *k, int half) {
  lowering *l = x->p.l;
  uint32_t now[2], then[2];
  for (int i = 0; i < 2; i++) {
    now[i] = half ? x->p.o[i].other : x->p.o[i].buf;
    then[i] = half ? x->p.o[i].buf : x->p.o[i].other;
  }
  neo_block *body = open_threads(x, in);
  for (int i = 0; i < 2; i++)
    neo_btile_get_next(x, body, &x->p.o[i], lx_add(l, k, lx_int(l, (half + 1) * x->p.block_k)));
  neo_mma_multiply(&x->p, in, now);
  body = open_threads(x, in);
  for (int i = 0; i < 2; i++)
    neo_btile_put_next(x, body, &x->p.o[i], then[i], lx_int(l, 0));
}

static void sum(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  const neo_lx *k;
  begin(x, in);
  if (x->stages) {
    neo_btile_sum_stages(x, in);
    return;
  }
  in = neo_lower_open(l, in, "k", lx_int(l, 0), x->steps, HALVES * x->p.block_k, &k);
  sum_half(x, in, k, 0);
  const neo_lx *next = lx_add(l, k, lx_int(l, x->p.block_k));
  sum_half(x, &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_LT, next, x->steps))->branch.then, k, 1);
  neo_lower_close(l);
}

/* ---- the stages that store */

static void store(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  const neo_lx *i, *j, *down, *right, *at[2];
  in = open_threads(x, in);
  neo_mma_place p = neo_mma_place_of(&x->p);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "i", neo_mma_fragments(&x->p.o[0]), &i);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "h", 2, &down);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "j", neo_mma_fragments(&x->p.o[1]), &j);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "e", 2, &right);
  at[0] = lx_add(l, lx_add(l, p.at[0], p.group), lx_mul(l, i, NEO_MMA_ROWS));
  at[0] = lx_add(l, at[0], lx_mul(l, down, 8));
  at[1] = lx_add(l, lx_add(l, p.at[1], lx_mul(l, p.in, 2)), lx_mul(l, j, NEO_MMA_COLUMNS));
  at[1] = lx_add(l, at[1], right);
  const neo_lx *index[] = {lx_add(l, lx_mul(l, i, neo_mma_fragments(&x->p.o[1])), j),
                           lx_add(l, lx_mul(l, down, 2), right)};
  neo_btile_store_point(x, in, at, neo_lx_reg(l->k, x->p.acc, index, 2));
}

void neo_btile_warps(block_tile *x, neo_block *in) {
  sum(x, in);
  store(x, in);
}

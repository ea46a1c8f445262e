/* A contraction's tile with software pipelining (schedule/gpu_tile/stages.h): asynchronous copies
 * bring operands into S stages of shared memory, S - 1 blocks of steps ahead.
 *
 *   for p in 0..S-1 unroll
 *     for t in 0..threads thread: rows, columns [p] <~ steps p*BLOCK_K ..
 *     commit
 *   wait S-2                                   the first block has arrived
 *   stage = 0
 *   for k in 0..steps step BLOCK_K
 *     for t in 0..threads thread
 *       rows, columns [the stage before] <~ steps k + (S-1)*BLOCK_K ..
 *       products of this stage               by warps: between this loop of threads and another
 *     commit
 *     wait S-2                                 the next block has arrived
 *     stage = (stage + 1) % S
 *   wait 0                                     if S > 2: otherwise nothing is left
 *
 * Products of warpgroups are asynchronous (codegen/loop/wgmma.h). That of a block of steps runs
 * until the next one has begun, and occupies its stage. So copies are only S - 2 blocks ahead, and
 * go to the stage two before:
 *
 *     for t in 0..threads thread
 *       rows, columns [two stages before] <~ steps k + (S-2)*BLOCK_K ..
 *     wgmma acc, rows, columns [this stage]
 *     commit
 *     wait S-3
 *     wgmma_wait 1                             the product of the block before this one has ended
 *   wgmma_wait 0, acc
 *
 * A block of steps costs one barrier, after the wait: then all threads' copies of the next block
 * have arrived, and all threads have read the stage that the next iteration overwrites. Groups are
 * committed even if nothing is left to copy, so that their number is the same everywhere. Copies
 * beyond the last step write zeros and read nothing.
 *
 * TMA copies boxes (lower/gpu_tile/tma.c). Otherwise a thread's copy is 16 bytes if the operand has
 * the same order in shared memory as in memory, and a single element if it is transposed. */
#include "codegen/lower/gpu_tile/tile.h"

/* ---- copies */

/* Starts the thread's copies of the block of steps from `from` on, to `start` in the buffer. */
static void start_copies(block_tile *x, neo_block *in, const operand *o, const neo_lx *from,
                         const neo_lx *start) {
  lowering *l = x->p.l;
  const neo_lx *i, *row, *step;
  neo_gpu_copy c = neo_btile_copy(x, o, o->buf);
  in = neo_gpu_open_starts(&c, in, &i);
  const neo_lx *mine = neo_btile_copy_of(x, o, i, &row, &step);
  if (mine)
    in = &neo_ls_if(l->k, in, mine)->branch.then;
  const neo_lx *to = neo_btile_shared_at(x, o, start, row, step);
  neo_btile_enter_copy(x, o, NULL, row, from, step, NULL);
  neo_gpu_start_copy(&c, in, to, o->from_buf, neo_lower_expr(l, o->from), l->guard);
  neo_gpu_end_guard(l);
}

/* ---- stages */

static const neo_lx *start_of(block_tile *x, const operand *o, const neo_lx *stage) {
  return lx_mul(x->p.l, stage, o->elements);
}

/* Starts the copies of a block of steps. Operands that go through registers are loaded here and
 * stored to shared memory by put. */
static void issue_copies(block_tile *x, neo_block *in, const neo_lx *from, const neo_lx *stage) {
  for (int k = 0; k < 2; k++)
    if (x->p.o[k].from.i)
      start_copies(x, in, &x->p.o[k], from, start_of(x, &x->p.o[k], stage));
    else
      neo_btile_get_next(x, in, &x->p.o[k], from);
}

static void put(block_tile *x, neo_block *in, const neo_lx *stage) {
  for (int k = 0; k < 2; k++)
    if (!x->p.o[k].from.i)
      neo_btile_put_next(x, in, &x->p.o[k], x->p.o[k].buf, start_of(x, &x->p.o[k], stage));
}

static int64_t prefetch_distance(const block_tile *x) {
  return x->stages - (x->warpgroups ? 2 : 1);
}

/* Commits a group, and waits until the next stage has arrived and the one to overwrite is free. */
static void advance(block_tile *x, neo_block *in) {
  neo_ls_copy_commit(x->p.l->k, in);
  neo_ls_copy_wait(x->p.l->k, in, prefetch_distance(x) - 1);
  if (x->warpgroups)
    neo_ls_wgmma_wait(x->p.l->k, in, x->p.acc, 1);
}

static void first_blocks(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  const neo_lx *p;
  neo_block *body = open_loop(l, in, NEO_LOOP_UNROLL, "p", prefetch_distance(x), &p);
  neo_block *each = open_threads(x, body);
  if (!x->p.warps)
    neo_btile_declare_next(x, each, false);
  issue_copies(x, each, lx_mul(l, p, x->p.block_k), p);
  put(x, each, p);
  neo_ls_copy_commit(l->k, body);
  neo_ls_copy_wait(l->k, in, prefetch_distance(x) - 1);
}

static void multiply_by_warps(block_tile *x, neo_block *in, const neo_lx *stage) {
  const uint32_t buf[] = {x->p.o[0].buf, x->p.o[1].buf};
  const neo_lx *start[2];
  for (int k = 0; k < 2; k++)
    start[k] = x->p.o[k].begin = start_of(x, &x->p.o[k], stage);
  if (x->warpgroups)
    neo_btile_multiply_by_groups(x, in, buf, start);
  else
    neo_mma_multiply(&x->p, in, buf);
}

void neo_btile_sum_stages(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  const neo_lx *k;
  uint32_t at = neo_kernel_reg(l->k, (neo_reg){.name = "stage", .type = NEO_I64_T});
  first_blocks(x, in);
  neo_ls_reg(l->k, in, at);
  neo_ls_set(l->k, in, at, NULL, 0, lx_int(l, 0));
  const neo_lx *stage = neo_lx_reg(l->k, at, NULL, 0);
  const neo_lx *then = neo_gpu_neighbour(l, x->stages, stage, false);
  if (x->warpgroups)
    then = neo_gpu_neighbour(l, x->stages, then, false);
  neo_block *body = neo_lower_open(l, in, "k", lx_int(l, 0), x->steps, x->p.block_k, &k);
  neo_block *each = open_threads(x, body);
  if (!x->p.warps)
    neo_btile_declare_next(x, each, false);
  issue_copies(x, each, lx_add(l, k, lx_int(l, prefetch_distance(x) * x->p.block_k)), then);
  if (x->p.warps) {
    multiply_by_warps(x, body, stage);
    each = x->p.o[0].from.i && x->p.o[1].from.i ? NULL : open_threads(x, body);
  } else {
    neo_btile_multiply(x, each, k, stage);
  }
  if (each)
    put(x, each, then);
  advance(x, body);
  neo_ls_set(l->k, body, at, NULL, 0, neo_gpu_neighbour(l, x->stages, stage, true));
  neo_lower_close(l);
  if (prefetch_distance(x) > 1)
    neo_ls_copy_wait(l->k, in, 0);
  if (x->warpgroups)
    neo_ls_wgmma_wait(l->k, in, x->p.acc, 0);
}

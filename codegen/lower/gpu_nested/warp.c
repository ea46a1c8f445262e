/* Products of a nested kernel by warps (codegen/loop/warp.h), if all factors were rounded:
 *
 *   rows of inner sums <- memory                          if shared memory holds all their steps
 *   for j in 0..steps step BLOCK_K
 *     for each inner sum:
 *       for d in 0..its steps                             some at a time, or all
 *         for t in 0..threads thread: operands <- memory
 *         warp inner[i, j] += rows[i] * steps[j]          fragments of 16 by 8
 *     the stage around them: each thread has its elements of the fragments
 *         for t: acc[row, step] = reducer(acc[row, step], body(inner))    rows are reduced
 *         for t: block[row, step] = factors with inner sums; columns <- memory   a product
 *         warp acc[i, j] += block[i] * columns[j]
 *
 * Each product is a neo_products of its own, whose fragments are loaded and multiplied as those of
 * a contraction's tile.
 *
 * If a condition excludes some steps of a block for some of its rows, the excluded elements are
 * zero. Zero times an infinity is NaN. So such a block is summed by itself, and elements of it that
 * are not finite are computed again without the excluded steps. */
#include "codegen/lower/gpu_nested/nested.h"
#include <math.h>

/* ---- operands */

/* ---- inner sums */

void neo_ln_warp_sum(nested_kernel *x, neo_block *in, uint32_t k) {
  lowering *l = x->l;
  neo_products *w = &x->warp[k];
  const neo_stage *s = &l->f->stages.at[x->n.sum[k].stage];
  const neo_lx *from = lx_int(l, 0);
  int64_t n = neo_mma_fragments(&w->o[0]) * neo_mma_fragments(&w->o[1]);
  uint32_t buf[] = {w->o[0].buf, w->o[1].buf};
  w->acc = neo_gpu_thread_reg(l, in, "inner", NEO_F32_T, n, NEO_MMA_C, x->threads);
  x->inner[s->first_acc] = w->acc;
  neo_ln_clear(x, in, w->acc);
  neo_block *body = in;
  if (!x->whole[k]) {
    neo_lower_facts(l, l->f, s);
    const neo_lx *total = neo_gpu_points(l, s, neo_ln_steps_of(l, s));
    body = neo_lower_open(l, in, "d", lx_int(l, 0), total, x->depth[k], &from);
  }
  neo_block *copies = x->stages ? NULL : neo_ln_open_threads(x, body);
  if (!x->whole[k])
    neo_ln_copy_operand(x, copies, k, 0, from);
  if (copies)
    neo_ln_copy_operand(x, copies, k, 1, from);
  neo_mma_multiply(w, body, buf);
  if (!x->whole[k])
    neo_lower_close(l);
}

/* ---- the product */

uint32_t neo_ln_warp_acc(nested_kernel *x, neo_block *in) {
  neo_products *w = &x->warp[x->n.n_sums];
  int64_t n = neo_mma_fragments(&w->o[0]) * neo_mma_fragments(&w->o[1]);
  return neo_gpu_thread_reg(x->l, in, "acc", NEO_F32_T, n, NEO_MMA_C, x->threads);
}

static const neo_lx *element(lowering *l, const operand *o, const neo_lx *which,
                             const neo_lx *step) {
  const neo_lx *at = lx_mul(l, which, o->steps_inside ? o->pitch : 1);
  at = lx_add(l, at, lx_mul(l, step, o->steps_inside ? 1 : o->pitch));
  at = o->begin ? lx_add(l, o->begin, at) : at;
  return neo_lx_cast(l->k, NEO_F32_T, neo_lx_load(l->k, o->buf, at));
}

/* sum[at] = the sum of the products of the steps that the row needs */
static void once_more(nested_kernel *x, neo_block *in, uint32_t sum, const neo_lx *const *at,
                      const point p[2]) {
  lowering *l = x->l;
  const neo_products *w = &x->warp[x->n.n_sums];
  const neo_lx *step;
  neo_ls_set(l->k, in, sum, at, 2, neo_gpu_zero(l, NEO_F32_T));
  in = neo_lower_open(l, in, "s", lx_int(l, 0), lx_int(l, x->steps.block), 1, &step);
  const neo_lx *old = neo_lx_reg(l->k, sum, at, 2), *takes = neo_ln_takes(x, p[0].at, step);
  const neo_lx *y = neo_lx_fma(l->k, element(l, &w->o[0], p[0].at, step),
                               element(l, &w->o[1], p[1].at, step), old);
  neo_ls_set(l->k, in, sum, at, 2, neo_lx_op3(l->k, NEO_OP_SELECT, takes, y, old));
  neo_lower_close(l);
}

static void add_block(nested_kernel *x, neo_block *in, uint32_t acc, uint32_t sum) {
  lowering *l = x->l;
  const neo_lx *at[2], *thread[2];
  point p[2];
  uint32_t fragments = (uint32_t)neo_mma_fragments(&x->warp[x->n.n_sums].o[1]);
  in = neo_ln_open_threads(x, in);
  neo_ln_place_of(x, thread);
  in = neo_ln_open_dim(l, in, &x->rows, thread[0], &p[0]);
  in = neo_ln_open_dim(l, in, &x->columns, thread[1], &p[1]);
  neo_lower_in_fragments(l, fragments, p[0].number, p[1].number, at);
  const neo_lx *y = neo_lx_reg(l->k, sum, at, 2);
  const neo_lx *inf = neo_lx_const(l->k, NEO_F32_T, (neo_value){.f = (double)INFINITY});
  const neo_lx *finite = lx_lt(l, neo_lx_op1(l->k, NEO_OP_ABS, y), inf);
  once_more(x, &neo_ls_if(l->k, in, neo_lx_op1(l->k, NEO_OP_NOT, finite))->branch.then, sum, at, p);
  neo_ls_set(l->k, in, acc, at, 2, neo_lx_op2(l->k, NEO_OP_ADD, neo_lx_reg(l->k, acc, at, 2), y));
}

void neo_ln_warp_product(nested_kernel *x, neo_block *in, uint32_t acc, bool tested) {
  neo_products *w = &x->warp[x->n.n_sums];
  uint32_t buf[] = {w->o[0].buf, w->o[1].buf};
  w->acc = acc;
  if (tested) {
    w->acc = neo_ln_warp_acc(x, in);
    neo_ln_clear(x, in, w->acc);
  }
  neo_mma_multiply(w, in, buf);
  if (tested)
    add_block(x, in, acc, w->acc);
}

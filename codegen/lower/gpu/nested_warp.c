/* Products of a nest by warps (codegen/loop/warp.h), where all of them are of factors that were rounded:
 *
 *   rows of inner sums <- memory                          where shared memory holds all their steps
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
 * Fragments are read and multiplied as those of a contraction's tile are, which each product is for
 * that: a block_tile of its own.
 *
 * Where a condition takes some steps of a block for some of its rows, zero stands for those that a
 * row does not take. Zero times an infinity is NaN, so a block of such steps is summed by itself,
 * and what is not finite of it is made once more, without what is not taken. */
#include "codegen/lower/gpu/nested.h"
#include <assert.h>
#include <math.h>

/* ---- operands */

static void make_operand(nest *x, block_tile *w, int k, const side *of, bool along,
                         const char *name) {
  operand *o = &w->o[k];
  neo_type t = neo_warps_type(w->warps);
  o->side = k ? NEO_SIDE_COLUMNS : NEO_SIDE_ROWS;
  o->block = of->block;
  o->tile = of->of_warp;
  o->along_steps = along;
  o->elements = neo_btile_warp_operand(w, o, t);
  o->buf = neo_ln_shared_buffer(x->l, name, t, o->elements * (k && x->stages ? x->stages : 1));
}

static block_tile tile_of(nest *x, neo_warps kind, int64_t steps) {
  block_tile w = {.l = x->l, .threads = x->threads, .block_k = steps, .warps = kind};
  return w;
}

static uint64_t steps_of(const lowering *l, const neo_stage *s) {
  uint64_t all = (1ULL << s->axes.n) - 1, over = (1ULL << s->over) - 1;
  return (all & ~over) << l->f->axes.n;
}

static copied operand_of(const neo_stage *s, const neo_nested_factors *factors, const side *points,
                         uint64_t steps) {
  return (copied){.s = s, .factors = factors, .points = points, .steps = steps};
}

copied neo_ln_inner_operand(nest *x, uint32_t which, int k, const neo_lx *from) {
  lowering *l = x->l;
  const neo_nested_sum *sum = &x->n.sum[which];
  const neo_stage *s = &l->f->stages.at[sum->stage];
  const operand *to = &x->warp[which].o[k];
  copied o = operand_of(s, k ? &sum->steps : &sum->rows, k ? &x->steps : &x->rows, steps_of(l, s));
  o.from = from;
  o.depth = x->depth[which];
  o.buf = to->buf;
  o.per_point = to->steps_inside ? to->pitch : 1;
  o.per_step = to->steps_inside ? 1 : to->pitch;
  return o;
}

copied neo_ln_columns(nest *x, const neo_lx *from) {
  lowering *l = x->l;
  const neo_stage *s = &l->f->stages.at[x->n.host];
  const operand *to = &x->warp[x->n.n_sums].o[1];
  copied o = operand_of(s, &x->n.of_columns, &x->columns, steps_of(l, s));
  o.from = from;
  o.total = x->steps.total;
  o.depth = x->steps.block;
  o.buf = to->buf;
  o.per_point = to->steps_inside ? to->pitch : 1;
  o.per_step = to->steps_inside ? 1 : to->pitch;
  return o;
}

static void make_sum(nest *x, uint32_t k) {
  lowering *l = x->l;
  const neo_nested_sum *sum = &x->n.sum[k];
  const neo_stage *s = &l->f->stages.at[sum->stage];
  x->depth[k] = neo_nested_depth(l->m, l->f, sum, x->kinds.sum[k], &x->whole[k]);
  block_tile w = tile_of(x, x->kinds.sum[k], x->depth[k]);
  x->steps.axes = ((1ULL << s->over) - 1) << l->f->axes.n;
  for (int i = 0; i < 2; i++) {
    copied o =
        operand_of(s, i ? &sum->steps : &sum->rows, i ? &x->steps : &x->rows, steps_of(l, s));
    make_operand(x, &w, i, o.points, neo_ln_along_steps(x, &o), i ? "b" : "a");
  }
  x->warp[k] = w;
}

static void make_product(nest *x) {
  lowering *l = x->l;
  const neo_stage *s = &l->f->stages.at[x->n.host];
  block_tile w = tile_of(x, x->kinds.product, x->steps.block);
  copied o = operand_of(s, &x->n.of_columns, &x->columns, steps_of(l, s));
  make_operand(x, &w, 0, &x->rows, true, "block");
  make_operand(x, &w, 1, &x->columns, neo_ln_along_steps(x, &o), "columns");
  x->warp[x->n.n_sums] = w;
}

void neo_ln_make_warps(nest *x) {
  for (uint32_t k = 0; k < x->n.n_sums; k++)
    make_sum(x, k);
  if (x->n.columns)
    make_product(x);
  if (x->stages)
    neo_ln_plan_stages(x);
}

/* What all fragments are read with. */
void neo_ln_begin_warps(nest *x, neo_block *in) {
  uint32_t n = x->n.n_sums + (x->n.columns != 0);
  for (uint32_t k = 0; k < n; k++)
    neo_btile_declare_fragments(&x->warp[k], in);
  in = neo_ln_open_threads(x, in);
  for (uint32_t k = 0; k < n; k++) {
    x->warp[k].thread = x->thread;
    neo_btile_set_rows(&x->warp[k], in);
  }
}

/* ---- inner sums */

static void copy_operand(nest *x, neo_block *in, uint32_t which, int k, const neo_lx *from) {
  lowering *l = x->l;
  copied o = neo_ln_inner_operand(x, which, k, from);
  neo_lower_facts(l, l->f, o.s);
  o.total = neo_ln_points(l, o.s, o.steps);
  neo_ln_copy(x, in, &o);
}

void neo_ln_copy_rows(nest *x, neo_block *in, const neo_stage *host) {
  lowering *l = x->l;
  for (uint32_t k = 0; k < x->n.n_sums; k++)
    if (x->whole[k] && neo_lower_uses_stage(l, host, &l->f->stages.at[x->n.sum[k].stage]))
      copy_operand(x, neo_ln_open_threads(x, in), k, 0, lx_int(l, 0));
  neo_lower_facts(l, l->f, host);
}

void neo_ln_warp_sum(nest *x, neo_block *in, uint32_t k) {
  lowering *l = x->l;
  block_tile *w = &x->warp[k];
  const neo_stage *s = &l->f->stages.at[x->n.sum[k].stage];
  const neo_lx *from = lx_int(l, 0);
  int64_t n = neo_btile_fragments(&w->o[0]) * neo_btile_fragments(&w->o[1]);
  uint32_t buf[] = {w->o[0].buf, w->o[1].buf};
  w->acc = neo_btile_declare(w, in, "inner", n, NEO_MMA_C, NEO_F32_T);
  x->inner[s->first_acc] = w->acc;
  neo_ln_clear(x, in, w->acc);
  neo_block *body = in;
  if (!x->whole[k]) {
    neo_lower_facts(l, l->f, s);
    const neo_lx *total = neo_ln_points(l, s, steps_of(l, s));
    body = neo_lower_open(l, in, "d", lx_int(l, 0), total, x->depth[k], &from);
  }
  neo_block *copies = x->stages ? NULL : neo_ln_open_threads(x, body);
  if (!x->whole[k])
    copy_operand(x, copies, k, 0, from);
  if (copies)
    copy_operand(x, copies, k, 1, from);
  neo_btile_add_products(w, body, buf);
  if (!x->whole[k])
    neo_lower_close(l);
}

/* ---- the product */

uint32_t neo_ln_warp_acc(nest *x, neo_block *in) {
  block_tile *w = &x->warp[x->n.n_sums];
  int64_t n = neo_btile_fragments(&w->o[0]) * neo_btile_fragments(&w->o[1]);
  return neo_btile_declare(w, in, "acc", n, NEO_MMA_C, NEO_F32_T);
}

static const neo_lx *element(lowering *l, const operand *o, const neo_lx *which,
                             const neo_lx *step) {
  const neo_lx *at = lx_mul(l, which, o->steps_inside ? o->pitch : 1);
  at = lx_add(l, at, lx_mul(l, step, o->steps_inside ? 1 : o->pitch));
  at = o->begin ? lx_add(l, o->begin, at) : at;
  return neo_lx_cast(l->k, NEO_F32_T, neo_lx_load(l->k, o->buf, at));
}

/* sum[at] = the products of the steps that the row takes */
static void once_more(nest *x, neo_block *in, uint32_t sum, const neo_lx *const *at,
                      const point p[2]) {
  lowering *l = x->l;
  const block_tile *w = &x->warp[x->n.n_sums];
  const neo_lx *step;
  neo_ls_set(l->k, in, sum, at, 2, neo_btile_zero(l, NEO_F32_T));
  in = neo_lower_open(l, in, "s", lx_int(l, 0), lx_int(l, x->steps.block), 1, &step);
  const neo_lx *old = neo_lx_reg(l->k, sum, at, 2), *takes = neo_ln_takes(x, &p[0], step);
  const neo_lx *y = neo_lx_fma(l->k, element(l, &w->o[0], p[0].at, step),
                               element(l, &w->o[1], p[1].at, step), old);
  neo_ls_set(l->k, in, sum, at, 2, neo_lx_op3(l->k, NEO_OP_SELECT, takes, y, old));
  neo_lower_close(l);
}

static void add_block(nest *x, neo_block *in, uint32_t acc, uint32_t sum) {
  lowering *l = x->l;
  const neo_lx *at[2], *thread[2];
  point p[2];
  uint32_t fragments = (uint32_t)neo_btile_fragments(&x->warp[x->n.n_sums].o[1]);
  in = neo_ln_open_threads(x, in);
  neo_ln_place_of(x, thread);
  in = neo_ln_open_side(l, in, &x->rows, thread[0], &p[0]);
  in = neo_ln_open_side(l, in, &x->columns, thread[1], &p[1]);
  neo_lower_in_fragments(l, fragments, p[0].number, p[1].number, at);
  const neo_lx *y = neo_lx_reg(l->k, sum, at, 2);
  const neo_lx *inf = neo_lx_const(l->k, NEO_F32_T, (neo_value){.f = (double)INFINITY});
  const neo_lx *finite = lx_lt(l, neo_lx_op1(l->k, NEO_OP_ABS, y), inf);
  once_more(x, &neo_ls_if(l->k, in, neo_lx_op1(l->k, NEO_OP_NOT, finite))->branch.then, sum, at, p);
  neo_ls_set(l->k, in, acc, at, 2, neo_lx_op2(l->k, NEO_OP_ADD, neo_lx_reg(l->k, acc, at, 2), y));
}

void neo_ln_warp_product(nest *x, neo_block *in, uint32_t acc, bool tested) {
  block_tile *w = &x->warp[x->n.n_sums];
  uint32_t buf[] = {w->o[0].buf, w->o[1].buf};
  w->acc = acc;
  if (tested) {
    w->acc = neo_ln_warp_acc(x, in);
    neo_ln_clear(x, in, w->acc);
  }
  neo_btile_add_products(w, in, buf);
  if (tested)
    add_block(x, in, acc, w->acc);
}

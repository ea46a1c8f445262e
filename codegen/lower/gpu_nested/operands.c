/* Layouts in shared memory of operands of warps' products (lower/gpu_nested/warp.c). */
#include "codegen/lower/gpu_nested/nested.h"

static void make_operand(nested_kernel *x, neo_products *w, int k, const tile_dim *of, bool along,
                         const char *name) {
  operand *o = &w->o[k];
  neo_type t = neo_warps_type(w->warps);
  o->side = k ? NEO_SIDE_COLUMNS : NEO_SIDE_ROWS;
  o->block = of->block;
  o->tile = of->of_warp;
  o->along_steps = along;
  o->elements = neo_mma_operand(w, o, t);
  o->buf = neo_gpu_shared_buffer(x->l, name, t, o->elements * (k && x->stages ? x->stages : 1),
                                 NEO_GPU_ALIGN_BYTES);
}

static neo_products tile_of(nested_kernel *x, neo_warps kind, int64_t steps) {
  neo_products w = {.l = x->l, .threads = x->threads, .block_k = steps, .warps = kind};
  return w;
}

uint64_t neo_ln_steps_of(const lowering *l, const neo_stage *s) {
  uint64_t all = (1ULL << s->axes.n) - 1, over = (1ULL << s->over) - 1;
  return (all & ~over) << l->f->axes.n;
}

static copied operand_of(const neo_stage *s, const neo_nested_factors *factors,
                         const tile_dim *points, uint64_t steps) {
  return (copied){.s = s, .factors = factors, .points = points, .steps = steps};
}

copied neo_ln_inner_operand(nested_kernel *x, uint32_t which, int k, const neo_lx *from) {
  lowering *l = x->l;
  const neo_nested_sum *sum = &x->n.sum[which];
  const neo_stage *s = &l->f->stages.at[sum->stage];
  const operand *to = &x->warp[which].o[k];
  copied o =
      operand_of(s, k ? &sum->steps : &sum->rows, k ? &x->steps : &x->rows, neo_ln_steps_of(l, s));
  o.from = from;
  o.depth = x->depth[which];
  o.buf = to->buf;
  o.per_point = to->steps_inside ? to->pitch : 1;
  o.per_step = to->steps_inside ? 1 : to->pitch;
  return o;
}

copied neo_ln_columns(nested_kernel *x, const neo_lx *from) {
  lowering *l = x->l;
  const neo_stage *s = &l->f->stages.at[x->n.host];
  const operand *to = &x->warp[x->n.n_sums].o[1];
  copied o = operand_of(s, &x->n.of_columns, &x->columns, neo_ln_steps_of(l, s));
  o.from = from;
  o.total = x->steps.total;
  o.depth = x->steps.block;
  o.buf = to->buf;
  o.per_point = to->steps_inside ? to->pitch : 1;
  o.per_step = to->steps_inside ? 1 : to->pitch;
  return o;
}

static void make_sum(nested_kernel *x, uint32_t k) {
  lowering *l = x->l;
  const neo_nested_sum *sum = &x->n.sum[k];
  const neo_stage *s = &l->f->stages.at[sum->stage];
  x->depth[k] = neo_nested_depth(l->m, l->f, sum, x->kinds.sum[k], &x->whole[k]);
  neo_products w = tile_of(x, x->kinds.sum[k], x->depth[k]);
  x->steps.axes = ((1ULL << s->over) - 1) << l->f->axes.n;
  for (int i = 0; i < 2; i++) {
    copied o = operand_of(s, i ? &sum->steps : &sum->rows, i ? &x->steps : &x->rows,
                          neo_ln_steps_of(l, s));
    make_operand(x, &w, i, o.points, neo_ln_along_steps(x, &o), i ? "b" : "a");
  }
  x->warp[k] = w;
}

static void make_product(nested_kernel *x) {
  lowering *l = x->l;
  const neo_stage *s = &l->f->stages.at[x->n.host];
  neo_products w = tile_of(x, x->kinds.product, x->steps.block);
  copied o = operand_of(s, &x->n.of_columns, &x->columns, neo_ln_steps_of(l, s));
  make_operand(x, &w, 0, &x->rows, true, "block");
  make_operand(x, &w, 1, &x->columns, neo_ln_along_steps(x, &o), "columns");
  x->warp[x->n.n_sums] = w;
}

void neo_ln_make_warps(nested_kernel *x) {
  for (uint32_t k = 0; k < x->n.n_sums; k++)
    make_sum(x, k);
  if (x->n.columns)
    make_product(x);
}

void neo_ln_copy_operand(nested_kernel *x, neo_block *in, uint32_t which, int k,
                         const neo_lx *from) {
  lowering *l = x->l;
  copied o = neo_ln_inner_operand(x, which, k, from);
  neo_lower_facts(l, l->f, o.s);
  o.total = neo_gpu_points(l, o.s, o.steps);
  neo_ln_copy(x, in, &o);
}

void neo_ln_copy_rows(nested_kernel *x, neo_block *in, const neo_stage *host) {
  lowering *l = x->l;
  for (uint32_t k = 0; k < x->n.n_sums; k++)
    if (x->whole[k] && neo_lower_uses_stage(l, host, &l->f->stages.at[x->n.sum[k].stage]))
      neo_ln_copy_operand(x, neo_ln_open_threads(x, in), k, 0, lx_int(l, 0));
  neo_lower_facts(l, l->f, host);
}

/* The loop over blocks of a stage's steps, and the inner sums at each. */
#include "codegen/lower/gpu_nested/nested.h"

static void inner_sum(nested_kernel *x, neo_block *in, uint32_t k) {
  lowering *l = x->l;
  const neo_nested_sum *sum = &x->n.sum[k];
  const neo_stage *s = &l->f->stages.at[sum->stage];
  uint64_t own = neo_ln_own_axes(l, s->over, (uint32_t)s->axes.n);
  uint32_t reg =
      neo_gpu_thread_reg(x->l, in, "inner", type_of(s), x->rows.tile, x->steps.tile, x->threads);
  x->inner[s->first_acc] = reg;
  neo_lower_facts(l, l->f, s);
  const neo_lx *total = neo_gpu_points(l, s, own), *from;
  neo_ln_clear(x, in, reg);
  neo_block *body = neo_lower_open(l, in, "d", lx_int(l, 0), total, NEO_NESTED_STEPS, &from);
  neo_block *copies = neo_ln_open_threads(x, body);
  copied o = {s,     &sum->rows,       &x->rows, own, from,
              total, NEO_NESTED_STEPS, x->a,     1,   neo_ln_pitch(&x->rows),
              NULL};
  neo_ln_copy(x, copies, &o);
  o.factors = &sum->steps;
  o.points = &x->steps;
  o.buf = x->b;
  o.per_step = neo_ln_pitch(&x->steps);
  neo_ln_copy(x, copies, &o);
  nested_product p = {&x->rows, &x->steps, x->a, x->b, reg, false};
  neo_ln_multiply(x, neo_ln_open_threads(x, body), &p, NEO_NESTED_STEPS);
  neo_lower_close(l);
}

/* Computes the inner sums that the stage around them uses, for a block of its steps. */
void neo_ln_inner_sums(nested_kernel *x, neo_block *in, const neo_stage *host) {
  for (uint32_t k = 0; k < x->n.n_sums; k++)
    if (neo_lower_uses_stage(x->l, host, &x->l->f->stages.at[x->n.sum[k].stage]))
      (x->kinds.on ? neo_ln_warp_sum : inner_sum)(x, in, k);
}

/* Opens loops over a thread's rows and steps, with axes and inner sums there. *cond: the row and
 * the step exist, and the stage's condition holds. */
neo_block *neo_ln_open_points(nested_kernel *x, neo_block *in, const neo_stage *host,
                              const tile_dim *rows, const tile_dim *steps, point p[2],
                              const neo_lx **cond) {
  lowering *l = x->l;
  const neo_lx *place[2];
  neo_ln_place_of(x, place);
  neo_lower_facts(l, l->f, host);
  in = neo_ln_open_dim(l, in, steps, place[1], &p[1]);
  in = neo_ln_open_dim(l, in, rows, place[0], &p[0]);
  const neo_lx *row = lx_add(l, rows->lo, p[0].at), *step = lx_add(l, steps->lo, p[1].at);
  neo_ln_set_axes(l, host, rows->axes, row);
  neo_ln_set_axes(l, host, steps->axes, step);
  l->row = p[0].number;
  l->col = p[1].number;
  for (uint32_t k = 0; k < x->n.n_sums; k++) {
    uint32_t acc = l->f->stages.at[x->n.sum[k].stage].first_acc;
    uint32_t fragments = x->kinds.on ? (uint32_t)neo_mma_fragments(&x->warp[k].o[1]) : 0;
    l->acc[acc] = (acc_reg){x->inner[acc], 2, true, true, fragments, 0};
  }
  *cond = lx_and(l, lx_lt(l, row, rows->total), lx_lt(l, step, steps->total));
  neo_gpu_begin_guard(l, *cond, true);
  if (host->where.i) {
    *cond = lx_and(l, *cond, neo_lower_expr(l, host->where));
    neo_gpu_begin_guard(l, *cond, false);
  }
  return in;
}

void neo_ln_end_points(nested_kernel *x) {
  x->l->row = x->l->col = NULL;
  neo_gpu_end_guard(x->l);
}

neo_block *neo_ln_open_steps(nested_kernel *x, neo_block *in, const neo_stage *host) {
  lowering *l = x->l;
  if (x->stages)
    return neo_ln_open_stages(x, in, host);
  if (x->kinds.on)
    neo_ln_copy_rows(x, in, host);
  return neo_lower_open(l, in, "j", x->some.from, x->some.to, x->steps.block, &x->steps.lo);
}

void neo_ln_close_steps(nested_kernel *x) {
  if (x->stages)
    neo_ln_close_stages(x);
  else
    neo_lower_close(x->l);
}

void neo_ln_set_steps(nested_kernel *x, const neo_stage *host) {
  lowering *l = x->l;
  neo_lower_facts(l, l->f, host);
  x->steps.axes = neo_ln_own_axes(l, 0, (uint32_t)host->axes.n);
  x->steps.total = neo_gpu_points(l, host, x->steps.axes);
  neo_ln_set_ranges(x, host);
}

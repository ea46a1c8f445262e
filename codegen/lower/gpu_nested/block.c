/* Building parts of a nested kernel: axes, a thread's points, guards, registers, shared memory. */
#include "codegen/lower/gpu_nested/nested.h"

enum { WARP = 32 };

static const neo_lx *mod(lowering *l, const neo_lx *a, int64_t n) {
  return neo_lx_op2(l->k, NEO_OP_MOD, a, lx_int(l, n));
}

neo_block *neo_ln_open_threads(nested_kernel *x, neo_block *in) {
  return open_loop(x->l, in, NEO_LOOP_THREAD, "t", x->threads, &x->thread);
}

int64_t neo_ln_pitch(const tile_dim *s) {
  return s->block + NEO_THREADS_PAD;
}

void neo_ln_set_lanes(lowering *l, const neo_stage *s, uint64_t axes, const neo_lx *at,
                      const neo_lx *lane) {
  for (uint32_t k = (uint32_t)(l->f->axes.n + s->axes.n); k-- > 0;) {
    if (!(axes >> k & 1))
      continue;
    bool first = !(axes & ((1ULL << k) - 1));
    const neo_lx *n = lx_max(l, neo_gpu_extent(l, s, k), lx_int(l, 1));
    axis_value v = {.n = 0};
    neo_lower_push_part(&v, first ? at : neo_lx_op2(l->k, NEO_OP_MOD, at, n), 1, l->depth);
    neo_lower_push_part(&v, lane, 1, DEPTH_LANE);
    neo_lower_set_parts(l, k, v);
    at = first ? at : neo_lx_op2(l->k, NEO_OP_DIV, at, n);
    lane = NULL;
  }
}

/* Sets the axes to point `at` of them, the last one fastest. */
void neo_ln_set_axes(lowering *l, const neo_stage *s, uint64_t axes, const neo_lx *at) {
  neo_ln_set_lanes(l, s, axes, at, NULL);
}

void neo_ln_place_of(const nested_kernel *x, const neo_lx *out[2]) {
  if (x->kinds.on)
    out[0] = out[1] = x->thread;
  else
    neo_gpu_place_of(x->l, x->thread, x->rows.threads, x->steps.threads, out);
}

/* In fragments (codegen/loop/warp.h) a thread has rows of stride 8, and pairs of columns of stride
 * 8. */
static const neo_lx *fragment_at(lowering *l, const tile_dim *s, const neo_lx *thread,
                                 const neo_lx *group) {
  const neo_lx *warp = lx_div(l, thread, WARP), *lane = mod(l, thread, WARP);
  warp = s->down ? lx_div(l, warp, s->warps) : mod(l, warp, s->warps);
  lane = s->down ? lx_div(l, lane, 4) : lx_mul(l, mod(l, lane, 4), 2);
  return lx_add(l, lx_add(l, lx_mul(l, warp, s->of_warp), lane), lx_mul(l, group, 8));
}

const neo_lx *neo_ln_part(const nested_kernel *x) {
  lowering *l = x->l;
  const neo_lx *place[2];
  neo_ln_place_of(x, place);
  if (!x->kinds.on)
    return place[1];
  const neo_lx *warp = mod(l, lx_div(l, x->thread, WARP), x->steps.warps);
  return lx_add(l, lx_mul(l, warp, 4), mod(l, x->thread, 4));
}

neo_gpu_tile_dim neo_ln_dim_of(const tile_dim *s) {
  return (neo_gpu_tile_dim){s->tile, s->vector, s->threads};
}

neo_block *neo_ln_open_dim(lowering *l, neo_block *in, const tile_dim *s, const neo_lx *place,
                           point *p) {
  neo_gpu_point at;
  in = neo_gpu_open_dim(l, in, neo_ln_dim_of(s), &at);
  const neo_lx *first = s->of_warp ? fragment_at(l, s, place, at.group)
                                   : neo_gpu_group_at(l, neo_ln_dim_of(s), place, at.group);
  *p = (point){at.number, lx_add(l, first, at.element)};
  return in;
}

bool neo_ln_along_steps(const nested_kernel *x, const copied *o) {
  return neo_nested_along_steps(x->l->m, x->l->f, o->factors, o->points->axes, o->steps);
}

const neo_lx *neo_ln_product_of(lowering *l, const neo_nested_factors *f) {
  const neo_lx *y = NULL;
  for (uint32_t k = 0; k < f->n; k++) {
    const neo_lx *e = neo_lower_expr(l, f->at[k]);
    y = y ? neo_lx_op2(l->k, NEO_OP_MUL, y, e) : e;
  }
  return y;
}

void neo_ln_clear(nested_kernel *x, neo_block *in, uint32_t reg) {
  neo_gpu_clear(x->l, neo_ln_open_threads(x, in), reg, "i", "j");
}

const neo_lx *neo_ln_takes(nested_kernel *x, const neo_lx *row, const neo_lx *step) {
  lowering *l = x->l;
  const neo_stage *s = &l->f->stages.at[x->n.host];
  const neo_lx *at = lx_add(l, x->rows.lo, row);
  step = lx_add(l, x->steps.lo, step);
  neo_ln_set_axes(l, s, x->rows.axes, at);
  neo_ln_set_axes(l, s, x->steps.axes, step);
  const neo_lx *exists = lx_and(l, lx_lt(l, at, x->rows.total), lx_lt(l, step, x->steps.total));
  neo_gpu_begin_guard(l, exists, true);
  const neo_lx *y = lx_and(l, exists, neo_lower_expr(l, s->where));
  neo_gpu_end_guard(l);
  return y;
}

/* What the files of a nested kernel begin with: axes, a thread's points, guards, registers, shared
 * memory. */
#include "codegen/lower/gpu_nested/nested.h"

enum { WARP = 32, WARP_ROWS = 4, WARP_COLUMNS = 8 };

static const neo_lx *mod(lowering *l, const neo_lx *a, int64_t n) {
  return neo_lx_op2(l->k, NEO_OP_MOD, a, lx_int(l, n));
}

neo_block *neo_ln_open_threads(nest *x, neo_block *in) {
  return open_loop(x->l, in, NEO_LOOP_THREAD, "t", x->threads, &x->thread);
}

static const neo_lx *zero_of(lowering *l, neo_type t) {
  (void)t;
  return neo_lx_const(l->k, t, (neo_value){.f = 0});
}

uint32_t neo_ln_shared_buffer(lowering *l, const char *name, neo_type t, int64_t elems) {
  neo_kbuf b = {.name = name, .type = (uint8_t)t, .use = NEO_BUF_SCRATCH, .scratch_elems = elems};
  b.no_alias = true;
  b.align = 64;
  return neo_kernel_buf(l->k, b);
}

uint32_t neo_ln_thread_reg(nest *x, neo_block *in, const char *name, neo_type t, int64_t rows,
                           int64_t columns) {
  neo_reg r = {.name = name, .type = (uint8_t)t, .rank = 2, .threads = x->threads};
  r.extent[0] = rows;
  r.extent[1] = columns;
  uint32_t reg = neo_kernel_reg(x->l->k, r);
  neo_ls_reg(x->l->k, in, reg);
  return reg;
}

int64_t neo_ln_pitch(const side *s) {
  return s->block + NEO_THREADS_PAD;
}

/* The extent of an axis of a stage, own axes after shared ones. */
static const neo_lx *extent_of(lowering *l, const neo_stage *s, uint32_t k) {
  uint32_t n = (uint32_t)l->f->axes.n;
  if (k < n)
    return neo_lower_extent(l, k);
  return lx_max(l, neo_lower_expr(l, s->axes.at[k - n].hi), lx_int(l, 0));
}

const neo_lx *neo_ln_points(lowering *l, const neo_stage *s, uint64_t axes) {
  const neo_lx *n = lx_int(l, 1);
  for (uint32_t k = 0; k < l->f->axes.n + s->axes.n; k++)
    if (axes >> k & 1)
      n = neo_lx_op2(l->k, NEO_OP_MUL, n, extent_of(l, s, k));
  return n;
}

void neo_ln_set_lanes(lowering *l, const neo_stage *s, uint64_t axes, const neo_lx *at,
                      const neo_lx *lane) {
  for (uint32_t k = (uint32_t)(l->f->axes.n + s->axes.n); k-- > 0;) {
    if (!(axes >> k & 1))
      continue;
    bool first = !(axes & ((1ULL << k) - 1));
    const neo_lx *n = lx_max(l, extent_of(l, s, k), lx_int(l, 1));
    axis_value v = {.n = 0};
    neo_lower_push_part(&v, first ? at : neo_lx_op2(l->k, NEO_OP_MOD, at, n), 1, l->depth);
    neo_lower_push_part(&v, lane, 1, DEPTH_LANE);
    neo_lower_set_parts(l, k, v);
    at = first ? at : neo_lx_op2(l->k, NEO_OP_DIV, at, n);
    lane = NULL;
  }
}

/* Axes at point `at` of them, the last one fastest. */
void neo_ln_set_axes(lowering *l, const neo_stage *s, uint64_t axes, const neo_lx *at) {
  neo_ln_set_lanes(l, s, axes, at, NULL);
}

uint64_t neo_ln_own_axes(const lowering *l, uint32_t from, uint32_t to) {
  return ((1ULL << to) - (1ULL << from)) << l->f->axes.n;
}

void neo_ln_place_of(const nest *x, const neo_lx *out[2]) {
  lowering *l = x->l;
  if (x->kinds.on) {
    out[0] = out[1] = x->thread;
    return;
  }
  int64_t tall = x->rows.threads, wide = x->steps.threads;
  if (tall % WARP_ROWS || wide % WARP_COLUMNS) {
    out[0] = lx_div(l, x->thread, wide);
    out[1] = mod(l, x->thread, wide);
    return;
  }
  int64_t warps = wide / WARP_COLUMNS;
  const neo_lx *warp = lx_div(l, x->thread, WARP), *lane = mod(l, x->thread, WARP);
  out[0] = lx_add(l, lx_mul(l, lx_div(l, warp, warps), WARP_ROWS), lx_div(l, lane, WARP_COLUMNS));
  out[1] = lx_add(l, lx_mul(l, mod(l, warp, warps), WARP_COLUMNS), mod(l, lane, WARP_COLUMNS));
}

/* Of fragments (codegen/loop/warp.h) a thread has rows 8 apart, and pairs of columns 8 apart. */
static const neo_lx *fragment_at(lowering *l, const side *s, const neo_lx *thread,
                                 const neo_lx *group) {
  const neo_lx *warp = lx_div(l, thread, WARP), *lane = mod(l, thread, WARP);
  warp = s->down ? lx_div(l, warp, s->warps) : mod(l, warp, s->warps);
  lane = s->down ? lx_div(l, lane, 4) : lx_mul(l, mod(l, lane, 4), 2);
  return lx_add(l, lx_add(l, lx_mul(l, warp, s->of_warp), lane), lx_mul(l, group, 8));
}

const neo_lx *neo_ln_part(const nest *x) {
  lowering *l = x->l;
  const neo_lx *place[2];
  neo_ln_place_of(x, place);
  if (!x->kinds.on)
    return place[1];
  const neo_lx *warp = mod(l, lx_div(l, x->thread, WARP), x->steps.warps);
  return lx_add(l, lx_mul(l, warp, 4), mod(l, x->thread, 4));
}

/* The first point of a group, counted from the block's first. */
const neo_lx *neo_ln_group_at(lowering *l, const side *s, const neo_lx *place,
                              const neo_lx *group) {
  if (s->of_warp)
    return fragment_at(l, s, place, group);
  return lx_add(l, lx_mul(l, place, s->vector), lx_mul(l, group, s->threads * s->vector));
}

neo_block *neo_ln_open_side(lowering *l, neo_block *in, const side *s, const neo_lx *place,
                            point *p) {
  in = open_loop(l, in, NEO_LOOP_UNROLL, "g", s->tile / s->vector, &p->group);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "e", s->vector, &p->element);
  p->number = lx_add(l, lx_mul(l, p->group, s->vector), p->element);
  p->at = lx_add(l, neo_ln_group_at(l, s, place, p->group), p->element);
  return in;
}

bool neo_ln_along_steps(const nest *x, const copied *o) {
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

void neo_ln_begin_guard(lowering *l, const neo_lx *guard, bool bounded) {
  l->guard = guard;
  l->exact = true;
  l->bounded = bounded;
  neo_lower_forget(l);
}

void neo_ln_end_guard(lowering *l) {
  l->guard = NULL;
  l->exact = l->bounded = false;
  neo_lower_forget(l);
}

void neo_ln_clear(nest *x, neo_block *in, uint32_t reg) {
  lowering *l = x->l;
  const neo_reg *r = &l->k->regs.at[reg];
  neo_type t = (neo_type)r->type;
  const neo_lx *at[2];
  int64_t rows = r->extent[0], columns = r->extent[1];
  in = neo_ln_open_threads(x, in);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "i", rows, &at[0]);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "j", columns, &at[1]);
  neo_ls_set(l->k, in, reg, at, 2, zero_of(l, t));
}

const neo_lx *neo_ln_takes(nest *x, const point *row, const neo_lx *step) {
  lowering *l = x->l;
  const neo_stage *s = &l->f->stages.at[x->n.host];
  const neo_lx *at = lx_add(l, x->rows.lo, row->at);
  step = lx_add(l, x->steps.lo, step);
  neo_ln_set_axes(l, s, x->rows.axes, at);
  neo_ln_set_axes(l, s, x->steps.axes, step);
  const neo_lx *exists = lx_and(l, lx_lt(l, at, x->rows.total), lx_lt(l, step, x->steps.total));
  neo_ln_begin_guard(l, exists, true);
  const neo_lx *y = lx_and(l, exists, neo_lower_expr(l, s->where));
  neo_ln_end_guard(l);
  return y;
}

bool neo_ln_safe_alone(nest *x, const neo_nested_factors *f) {
  bool safe = true;
  for (uint32_t k = 0; k < f->n; k++)
    safe = safe && neo_lower_safe_under(x->l, f->at[k], (neo_expr){0});
  return safe;
}

/* Copies of operands into shared memory by a block of threads (lower/gpu_tile/tile.c): the elements
 * of each thread, and their places. A copy has 16 bytes if the operand allows it
 * (schedule/vector_access.h). */
#include "codegen/lower/gpu_tile/tile.h"
#include "schedule/vector_access.h"

/* ---- axes */

/* Sets an axis to a value, and lanes along it from there on (null: none). */
static void set_axis(lowering *l, uint32_t axis, const neo_lx *at, const neo_lx *lane) {
  axis_value v = {.n = 0};
  neo_lower_push_part(&v, at, 1, l->depth);
  neo_lower_push_part(&v, lane, 1, DEPTH_LANE);
  neo_lower_set_parts(l, axis, v);
}

void neo_btile_set_shared(lowering *l, uint64_t axes, uint32_t fast, const neo_lx *at,
                          const neo_lx *lane) {
  for (uint64_t left = axes; left; lane = NULL) {
    uint32_t k = left >> fast & 1 ? fast : 63 - (uint32_t)__builtin_clzll(left);
    const neo_lx *n = neo_lower_extent(l, k);
    left &= ~(1ULL << k);
    set_axis(l, k, left ? lx_mod(l, at, n) : at, lane);
    at = left ? neo_lx_op2(l->k, NEO_OP_DIV, at, n) : at;
  }
}

/* Sets the axis to `from`, which varies from block to block, plus the thread's step in the
 * block. */
static void set_own_axis(block_tile *x, uint32_t k, const neo_lx *from, const neo_lx *step,
                         const neo_lx *lane) {
  lowering *l = x->p.l;
  axis_value v = {.n = 0};
  neo_lower_push_part(&v, lx_add(l, x->least[k], step), 1, l->depth);
  neo_lower_push_part(&v, from, 1, l->depth + 1);
  neo_lower_push_part(&v, lane, 1, DEPTH_LANE);
  neo_lower_set_parts(l, (uint32_t)l->f->axes.n + k, v);
}

void neo_btile_set_own(block_tile *x, const neo_lx *from, const neo_lx *step, const neo_lx *lane) {
  lowering *l = x->p.l;
  const neo_lx *zero = lx_int(l, 0);
  int64_t block = x->p.block_k, length;
  for (uint32_t k = (uint32_t)x->s->axes.n; k-- > 0; lane = NULL) {
    /* at least 1, so that a sum without steps has a valid length */
    const neo_lx *n = lx_max(l, x->length[k], lx_int(l, 1));
    bool known = neo_lx_is_int(n, &length);
    if (!k) {
      set_own_axis(x, k, from, step, lane);
    } else if (known && length % block == 0) { /* a block is within the axis */
      set_own_axis(x, k, lx_mod(l, from, n), step, lane);
      from = neo_lx_op2(l->k, NEO_OP_DIV, from, n);
      step = zero;
      block = 1;
    } else if (known && block % length == 0) { /* the axis is within a block */
      set_own_axis(x, k, zero, lx_mod(l, step, n), lane);
      from = neo_lx_op2(l->k, NEO_OP_DIV, from, n);
      step = neo_lx_op2(l->k, NEO_OP_DIV, step, n);
      block /= length;
    } else {
      from = lx_add(l, from, step);
      set_own_axis(x, k, zero, lx_mod(l, from, n), lane);
      from = neo_lx_op2(l->k, NEO_OP_DIV, from, n);
      step = zero;
      block = 1;
    }
  }
}

/* Does step `step` of the block from `from` on exist? If the number of steps is a multiple of the
 * block, all steps of a block exist; null: always. */
static const neo_lx *step_exists(block_tile *x, const neo_lx *from, const neo_lx *step) {
  lowering *l = x->p.l;
  int64_t n;
  bool whole = neo_lx_is_int(x->steps, &n) && n % x->p.block_k == 0;
  return neo_lx_op2(l->k, NEO_OP_LT, whole ? from : lx_add(l, from, step), x->steps);
}

/* ---- operands */

/* Factors that use rows belong to the operand of rows; all others to that of columns. */
bool neo_btile_has_factor(const block_tile *x, const operand *o, uint32_t k) {
  neo_side side = neo_factor_side(&x->c.factor[k], x->p.o[0].axes, x->p.o[1].axes);
  return (side == NEO_SIDE_ROWS) == (o->side == NEO_SIDE_ROWS);
}

static const neo_lx *product_of(block_tile *x, const operand *o) {
  const neo_lx *y = NULL;
  for (uint32_t k = 0; k < x->c.n; k++) {
    if (!neo_btile_has_factor(x, o, k))
      continue;
    const neo_lx *e = neo_lower_expr(x->p.l, x->c.factor[k].e);
    y = y ? neo_lx_op2(x->p.l->k, NEO_OP_MUL, y, e) : e;
  }
  return y;
}

/* In a swizzled layout whose neighbouring threads copy neighbouring rows, a warp copies 8 groups
 * of rows at 4 steps, rather than 32 groups at one step: its stores then use four times as many
 * banks. */
static void spread(const block_tile *x, const operand *o, const neo_lx *e, const neo_lx **row,
                   const neo_lx **step) {
  enum { SIDE = 8, STEPS = 4 };
  lowering *l = x->p.l;
  int64_t far = o->block / o->width / SIDE;
  const neo_lx *patch = lx_div(l, e, SIDE * STEPS), *in = lx_mod(l, e, lx_int(l, SIDE));
  in = lx_add(l, lx_mul(l, lx_mod(l, patch, lx_int(l, far)), SIDE), in);
  *row = lx_mul(l, in, o->width);
  *step = lx_mod(l, lx_div(l, e, SIDE), lx_int(l, STEPS));
  *step = lx_add(l, lx_mul(l, lx_div(l, patch, far), STEPS), *step);
}

const neo_lx *neo_btile_copy_of(const block_tile *x, const operand *o, const neo_lx *i,
                                const neo_lx **row, const neo_lx **step) {
  lowering *l = x->p.l;
  const neo_lx *e = lx_add(l, lx_mul(l, i, x->p.threads), x->p.thread), *in, *out;
  int64_t fast = (o->along_steps ? x->p.block_k : o->block) / o->width, per = fast / x->p.threads;
  int64_t n = x->p.block_k * o->block / o->width;
  if (x->p.threads % fast == 0) { /* a thread's copies are in one column, or in few rows */
    in = lx_mod(l, x->p.thread, lx_int(l, fast));
    out = lx_add(l, lx_div(l, x->p.thread, fast), lx_mul(l, i, x->p.threads / fast));
  } else if (fast % x->p.threads == 0) {
    in = lx_add(l, lx_mul(l, lx_mod(l, i, lx_int(l, per)), x->p.threads), x->p.thread);
    out = lx_div(l, i, per);
  } else {
    in = lx_mod(l, e, lx_int(l, fast));
    out = lx_div(l, e, fast);
  }
  in = lx_mul(l, in, o->width);
  *row = o->along_steps ? out : in;
  *step = o->along_steps ? in : out;
  if (o->swizzled && !o->transposed && !o->along_steps && o->width > 1 && fast % 8 == 0)
    spread(x, o, e, row, step);
  return n % x->p.threads ? neo_lx_op2(l->k, NEO_OP_LT, e, lx_int(l, n)) : NULL;
}

void neo_btile_enter_copy(block_tile *x, const operand *o, const neo_lx *exists, const neo_lx *row,
                          const neo_lx *from, const neo_lx *step, const neo_lx *lane) {
  lowering *l = x->p.l;
  row = lx_add(l, o->lo, row);
  exists = lx_and(l, exists, below(l, row, o->total, o->block));
  exists = lx_and(l, exists, step_exists(x, from, step));
  neo_btile_set_shared(l, o->axes, o->fast, row, o->along_steps ? NULL : lane);
  neo_btile_set_own(x, from, step, o->along_steps ? lane : NULL);
  neo_gpu_begin_guard(l, exists, o->bounded);
  if (o->cond.i)
    neo_gpu_begin_guard(l, lx_and(l, exists, neo_lower_expr(l, o->cond)), o->bounded);
}

const neo_lx *neo_btile_shared_at(block_tile *x, const operand *o, const neo_lx *start,
                                  const neo_lx *row, const neo_lx *step) {
  lowering *l = x->p.l;
  if (o->swizzled)
    return lx_add(l, start, neo_btile_swizzled_at(x, o, row, step));
  int64_t per_row = o->steps_inside ? o->pitch : 1, per_step = o->steps_inside ? 1 : o->pitch;
  const neo_lx *at = lx_add(l, start, lx_mul(l, step, per_step));
  return lx_add(l, at, lx_mul(l, row, per_row));
}

int64_t neo_btile_lane_pitch(const operand *o) {
  if (o->swizzled) /* the stride within a swizzled piece; 0: no stride holds everywhere */
    return o->along_steps || o->transposed ? 1 : 0;
  return o->along_steps == o->steps_inside ? 1 : o->pitch;
}

neo_gpu_copy neo_btile_copy(const block_tile *x, const operand *o, uint32_t buf) {
  return (neo_gpu_copy){.l = x->p.l,
                        .threads = x->p.threads,
                        .copies = o->copies,
                        .width = o->width,
                        .lane_pitch = neo_btile_lane_pitch(o),
                        .buf = buf};
}

void neo_btile_get_next(block_tile *x, neo_block *in, const operand *o, const neo_lx *from) {
  lowering *l = x->p.l;
  neo_gpu_copied at;
  const neo_lx *row, *step;
  neo_gpu_copy c = neo_btile_copy(x, o, o->buf);
  in = neo_gpu_open_copy(&c, in, false, &at);
  const neo_lx *exists = neo_btile_copy_of(x, o, at.i, &row, &step);
  neo_btile_enter_copy(x, o, exists, row, from, step, at.lane);
  neo_gpu_get_next(&c, in, o->next, &at, product_of(x, o), l->guard);
  neo_gpu_end_guard(l);
}

void neo_btile_put_next(block_tile *x, neo_block *in, const operand *o, uint32_t buf,
                        const neo_lx *start) {
  neo_gpu_copied at;
  const neo_lx *row, *step;
  neo_gpu_copy c = neo_btile_copy(x, o, buf);
  in = neo_gpu_open_copy(&c, in, true, &at);
  const neo_lx *exists = neo_btile_copy_of(x, o, at.i, &row, &step);
  if (at.lane && !c.lane_pitch)
    row = lx_add(x->p.l, row, at.lane);
  neo_gpu_put_next(&c, in, o->next, &at, neo_btile_shared_at(x, o, start, row, step), exists);
}

void neo_btile_declare_next(block_tile *x, neo_block *in, bool several) {
  for (int k = 0; k < 2; k++) {
    neo_gpu_copy c = neo_btile_copy(x, &x->p.o[k], x->p.o[k].buf);
    if (!x->p.o[k].from.i)
      x->p.o[k].next = neo_gpu_declare_next(&c, in, several);
  }
}

static bool lies_along(block_tile *x, const operand *o, uint32_t axis) {
  bool some = false;
  for (uint32_t k = 0; k < x->c.n && !some; k++)
    some = neo_btile_has_factor(x, o, k) &&
           neo_expr_unit_stride(x->p.l->m, x->p.l->f, x->c.factor[k].e, axis);
  return some;
}

void neo_btile_choose_fast(block_tile *x, operand *o) {
  uint32_t own = (uint32_t)(x->p.l->f->axes.n + x->s->axes.n - 1);
  uint32_t last = 63 - (uint32_t)__builtin_clzll(o->axes);
  o->along_steps = !lies_along(x, o, last) && lies_along(x, o, own);
  o->fast = last;
  if (o->along_steps || lies_along(x, o, last))
    return;
  for (uint32_t k = 0; k < last; k++)
    if (o->axes >> k & 1 && lies_along(x, o, k))
      o->fast = k;
}

/* Are the start and the extent of the copies' fastest axis multiples of n? */
static bool divides_axis(block_tile *x, const operand *o, uint32_t axis, int64_t n) {
  lowering *l = x->p.l;
  int64_t lo, length;
  if (!o->along_steps)
    return o->block % n == 0 && neo_vector_multiple(l->m, l->f->axes.at[axis].hi, n);
  uint32_t own = axis - (uint32_t)l->f->axes.n;
  return x->p.block_k % n == 0 && neo_lx_is_int(x->least[own], &lo) && lo % n == 0 &&
         neo_lx_is_int(x->length[own], &length) && length % n == 0;
}

/* May one copy have n elements along the axis? */
static bool may_vectorize(block_tile *x, const operand *o, uint32_t axis, int64_t n) {
  lowering *l = x->p.l;
  bool some = false, good = !o->bounded && divides_axis(x, o, axis, n);
  if (good && o->cond.i)
    good = !(neo_form_axes(l->m, l->f, o->cond) >> axis & 1);
  for (uint32_t k = 0; k < x->c.n && good; k++)
    good = !neo_btile_has_factor(x, o, k) ||
           neo_vector_reads(l->m, l->f, x->c.factor[k].e, axis, n, &some);
  return good && some;
}

/* Copies have 16 bytes if all loads of the operand allow that; of 2-byte elements, otherwise 8. */
void neo_btile_vectorize_copies(block_tile *x, operand *o) {
  lowering *l = x->p.l;
  uint32_t axis = o->along_steps ? (uint32_t)(l->f->axes.n + x->s->axes.n - 1) : o->fast;
  neo_type type = (neo_type)l->k->bufs.at[o->buf].type;
  o->width = 1;
  for (int64_t n = neo_gpu_widest(type); n >= neo_gpu_narrowest(type) && n > 1 && o->width == 1;
       n /= 2)
    if (may_vectorize(x, o, axis, n))
      o->width = n;
  neo_btile_count_copies(x, o);
}

void neo_btile_count_copies(block_tile *x, operand *o) {
  o->copies = (o->block * x->p.block_k / o->width + x->p.threads - 1) / x->p.threads;
}

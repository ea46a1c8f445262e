/* A block of threads copies operands into shared memory (lower/gpu_tile/tile.c): which element each thread
 * takes, by 16 bytes where the operand allows it (schedule/vector_access.h), and where it goes. */
#include "codegen/lower/gpu_tile/tile.h"
#include "schedule/vector_access.h"

/* ---- axes */

/* An axis at a place, and lanes along it from there on (null: none). */
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

/* The axis is `from`, which changes from block to block, and what a thread adds to it in each. */
static void set_own_axis(block_tile *x, uint32_t k, const neo_lx *from, const neo_lx *step,
                         const neo_lx *lane) {
  lowering *l = x->l;
  axis_value v = {.n = 0};
  neo_lower_push_part(&v, lx_add(l, x->least[k], step), 1, l->depth);
  neo_lower_push_part(&v, from, 1, l->depth + 1);
  neo_lower_push_part(&v, lane, 1, DEPTH_LANE);
  neo_lower_set_parts(l, (uint32_t)l->f->axes.n + k, v);
}

void neo_btile_set_own(block_tile *x, const neo_lx *from, const neo_lx *step, const neo_lx *lane) {
  lowering *l = x->l;
  const neo_lx *zero = lx_int(l, 0);
  int64_t block = x->block_k, length;
  for (uint32_t k = (uint32_t)x->s->axes.n; k-- > 0; lane = NULL) {
    const neo_lx *n = lx_max(l, x->length[k], lx_int(l, 1)); /* also where there are no steps */
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

/* Is step `step` of the block from `from` on one of all steps? Where these are whole blocks, that
 * is the same for the block's steps; null: always. */
static const neo_lx *step_exists(block_tile *x, const neo_lx *from, const neo_lx *step) {
  lowering *l = x->l;
  int64_t n;
  bool whole = neo_lx_is_int(x->steps, &n) && n % x->block_k == 0;
  return neo_lx_op2(l->k, NEO_OP_LT, whole ? from : lx_add(l, from, step), x->steps);
}

/* ---- operands */

/* What rows use is the rows' operand, all other factors the columns'. */
bool neo_btile_has_factor(const block_tile *x, const operand *o, uint32_t k) {
  neo_side side = neo_factor_side(&x->c.factor[k], x->o[0].axes, x->o[1].axes);
  return (side == NEO_SIDE_ROWS) == (o->side == NEO_SIDE_ROWS);
}

static const neo_lx *product_of(block_tile *x, const operand *o) {
  const neo_lx *y = NULL;
  for (uint32_t k = 0; k < x->c.n; k++) {
    if (!neo_btile_has_factor(x, o, k))
      continue;
    const neo_lx *e = neo_lower_expr(x->l, x->c.factor[k].e);
    y = y ? neo_lx_op2(x->l->k, NEO_OP_MUL, y, e) : e;
  }
  return y;
}

/* Where pieces are exchanged and neighbouring threads copy neighbouring rows, a warp takes 8 times
 * some rows of 4 steps, not 32 times of one: what it writes lies in four times as many banks. */
static void spread(const block_tile *x, const operand *o, const neo_lx *e, const neo_lx **row,
                   const neo_lx **step) {
  enum { SIDE = 8, STEPS = 4 };
  lowering *l = x->l;
  int64_t far = o->block / o->wide / SIDE;
  const neo_lx *patch = lx_div(l, e, SIDE * STEPS), *in = lx_mod(l, e, lx_int(l, SIDE));
  in = lx_add(l, lx_mul(l, lx_mod(l, patch, lx_int(l, far)), SIDE), in);
  *row = lx_mul(l, in, o->wide);
  *step = lx_mod(l, lx_div(l, e, SIDE), lx_int(l, STEPS));
  *step = lx_add(l, lx_mul(l, lx_div(l, patch, far), STEPS), *step);
}

const neo_lx *neo_btile_copy_of(const block_tile *x, const operand *o, const neo_lx *i,
                                const neo_lx **row, const neo_lx **step) {
  lowering *l = x->l;
  const neo_lx *e = lx_add(l, lx_mul(l, i, x->threads), x->thread), *in, *out;
  int64_t fast = (o->along_steps ? x->block_k : o->block) / o->wide, per = fast / x->threads;
  int64_t n = x->block_k * o->block / o->wide;
  if (x->threads % fast == 0) { /* a thread's copies lie in one column, or in few rows */
    in = lx_mod(l, x->thread, lx_int(l, fast));
    out = lx_add(l, lx_div(l, x->thread, fast), lx_mul(l, i, x->threads / fast));
  } else if (fast % x->threads == 0) {
    in = lx_add(l, lx_mul(l, lx_mod(l, i, lx_int(l, per)), x->threads), x->thread);
    out = lx_div(l, i, per);
  } else {
    in = lx_mod(l, e, lx_int(l, fast));
    out = lx_div(l, e, fast);
  }
  in = lx_mul(l, in, o->wide);
  *row = o->along_steps ? out : in;
  *step = o->along_steps ? in : out;
  if (o->exchanged && !o->turned && !o->along_steps && o->wide > 1 && fast % 8 == 0)
    spread(x, o, e, row, step);
  return n % x->threads ? neo_lx_op2(l->k, NEO_OP_LT, e, lx_int(l, n)) : NULL;
}

/* The loop over the elements of a copy; *lane: null if it is one. */
static neo_block *open_wide(block_tile *x, neo_block *in, const operand *o, neo_loop_kind kind,
                            const neo_lx **lane) {
  *lane = NULL;
  return o->wide > 1 ? open_loop(x->l, in, kind, "l", o->wide, lane) : in;
}

const neo_lx *neo_btile_enter_copy(block_tile *x, const operand *o, const neo_lx *exists,
                                   const neo_lx *row, const neo_lx *from, const neo_lx *step,
                                   const neo_lx *lane) {
  lowering *l = x->l;
  row = lx_add(l, o->lo, row);
  exists = lx_and(l, exists, below(l, row, o->total, o->block));
  exists = lx_and(l, exists, step_exists(x, from, step));
  neo_btile_set_shared(l, o->axes, o->fast, row, o->along_steps ? NULL : lane);
  neo_btile_set_own(x, from, step, o->along_steps ? lane : NULL);
  const neo_lx *outer = l->guard;
  l->guard = exists;
  l->exact = true;
  l->bounded = o->bounded;
  if (o->cond.i)
    l->guard = lx_and(l, exists, neo_lower_expr(l, o->cond));
  neo_lower_forget(l);
  return outer;
}

void neo_btile_leave_copy(block_tile *x, const neo_lx *outer) {
  x->l->guard = outer;
  x->l->exact = x->l->bounded = false;
  neo_lower_forget(x->l);
}

/* A load that is zero where the guard does not hold, or what rounding makes of it. */
static bool is_guarded(const neo_lx *y, const neo_lx *guard) {
  while (y->kind == NEO_LX_OP && (y->attr == NEO_OP_CAST || y->attr == NEO_OP_TF32))
    y = y->arg[0];
  return y->kind == NEO_LX_LOADIF && neo_lx_implies(y->arg[1], guard) &&
         y->arg[2]->kind == NEO_LX_CONST && y->arg[2]->bits == 0;
}

void neo_btile_get_next(block_tile *x, neo_block *in, const operand *o, const neo_lx *from) {
  lowering *l = x->l;
  const neo_lx *i, *row, *step, *lane;
  in = open_loop(l, in, NEO_LOOP_UNROLL, "c", o->copies, &i);
  in = open_wide(x, in, o, NEO_LOOP_VECTOR, &lane);
  const neo_lx *exists = neo_btile_copy_of(x, o, i, &row, &step);
  const neo_lx *outer = neo_btile_enter_copy(x, o, exists, row, from, step, lane);
  const neo_lx *y = product_of(x, o);
  if (!is_guarded(y, l->guard))
    y = neo_lx_op3(l->k, NEO_OP_SELECT, l->guard, y, neo_btile_zero(l, (neo_type)y->type));
  neo_ls_set(l->k, in, o->next, (const neo_lx *[]){i, lane}, 1 + (o->wide > 1), y);
  neo_btile_leave_copy(x, outer);
}

const neo_lx *neo_btile_shared_at(block_tile *x, const operand *o, const neo_lx *start,
                                  const neo_lx *row, const neo_lx *step) {
  lowering *l = x->l;
  if (o->exchanged)
    return lx_add(l, start, neo_btile_exchanged_at(x, o, row, step));
  int64_t per_row = o->steps_inside ? o->pitch : 1, per_step = o->steps_inside ? 1 : o->pitch;
  const neo_lx *at = lx_add(l, start, lx_mul(l, step, per_step));
  return lx_add(l, at, lx_mul(l, row, per_row));
}

int64_t neo_btile_lane_pitch(const operand *o) {
  if (o->exchanged) /* within a piece, or none that would be the same everywhere */
    return o->along_steps || o->turned ? 1 : 0;
  return o->along_steps == o->steps_inside ? 1 : o->pitch;
}

void neo_btile_put_next(block_tile *x, neo_block *in, const operand *o, uint32_t buf,
                        const neo_lx *start) {
  lowering *l = x->l;
  const neo_lx *i, *row, *step, *lane;
  int64_t per_lane = neo_btile_lane_pitch(o);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "c", o->copies, &i);
  in = open_wide(x, in, o, per_lane == 1 ? NEO_LOOP_VECTOR : NEO_LOOP_UNROLL, &lane);
  const neo_lx *exists = neo_btile_copy_of(x, o, i, &row, &step);
  if (lane && !per_lane)
    row = lx_add(l, row, lane);
  const neo_lx *at = neo_btile_shared_at(x, o, start, row, step);
  if (lane)
    at = lx_add(l, at, lx_mul(l, lane, per_lane));
  neo_ls_store(l->k, in, buf, at,
               neo_lx_reg(l->k, o->next, (const neo_lx *[]){i, lane}, 1 + (o->wide > 1)), exists);
}

void neo_btile_declare_next(block_tile *x, neo_block *in, bool several) {
  lowering *l = x->l;
  for (int k = 0; k < 2; k++) {
    if (x->o[k].from.i)
      continue;
    neo_reg r = {.name = "next", .type = l->k->bufs.at[x->o[k].buf].type};
    r.rank = x->o[k].wide > 1 ? 2 : 1;
    r.threads = several ? x->threads : 0;
    r.extent[0] = x->o[k].copies;
    r.extent[1] = x->o[k].wide;
    x->o[k].next = neo_kernel_reg(l->k, r);
    neo_ls_reg(l->k, in, x->o[k].next);
  }
}

static bool lies_along(block_tile *x, const operand *o, uint32_t axis) {
  bool some = false;
  for (uint32_t k = 0; k < x->c.n && !some; k++)
    some = neo_btile_has_factor(x, o, k) &&
           neo_expr_unit_stride(x->l->m, x->l->f, x->c.factor[k].e, axis);
  return some;
}

void neo_btile_choose_fast(block_tile *x, operand *o) {
  uint32_t own = (uint32_t)(x->l->f->axes.n + x->s->axes.n - 1);
  uint32_t last = 63 - (uint32_t)__builtin_clzll(o->axes);
  o->along_steps = !lies_along(x, o, last) && lies_along(x, o, own);
  o->fast = last;
  if (o->along_steps || lies_along(x, o, last))
    return;
  for (uint32_t k = 0; k < last; k++)
    if (o->axes >> k & 1 && lies_along(x, o, k))
      o->fast = k;
}

/* Is the extent of the axis that copies walk first a multiple of n, from a multiple of n on? */
static bool divides_axis(block_tile *x, const operand *o, uint32_t axis, int64_t n) {
  lowering *l = x->l;
  int64_t lo, length;
  if (!o->along_steps)
    return o->block % n == 0 && neo_wide_multiple(l->m, l->f->axes.at[axis].hi, n);
  uint32_t own = axis - (uint32_t)l->f->axes.n;
  return x->block_k % n == 0 && neo_lx_is_int(x->least[own], &lo) && lo % n == 0 &&
         neo_lx_is_int(x->length[own], &length) && length % n == 0;
}

/* May n elements along the axis be copied as one? */
static bool copies_wide(block_tile *x, const operand *o, uint32_t axis, int64_t n) {
  lowering *l = x->l;
  bool some = false, good = !o->bounded && divides_axis(x, o, axis, n);
  if (good && o->cond.i)
    good = !(neo_form_axes(l->m, l->f, o->cond) >> axis & 1);
  for (uint32_t k = 0; k < x->c.n && good; k++)
    good = !neo_btile_has_factor(x, o, k) ||
           neo_wide_reads(l->m, l->f, x->c.factor[k].e, axis, n, &some);
  return good && some;
}

/* Copies of 16 bytes, where all loads of the operand allow that; of elements of 2 bytes else of 8.
 */
void neo_btile_widen(block_tile *x, operand *o) {
  lowering *l = x->l;
  uint32_t axis = o->along_steps ? (uint32_t)(l->f->axes.n + x->s->axes.n - 1) : o->fast;
  int64_t bytes = neo_type_bytes((neo_type)l->k->bufs.at[o->buf].type);
  int64_t most = NEO_WIDE_BYTES / bytes, least = bytes < 4 ? most / 2 : most;
  o->wide = 1;
  for (int64_t n = most; n >= least && n > 1 && o->wide == 1; n /= 2)
    if (copies_wide(x, o, axis, n))
      o->wide = n;
  neo_btile_count_copies(x, o);
}

void neo_btile_count_copies(block_tile *x, operand *o) {
  o->copies = (o->block * x->block_k / o->wide + x->threads - 1) / x->threads;
}

/* The stages of a form at one register tile.
 *
 * Lanes over a shared axis (the store's): every lane has its own accumulator.
 *
 *     reg acc[rows, cols, w]; acc = 0
 *     for k: for row, col unrolled: for lane: acc[row, col, lane] += body
 *     for row, col unrolled: for lane: Y[...] = finish(acc[row, col, lane])
 *
 * Lanes over a stage's own axis: lanes hold partial results, which a tree over lanes then joins;
 * the tree's shape and the lanes of each element depend on the schedule alone, so that results do
 * not depend on threads. The end of a range is a vector of which some lanes are dead: their loads
 * do not happen and their accumulators stay. */
#include "codegen/lower_scope.h"
#include <assert.h>
#include <math.h>

/* ---- tiles */

static neo_block *open_unrolled(lowering *l, neo_block *in, neo_loop_kind kind, const char *name,
                                int64_t n, const neo_lx **v) {
  uint32_t var = neo_kernel_var(l->k, name);
  *v = neo_lx_var(l->k, var);
  return &neo_ls_for(l->k, in, kind, var, lx_int(l, 0), lx_int(l, n), 1)->body;
}

void neo_lower_push_part(axis_value *v, const neo_lx *e, int64_t scale, uint32_t depth) {
  assert(v->n < MAX_PARTS);
  if (e)
    v->at[v->n++] = (axis_part){e, scale, depth};
}

static void set_tile_axes(lowering *l, const tile *t) {
  if (t->m_axis >= 0) {
    axis_value v = {.n = 0};
    neo_lower_push_part(&v, t->m_at, 1, t->m_depth);
    neo_lower_push_part(&v, l->row, 1, DEPTH_UNROLL);
    neo_lower_set_parts(l, (uint32_t)t->m_axis, v);
  }
  if (t->n_axis >= 0) {
    axis_value v = {.n = 0};
    bool shared = neo_lower_lanes_shared(l);
    neo_lower_push_part(&v, t->n_at, 1, t->n_depth);
    neo_lower_push_part(&v, l->col, shared ? t->width : 1, DEPTH_UNROLL);
    if (shared)
      neo_lower_push_part(&v, l->lane, 1, DEPTH_LANE);
    neo_lower_set_parts(l, (uint32_t)t->n_axis, v);
  }
}

neo_block *neo_lower_open_tile(lowering *l, neo_block *in, const tile *t, bool lanes) {
  l->row = l->col = l->lane = NULL;
  if (t->rows > 1)
    in = open_unrolled(l, in, NEO_LOOP_UNROLL, "r", t->rows, &l->row);
  if (t->cols > 1)
    in = open_unrolled(l, in, NEO_LOOP_UNROLL, "v", t->cols, &l->col);
  if (lanes && t->width > 1)
    in = open_unrolled(l, in, NEO_LOOP_VECTOR, "l", t->width, &l->lane);
  set_tile_axes(l, t);
  neo_lower_forget(l);
  if (t->n_end && t->n_axis >= 0) {
    l->mask = neo_lx_op2(l->k, NEO_OP_LT, neo_lower_axis(l, (uint32_t)t->n_axis), t->n_end);
    l->mask_axis = t->n_axis;
  }
  l->tile = t;
  return in;
}

void neo_lower_close_tile(lowering *l, const tile *t) {
  (void)t;
  l->row = l->col = l->lane = l->mask = NULL;
  l->tile = NULL;
  neo_lower_forget(l);
}

/* ---- accumulators */

static neo_value identity(neo_reducer kind, neo_type t) {
  static const int64_t least[] = {[NEO_I64_T] = INT64_MIN,
                                  [NEO_I32_T] = INT32_MIN,
                                  [NEO_I8_T] = INT8_MIN,
                                  [NEO_U8_T] = 0,
                                  [NEO_BOOL_T] = 0};
  static const int64_t most[] = {[NEO_I64_T] = INT64_MAX,
                                 [NEO_I32_T] = INT32_MAX,
                                 [NEO_I8_T] = INT8_MAX,
                                 [NEO_U8_T] = UINT8_MAX,
                                 [NEO_BOOL_T] = 1};
  bool real = neo_type_is_float(t);
  neo_value v = {.i = 0};
  double x = 0;
  switch (kind) {
  case NEO_RED_PROD:
    x = 1, v.i = 1;
    break;
  case NEO_RED_MAX:
    x = -(double)INFINITY, v.i = real ? 0 : least[t];
    break;
  case NEO_RED_MIN:
    x = (double)INFINITY, v.i = real ? 0 : most[t];
    break;
  case NEO_RED_ALL:
    v.i = 1;
    break;
  case NEO_RED_NONE:
    v.i = INT64_MIN;
    break; /* a payload: nothing taken yet */
  default:
    break;
  }
  if (real)
    v.f = x;
  return v;
}

static const neo_lx *index_of(lowering *l, const neo_lx *v) {
  return v ? v : lx_int(l, 0);
}

static void set_acc(lowering *l, neo_block *in, const acc_reg *r, const neo_lx *value) {
  const neo_lx *col = r->columns ? l->col : NULL;
  const neo_lx *index[] = {index_of(l, l->row), index_of(l, col), index_of(l, l->lane)};
  neo_ls_set(l->k, in, r->reg, index, r->rank, value);
}

uint32_t neo_lower_reg(lowering *l, neo_block *in, const char *name, neo_type t, int64_t rows,
                       int64_t cols, int64_t width) {
  neo_reg r = {.name = name, .type = (uint8_t)t, .rank = width > 1 ? 3 : 2};
  r.extent[0] = rows;
  r.extent[1] = cols;
  r.extent[2] = width;
  uint32_t reg = neo_kernel_reg(l->k, r);
  neo_ls_reg(l->k, in, reg);
  return reg;
}

/* Registers for the accumulators of a stage. */
static void make_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t, bool lanes) {
  for (uint32_t k = 0; k < s->accs.n; k++) {
    acc_reg *r = &l->acc[s->first_acc + k];
    neo_type type = (neo_type)s->accs.at[k].type;
    int64_t width = lanes ? t->width : 1;
    uint32_t reg = neo_lower_reg(l, in, "acc", type, t->rows, t->cols, width);
    *r = (acc_reg){reg, width > 1 ? 3 : 2, t->cols > 1, true, 0};
  }
}

static void clear_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t, bool lanes) {
  neo_block *b = neo_lower_open_tile(l, in, t, lanes);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    const neo_form_acc *x = &s->accs.at[k];
    neo_value v = identity((neo_reducer)x->kind, (neo_type)x->type);
    set_acc(l, b, &l->acc[s->first_acc + k], neo_lx_const(l->k, (neo_type)x->type, v));
  }
  neo_lower_close_tile(l, t);
}

static void begin_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t, bool lanes) {
  make_accs(l, in, s, t, lanes);
  clear_accs(l, in, s, t, lanes);
}

void neo_lower_clear_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t) {
  clear_accs(l, in, s, t, true);
}

void neo_lower_begin_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t) {
  begin_accs(l, in, s, t, true);
}

/* ---- combining */

static const neo_lx *lt(lowering *l, const neo_lx *a, const neo_lx *b) {
  return neo_lx_op2(l->k, NEO_OP_LT, a, b);
}

/* Does x win over the best so far? NaN wins, the first of equals wins, anything wins over nothing.
 * */
static const neo_lx *wins(lowering *l, neo_reducer kind, const neo_lx *x, const neo_lx *best,
                          const neo_lx *payload) {
  const neo_lx *better = kind == NEO_RED_MAX ? lt(l, best, x) : lt(l, x, best);
  if (neo_type_is_float((neo_type)x->type)) {
    const neo_lx *nan = neo_lx_op2(l->k, NEO_OP_NE, x, x);
    nan = neo_lx_op2(l->k, NEO_OP_AND, nan, neo_lx_op2(l->k, NEO_OP_EQ, best, best));
    better = neo_lx_op2(l->k, NEO_OP_OR, better, nan);
  }
  const neo_lx *none = neo_lx_op2(l->k, NEO_OP_EQ, payload, lx_int(l, INT64_MIN));
  return neo_lx_op2(l->k, NEO_OP_OR, better, none);
}

static const neo_lx *combined(lowering *l, neo_reducer kind, const neo_lx *a, const neo_lx *x) {
  static const neo_op op[] = {
      [NEO_RED_SUM] = NEO_OP_ADD, [NEO_RED_PROD] = NEO_OP_MUL, [NEO_RED_MAX] = NEO_OP_MAX,
      [NEO_RED_MIN] = NEO_OP_MIN, [NEO_RED_ANY] = NEO_OP_OR,   [NEO_RED_ALL] = NEO_OP_AND};
  return neo_lx_op2(l->k, op[kind], a, x);
}

/* acc and one more body: a product, or one with its sign changed, is multiplied and added in one.
 * */
static const neo_lx *step(lowering *l, const neo_form_acc *a, const neo_lx *old) {
  neo_expr body = a->body;
  bool minus = neo_expr_node(l->m, body)->op == NEO_OP_NEG;
  if (minus)
    body = neo_expr_arg(l->m, body, 0);
  bool product = neo_expr_node(l->m, body)->op == NEO_OP_MUL;
  if (a->kind == NEO_RED_SUM && product && neo_type_is_float((neo_type)a->type)) {
    const neo_lx *x = neo_lower_expr(l, neo_expr_arg(l->m, body, 0));
    const neo_lx *y = neo_lower_expr(l, neo_expr_arg(l->m, body, 1));
    return neo_lx_fma(l->k, minus ? neo_lx_op1(l->k, NEO_OP_NEG, x) : x, y, old);
  }
  return combined(l, (neo_reducer)a->kind, old, neo_lower_expr(l, a->body));
}

static const neo_lx *where_true(lowering *l, const neo_lx *cond, const neo_lx *yes,
                                const neo_lx *no) {
  return cond ? neo_lx_op3(l->k, NEO_OP_SELECT, cond, yes, no) : yes;
}

static const neo_lx *both(lowering *l, const neo_lx *a, const neo_lx *b) {
  if (!a || !b)
    return a ? a : b;
  return neo_lx_op2(l->k, NEO_OP_AND, a, b);
}

/* One body at the tile's element, where cond (null: always) holds. */
static void accumulate(lowering *l, neo_block *in, const neo_stage *s, const neo_lx *cond) {
  for (uint32_t k = 0; k < s->accs.n; k++) {
    const neo_form_acc *a = &s->accs.at[k];
    const acc_reg *r = &l->acc[s->first_acc + k];
    const neo_lx *old = neo_lower_acc(l, s->first_acc + k);
    bool payload = k + 1 < s->accs.n && s->accs.at[k + 1].kind == NEO_RED_NONE;
    if (!payload) {
      set_acc(l, in, r, where_true(l, cond, step(l, a, old), old));
      continue;
    }
    const neo_lx *old_p = neo_lower_acc(l, s->first_acc + k + 1);
    const neo_lx *x = neo_lower_expr(l, a->body), *p = neo_lower_expr(l, s->accs.at[k + 1].body);
    const neo_lx *take = both(l, cond, wins(l, (neo_reducer)a->kind, x, old, old_p));
    /* the payload first: it is chosen by the old best */
    set_acc(l, in, &l->acc[s->first_acc + k + 1], where_true(l, take, p, old_p));
    set_acc(l, in, r, where_true(l, take, x, old));
    k++;
  }
}

void neo_lower_combine(lowering *l, neo_block *in, const neo_stage *s, const neo_lx *cond) {
  accumulate(l, in, s, cond);
}

/* ---- reduction loops */

/* May a loop's bounds, or a branch, use this? Not what changes inside the tile. */
static bool fixed_in_tile(lowering *l, neo_expr e) {
  uint64_t axes = neo_expr_axes(l->m, e);
  int64_t am = l->s->at[NEO_SCHED_AXIS_M], an = l->s->at[NEO_SCHED_AXIS_N];
  if (neo_lower_lanes_shared(l))
    an = l->s->at[NEO_SCHED_VECTOR_AXIS];
  if (am >= 0 && axes >> am & 1)
    return false;
  for (int64_t k = 0; an >= 0 && k < l->walk_n; k++)
    if (axes >> (an - k) & 1)
      return false;
  return true;
}

static bool uses_own_axes(const lowering *l, neo_expr e) {
  return neo_expr_axes(l->m, e) >> l->f->axes.n;
}

stage_bounds neo_lower_bounds_of(lowering *l, const neo_stage *s, uint32_t outermost) {
  stage_bounds b = {.where_original = s->where};
  uint32_t first = (uint32_t)l->f->axes.n;
  neo_lower_facts(l, l->original, s);
  for (uint32_t k = 0; k < s->axes.n; k++) {
    b.lo[k] = s->axes.at[k].lo;
    b.hi[k] = s->axes.at[k].hi;
    neo_expr lo, hi, rest;
    neo_expr where = b.where_original;
    if (!where.i || !neo_tighten(l->p, &l->facts, first + k, where, &lo, &hi, &rest))
      continue;
    if (!fixed_in_tile(l, lo) || !fixed_in_tile(l, hi))
      continue;
    if (k == outermost && (uses_own_axes(l, lo) || uses_own_axes(l, hi)))
      continue;
    b.lo[k] = lo;
    b.hi[k] = hi;
    b.where_original = rest;
  }
  b.where = neo_walked_expr(l->m, l->original, l->walk_last, l->walk_n, b.where_original);
  b.n_clips = neo_clips_of(l->m, l->original, s->where, b.clip);
  return b;
}

void neo_lower_bounds(lowering *l) {
  l->bounds = NEO_NEW_ARRAY(l->a, stage_bounds, l->f->stages.n + 1);
  for (size_t k = 0; k < l->original->stages.n; k++)
    if (l->original->stages.at[k].accs.n)
      l->bounds[k] = neo_lower_bounds_of(l, &l->original->stages.at[k], 0);
}

/* Where the condition does not change inside the tile it is a branch, else part of every lane. */
static neo_block *open_where(lowering *l, neo_block *in, const stage_bounds *b, uint32_t lane_axis,
                             neo_expr *left) {
  *left = b->where;
  if (!b->where.i || !fixed_in_tile(l, b->where))
    return in;
  if (lane_axis != UINT32_MAX && neo_expr_axes(l->m, b->where) >> lane_axis & 1)
    return in;
  *left = (neo_expr){0};
  neo_lower_forget(l);
  return &neo_ls_if(l->k, in, neo_lower_expr(l, b->where))->body;
}

void neo_lower_accumulate(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                          const stage_bounds *b) {
  neo_expr where;
  const neo_lx *outer = l->guard;
  in = open_where(l, in, b, UINT32_MAX, &where);
  neo_block *inner = neo_lower_open_tile(l, in, t, true);
  const neo_lx *cond = neo_lower_cond(l, where);
  if (s->where.i) /* loads may rely on what has become a bound or a branch: they are inside of it */
    l->guard = both(l, outer, cond);
  accumulate(l, inner, s, cond);
  l->guard = outer;
  neo_lower_close_tile(l, t);
}

/* Does a packed operand slide with own axis k? Then copies of the loop's body share elements of
 * rows, and LLVM keeps them all in registers that there are not. */
static bool shares_rows(const lowering *l, uint32_t k, const tile *t) {
  for (uint32_t i = 0; i < l->n_packs; i++) {
    const pack *p = &l->packs[i];
    if (t->rows > 1 && p->side == NEO_SIDE_ROWS && p->slides && p->slide.own == k)
      return true;
  }
  return false;
}

static bool unrolls(const lowering *l, const neo_stage *s, uint32_t k, const tile *t,
                    const neo_lx *lo, const neo_lx *hi) {
  int64_t a, b;
  if (shares_rows(l, k, t))
    return false;
  if (!neo_lx_is_int(lo, &a) || !neo_lx_is_int(hi, &b) || b - a < 1)
    return false;
  return k + 1 == s->axes.n && neo_steps_unroll(b - a, t->rows * t->cols);
}

/* Of own axis k; of the first one the block at hand. */
static void own_range(lowering *l, const stage_bounds *b, uint32_t k, const neo_lx **lo,
                      const neo_lx **hi) {
  bool block = k == 0 && l->block.on;
  *lo = block ? l->block.lo : neo_lower_expr(l, b->lo[k]);
  *hi = block ? l->block.hi : neo_lower_expr(l, b->hi[k]);
}

/* The range without steps that no row of the tile needs: a window moves with the rows, and sticks
 * out of what it reads. */
static void clip_range(lowering *l, const stage_bounds *b, uint32_t k, const tile *t,
                       const neo_lx **lo, const neo_lx **hi) {
  for (uint32_t i = 0; i < b->n_clips; i++) {
    const neo_clip *c = &b->clip[i];
    if (c->own != k || (int32_t)c->shared != t->m_axis || (c->of_own != 1 && c->of_own != -1))
      continue;
    const neo_lx *row = t->m_at, *end;
    if (c->of_shared > 0)
      row = lx_add(l, row, lx_int(l, t->rows - 1));
    end = lx_add(l, lx_mul(l, row, c->of_shared), lx_int(l, c->constant));
    if (c->of_own > 0)
      *lo = lx_max(l, *lo, lx_mul(l, end, -1));
    else
      *hi = lx_min(l, *hi, lx_add(l, end, lx_int(l, 1)));
  }
}

static void reduce_loops(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const stage_bounds *b, uint32_t k);

typedef struct {
  const lowering *l;
  uint32_t first, n; /* accumulators */
  bool found;
} acc_use;

static void find_acc(void *ctx, neo_expr e) {
  acc_use *u = ctx;
  const neo_node *n = neo_expr_node(u->l->m, e);
  u->found = u->found || (n->op == NEO_OP_ACC && n->attr >= u->first && n->attr < u->first + u->n);
}

bool neo_lower_uses_stage(const lowering *l, const neo_stage *s, const neo_stage *of) {
  acc_use u = {l, of->first_acc, (uint32_t)of->accs.n, false};
  neo_stage_visit(l->m, s, find_acc, &u);
  return u.found;
}

/* The inner sums that the stage uses, at the point of its axes that the loops are at. The stage's
 * condition is none of theirs: what they read under it alone is tested. */
static void inner_sums(lowering *l, neo_block *in, const neo_stage *s, const tile *t) {
  bool any = false;
  for (size_t k = 0; k < l->f->stages.n && &l->f->stages.at[k] != s; k++) {
    const neo_stage *x = &l->f->stages.at[k];
    if (!x->over || !neo_lower_uses_stage(l, s, x))
      continue;
    any = true;
    neo_lower_facts(l, l->f, x);
    begin_accs(l, in, x, t, false);
    l->bounded = !neo_lower_safe_under(l, x->accs.at[0].body, (neo_expr){0});
    neo_lower_forget(l);
    reduce_loops(l, in, x, t, &l->bounds[k], x->over);
    l->bounded = false;
    neo_lower_forget(l);
  }
  if (any)
    neo_lower_facts(l, l->f, s);
}

static void reduce_loops(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const stage_bounds *b, uint32_t k) {
  if (k == s->axes.n) {
    inner_sums(l, in, s, t);
    neo_lower_fetch(l, in, t, false);
    neo_lower_fetch_shared(l, in, t, (size_t)(s - l->f->stages.at));
    neo_lower_accumulate(l, in, s, t, b);
    return;
  }
  uint32_t axis = (uint32_t)l->f->axes.n + k;
  const neo_lx *lo, *hi, *v;
  own_range(l, b, k, &lo, &hi);
  clip_range(l, b, k, t, &lo, &hi);
  if (unrolls(l, s, k, t, lo, hi)) {
    uint32_t var = neo_kernel_var(l->k, "k");
    neo_ls *loop = neo_ls_for(l->k, in, NEO_LOOP_UNROLL, var, lo, hi, 1);
    neo_lower_set_axis(l, axis, neo_lx_var(l->k, var), DEPTH_UNROLL);
    reduce_loops(l, &loop->body, s, t, b, k + 1);
    return;
  }
  neo_block *body = neo_lower_open(l, in, "k", lo, hi, 1, &v);
  neo_lower_set_axis(l, axis, v, l->depth);
  if (k + 1 == s->axes.n)
    neo_lower_ahead_columns(l, body, s, t, axis, v);
  reduce_loops(l, body, s, t, b, k + 1);
  neo_lower_close(l);
}

/* ---- lanes over the last own axis */

typedef struct {
  const neo_stage *s;
  const tile *t; /* columns: of axis_n, or copies of the accumulator along the lanes */
  const stage_bounds *b;
  const neo_lx *lo, *hi;
} lane_range;

/* One vector (or t->cols vectors) from position `at`. */
static void accumulate_lanes(lowering *l, neo_block *in, const lane_range *c, const tile *t,
                             const neo_lx *at, bool masked) {
  uint32_t axis = (uint32_t)(l->f->axes.n + c->s->axes.n - 1);
  neo_expr where;
  const neo_lx *outer = l->guard;
  in = open_where(l, in, c->b, axis, &where);
  neo_block *inner = neo_lower_open_tile(l, in, t, true);
  axis_value v = {.n = 0};
  neo_lower_push_part(&v, at, 1, l->depth);
  if (t->n_axis < 0)
    neo_lower_push_part(&v, l->col, neo_lower_apart(t), DEPTH_UNROLL);
  neo_lower_push_part(&v, l->lane, 1, DEPTH_LANE);
  neo_lower_set_parts(l, axis, v);
  if (masked) {
    l->mask = lt(l, neo_lower_axis(l, axis), c->hi);
    l->mask_axis = (int32_t)axis;
  }
  const neo_lx *cond = neo_lower_cond(l, where);
  if (c->s->where.i)
    l->guard = both(l, outer, cond);
  if (masked)
    cond = both(l, l->mask, cond);
  accumulate(l, inner, c->s, cond);
  l->guard = outer;
  neo_lower_keep(l, inner, c->s);
  neo_lower_close_tile(l, t);
}

void neo_lower_accumulate_run(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                              const stage_bounds *b, const neo_lx *at, const neo_lx *end) {
  lane_range c = {.s = s, .t = t, .b = b, .hi = end};
  accumulate_lanes(l, in, &c, t, at, end != NULL);
}

/* Vectors of the range [from, to) in steps of `step` elements. */
static void lane_loop(lowering *l, neo_block *in, const lane_range *c, const tile *t,
                      const neo_lx *from, const neo_lx *to, bool masked) {
  const neo_lx *v;
  int64_t width = t->width * (t->n_axis < 0 ? t->cols : 1), a, b;
  if (neo_lx_is_int(from, &a) && neo_lx_is_int(to, &b) && a >= b)
    return;
  neo_block *body = neo_lower_open(l, in, "k", from, to, width, &v);
  if (!masked)
    neo_lower_ahead_rows(l, body, c->s, v, width);
  accumulate_lanes(l, body, c, t, v, masked);
  neo_lower_close(l);
}

static void lane_loops(lowering *l, neo_block *in, lane_range *c) {
  tile one = *c->t;
  int64_t width = c->t->width;
  const neo_lx *from = c->lo;
  if (c->t->n_axis < 0 && c->t->cols > 1) {
    const neo_lx *to = neo_lower_whole(l, c->lo, c->hi, width * c->t->cols);
    lane_loop(l, in, c, c->t, from, to, false);
    from = to;
    one.cols = 1;
  }
  const neo_lx *to = neo_lower_whole(l, c->lo, c->hi, width);
  lane_loop(l, in, c, &one, from, to, false);
  lane_loop(l, in, c, &one, to, c->hi, true);
}

static void lane_nest(lowering *l, neo_block *in, lane_range *c, uint32_t k) {
  const neo_lx *lo, *hi, *v;
  own_range(l, c->b, k, &lo, &hi);
  if (k + 1 == c->s->axes.n) {
    c->lo = lo;
    c->hi = hi;
    lane_loops(l, in, c);
    return;
  }
  neo_block *body = neo_lower_open(l, in, "k", lo, hi, 1, &v);
  neo_lower_set_axis(l, (uint32_t)l->f->axes.n + k, v, l->depth);
  lane_nest(l, body, c, k + 1);
  neo_lower_close(l);
}

/* Element `lane` of copy `col` of an accumulator at the row at hand. */
static const neo_lx *lane_of(lowering *l, const acc_reg *r, int64_t col, int64_t lane) {
  const neo_lx *index[] = {index_of(l, l->row), l->col ? l->col : lx_int(l, col), lx_int(l, lane)};
  return neo_lx_reg(l->k, r->reg, index, r->rank);
}

/* Tree over n parts: part k of accumulator r is lane k % w of copy k / w. */
static const neo_lx *lane_tree(lowering *l, neo_reducer kind, const acc_reg *r, int64_t width,
                               int64_t first, int64_t step_size, int64_t n) {
  if (n == 1)
    return lane_of(l, r, first / width, first % width);
  const neo_lx *a = lane_tree(l, kind, r, width, first, 2 * step_size, (n + 1) / 2);
  const neo_lx *b = lane_tree(l, kind, r, width, first + step_size, 2 * step_size, n / 2);
  return combined(l, kind, a, b);
}

static const neo_lx *parts_of(lowering *l, neo_reducer kind, const acc_reg *r, int64_t width,
                              int64_t copies) {
  return lane_tree(l, kind, r, width, 0, 1, width * copies);
}

/* The winner of all lanes: of equals the one with the smallest payload, which was first. */
static void join_winners(lowering *l, neo_block *in, neo_reducer kind, const acc_reg *part,
                         const acc_reg *whole, int64_t width, int64_t copies) {
  for (int64_t i = 0; i < width * copies; i++) {
    const neo_lx *x = lane_of(l, &part[0], i / width, i % width);
    const neo_lx *p = lane_of(l, &part[1], i / width, i % width);
    const neo_lx *index[] = {index_of(l, l->row), index_of(l, l->col)};
    const neo_lx *best = neo_lx_reg(l->k, whole[0].reg, index, 2);
    const neo_lx *best_p = neo_lx_reg(l->k, whole[1].reg, index, 2);
    const neo_lx *none = lx_int(l, INT64_MIN);
    const neo_lx *some = neo_lx_op2(l->k, NEO_OP_NE, p, none);
    const neo_lx *take = wins(l, kind, x, best, best_p);
    const neo_lx *equal = neo_lx_op2(l->k, NEO_OP_EQ, x, best);
    if (neo_type_is_float((neo_type)x->type)) {
      const neo_lx *nan = neo_lx_op2(l->k, NEO_OP_AND, neo_lx_op2(l->k, NEO_OP_NE, x, x),
                                     neo_lx_op2(l->k, NEO_OP_NE, best, best));
      equal = neo_lx_op2(l->k, NEO_OP_OR, equal, nan);
    }
    take = neo_lx_op2(l->k, NEO_OP_OR, take, neo_lx_op2(l->k, NEO_OP_AND, equal, lt(l, p, best_p)));
    take = neo_lx_op2(l->k, NEO_OP_AND, take, some);
    neo_ls_set(l->k, in, whole[1].reg, index, 2, where_true(l, take, p, best_p));
    const neo_lx *again = neo_lx_op2(l->k, NEO_OP_EQ, neo_lx_reg(l->k, whole[1].reg, index, 2), p);
    again = neo_lx_op2(l->k, NEO_OP_AND, again, some);
    neo_ls_set(l->k, in, whole[0].reg, index, 2, where_true(l, again, x, best));
  }
}

/* The same over the copies of a lane, which is all lanes at once. */
static const neo_lx *copy_tree(lowering *l, neo_reducer kind, const acc_reg *r, int64_t first,
                               int64_t step_size, int64_t n) {
  if (n == 1) {
    const neo_lx *index[] = {index_of(l, l->row), lx_int(l, first), l->lane};
    return neo_lx_reg(l->k, r->reg, index, r->rank);
  }
  const neo_lx *a = copy_tree(l, kind, r, first, 2 * step_size, (n + 1) / 2);
  const neo_lx *b = copy_tree(l, kind, r, first + step_size, 2 * step_size, n / 2);
  return combined(l, kind, a, b);
}

/* Copies of accumulators along the lanes become one, where there are no payloads. */
static int64_t join_copies(lowering *l, neo_block *in, const neo_stage *s, const tile *part) {
  acc_reg old[MAX_ACCS];
  tile one = *part;
  one.cols = 1;
  for (uint32_t k = 0; k < s->accs.n; k++)
    old[k] = l->acc[s->first_acc + k];
  make_accs(l, in, s, &one, true);
  neo_block *b = neo_lower_open_tile(l, in, &one, true);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    neo_reducer kind = (neo_reducer)s->accs.at[k].kind;
    set_acc(l, b, &l->acc[s->first_acc + k], copy_tree(l, kind, &old[k], 0, 1, part->cols));
  }
  neo_lower_close_tile(l, &one);
  return 1;
}

/* Partial results in lanes and copies -> one element a row and column. */
void neo_lower_join_lanes(lowering *l, neo_block *in, const neo_stage *s, const tile *part,
                          const tile *t) {
  acc_reg old[MAX_ACCS], made[MAX_ACCS];
  int64_t copies = t->n_axis < 0 ? part->cols : 1;
  if (copies > 1 && (copies & (copies - 1)) == 0 && !neo_lower_has_payload(s))
    copies = join_copies(l, in, s, part);
  for (uint32_t k = 0; k < s->accs.n; k++)
    old[k] = l->acc[s->first_acc + k];
  begin_accs(l, in, s, t, false);
  for (uint32_t k = 0; k < s->accs.n; k++)
    made[k] = l->acc[s->first_acc + k];
  neo_block *b = neo_lower_open_tile(l, in, t, false);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    neo_reducer kind = (neo_reducer)s->accs.at[k].kind;
    if (k + 1 < s->accs.n && s->accs.at[k + 1].kind == NEO_RED_NONE) {
      join_winners(l, b, kind, &old[k], &made[k], t->width, copies);
      k++;
    } else {
      set_acc(l, b, &made[k], parts_of(l, kind, &old[k], t->width, copies));
    }
  }
  neo_lower_close_tile(l, t);
}

bool neo_lower_has_payload(const neo_stage *s) {
  for (size_t k = 0; k < s->accs.n; k++)
    if (s->accs.at[k].kind == NEO_RED_NONE)
      return true;
  return false;
}

/* Lanes keep the order of equals only where the payload says it: one own axis, whose position it
 * is. */
bool neo_lower_lanes_fit(const lowering *l, const neo_stage *s) {
  if (!s->axes.n)
    return false;
  if (!neo_lower_has_payload(s))
    return true;
  neo_expr own = neo_axis_ref(l->m, (uint32_t)l->f->axes.n);
  return s->axes.n == 1 && s->accs.n == 2 && s->accs.at[1].body.i == own.i;
}

static void reduce_in_lanes(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                            const stage_bounds *b) {
  tile part = *t;
  if (t->n_axis < 0)
    part.cols = l->s->at[NEO_SCHED_UNROLL_K] > 1 ? l->s->at[NEO_SCHED_UNROLL_K] : 1;
  lane_range c = {.s = s, .t = &part, .b = b};
  begin_accs(l, in, s, &part, true);
  lane_nest(l, in, &c, 0);
  neo_lower_join_lanes(l, in, s, &part, t);
}

/* ---- a payload of nothing is 0 */

void neo_lower_end_payloads(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                            bool lanes) {
  if (!neo_lower_has_payload(s))
    return;
  neo_block *b = neo_lower_open_tile(l, in, t, lanes);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    if (s->accs.at[k].kind != NEO_RED_NONE)
      continue;
    const neo_lx *x = neo_lower_acc(l, s->first_acc + k), *zero = lx_int(l, 0);
    const neo_lx *none = neo_lx_op2(l->k, NEO_OP_EQ, x, lx_int(l, INT64_MIN));
    set_acc(l, b, &l->acc[s->first_acc + k], where_true(l, none, zero, x));
  }
  neo_lower_close_tile(l, t);
}

void neo_lower_show_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const acc_reg *shown, acc_reg *old) {
  neo_block *b = neo_lower_open_tile(l, in, t, true);
  for (uint32_t k = 0; k < s->accs.n; k++)
    set_acc(l, b, &shown[k], neo_lower_acc(l, s->first_acc + k));
  neo_lower_close_tile(l, t);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    old[k] = l->acc[s->first_acc + k];
    l->acc[s->first_acc + k] = shown[k];
  }
  neo_lower_end_payloads(l, in, s, t, true);
}

/* acc += the sums of the blocks before; what is left of the tile's work happens in the last block.
 * */
static neo_block *end_block(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                            bool lanes) {
  const k_block *c = &l->block;
  tile whole = *t; /* scratch has room for dead lanes */
  whole.n_end = NULL;
  for (int pass = 0; pass < 2; pass++) {
    const neo_lx *skip = pass ? c->is_last : c->is_first;
    neo_ls *branch = neo_ls_if(l->k, in, neo_lx_op1(l->k, NEO_OP_NOT, skip));
    neo_block *b = neo_lower_open_tile(l, &branch->body, &whole, lanes);
    lower_terms at = {.n = 0};
    if (t->m_axis >= 0) {
      neo_lower_add_axis(l, &at, (uint32_t)t->m_axis, c->pitch);
      neo_lower_add_term(&at, c->m_lo, -c->pitch, 0);
    }
    if (t->n_axis >= 0) {
      neo_lower_add_axis(l, &at, (uint32_t)t->n_axis, 1);
      neo_lower_add_term(&at, c->n_lo, -1, 0);
    }
    const neo_lx *offset = neo_lower_sum(l, &at, 0), *acc = neo_lower_acc(l, s->first_acc);
    if (pass)
      neo_ls_store(l->k, b, c->partial, offset, acc, NULL);
    else
      set_acc(l, b, &l->acc[s->first_acc],
              neo_lx_op2(l->k, NEO_OP_ADD, acc, neo_lx_load(l->k, c->partial, offset)));
    neo_lower_close_tile(l, t);
  }
  return &neo_ls_if(l->k, in, c->is_last)->body;
}

/* Returns where the stages after it go. */
static neo_block *reduce_stage(lowering *l, neo_block *in, size_t k, const tile *t) {
  const neo_stage *s = &l->f->stages.at[k];
  const stage_bounds *b = &l->bounds[k];
  bool shared = neo_lower_lanes_shared(l),
       in_lanes = !shared && t->width > 1 && neo_lower_lanes_fit(l, s);
  tile scalar = *t;
  if (!shared)
    scalar.width = 1;
  neo_lower_facts(l, l->f, s);
  if (in_lanes) {
    reduce_in_lanes(l, in, s, t, b);
  } else {
    neo_lower_fetch(l, in, &scalar, true);
    begin_accs(l, in, s, &scalar, shared);
    if (l->matrix.on)
      neo_lower_dots(l, in, s, &scalar);
    else
      reduce_loops(l, in, s, &scalar, b, 0);
  }
  neo_lower_end_payloads(l, in, s, &scalar, shared);
  return l->block.on ? end_block(l, in, s, &scalar, shared) : in;
}

void neo_lower_stages(lowering *l, neo_block *in, const tile *t) {
  for (size_t k = 0; k < l->f->stages.n; k++) {
    const neo_stage *s = &l->f->stages.at[k];
    if (s->over)
      continue;
    if (s->accs.n) {
      in = reduce_stage(l, in, k, t);
      continue;
    }
    neo_lower_facts(l, l->f, s);
    neo_lower_store(l, in, s, t);
  }
}

/* The stages of a form at one register tile.
 *
 * Lanes over a shared axis (the store's): every lane has its own accumulator (lower/common/acc.c).
 *
 *     reg acc[rows, cols, w]; acc = 0
 *     for k: for row, col unrolled: for lane: acc[row, col, lane] += body
 *     for row, col unrolled: for lane: Y[...] = finish(acc[row, col, lane])
 *
 * Lanes over a stage's own axis: lanes hold partial results, which are joined (lower/common/lanes.c). */
#include "codegen/lower/common/stage.h"
#include <assert.h>

/* ---- tiles */

static neo_block *open_unrolled(lowering *l, neo_block *in, neo_loop_kind kind, const char *name,
                                int64_t n, const neo_lx **v) {
  uint32_t var = neo_kernel_var(l->k, name);
  *v = neo_lx_var(l->k, var);
  return &neo_ls_for(l->k, in, kind, var, lx_int(l, 0), lx_int(l, n), 1)->loop.body;
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

/* ---- reduction loops */

/* May a loop's bounds, or a branch, use this? Not what changes inside the tile. */
static bool fixed_in_tile(lowering *l, neo_expr e) {
  uint64_t axes = neo_form_axes(l->m, l->f, e);
  int64_t am = l->loops.axis_m, an = l->loops.axis_n;
  if (neo_lower_lanes_shared(l))
    an = l->loops.vector_axis;
  if (am >= 0 && axes >> am & 1)
    return false;
  for (int64_t k = 0; an >= 0 && k < l->walk_n; k++)
    if (axes >> (an - k) & 1)
      return false;
  return true;
}

static bool uses_own_axes(const lowering *l, neo_expr e) {
  return neo_form_axes(l->m, l->f, e) >> l->f->axes.n;
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

neo_block *neo_lower_open_where(lowering *l, neo_block *in, const stage_bounds *b,
                                uint32_t lane_axis, neo_expr *left) {
  *left = b->where;
  if (!b->where.i || !fixed_in_tile(l, b->where))
    return in;
  if (lane_axis != UINT32_MAX && neo_form_axes(l->m, l->f, b->where) >> lane_axis & 1)
    return in;
  *left = (neo_expr){0};
  neo_lower_forget(l);
  return &neo_ls_if(l->k, in, neo_lower_expr(l, b->where))->branch.then;
}

void neo_lower_accumulate(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                          const stage_bounds *b) {
  neo_expr where;
  const neo_lx *outer = l->guard;
  in = neo_lower_open_where(l, in, b, UINT32_MAX, &where);
  neo_block *inner = neo_lower_open_tile(l, in, t, true);
  const neo_lx *cond = neo_lower_cond(l, where);
  if (s->where.i) /* loads may rely on what has become a bound or a branch: they are inside of it */
    l->guard = lx_and(l, outer, cond);
  neo_lower_combine(l, inner, s, cond);
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

void neo_lower_own_range(lowering *l, const stage_bounds *b, uint32_t k, const neo_lx **lo,
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
    neo_acc_begin(l, in, x, t, false);
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
  neo_lower_own_range(l, b, k, &lo, &hi);
  clip_range(l, b, k, t, &lo, &hi);
  if (unrolls(l, s, k, t, lo, hi)) {
    uint32_t var = neo_kernel_var(l->k, "k");
    neo_ls *loop = neo_ls_for(l->k, in, NEO_LOOP_UNROLL, var, lo, hi, 1);
    neo_lower_set_axis(l, axis, neo_lx_var(l->k, var), DEPTH_UNROLL);
    reduce_loops(l, &loop->loop.body, s, t, b, k + 1);
    return;
  }
  neo_block *body = neo_lower_open(l, in, "k", lo, hi, 1, &v);
  neo_lower_set_axis(l, axis, v, l->depth);
  if (k + 1 == s->axes.n)
    neo_lower_ahead_columns(l, body, s, t, axis, v);
  reduce_loops(l, body, s, t, b, k + 1);
  neo_lower_close(l);
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
    neo_block *b = neo_lower_open_tile(l, &branch->branch.then, &whole, lanes);
    lower_terms at = {.n = 0};
    if (c->at)
      neo_lower_add_term(&at, c->at, c->size, c->depth);
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
      neo_acc_set(l, b, &l->acc[s->first_acc],
                  neo_lx_op2(l->k, NEO_OP_ADD, acc, neo_lx_load(l->k, c->partial, offset)));
    neo_lower_close_tile(l, t);
  }
  return &neo_ls_if(l->k, in, c->is_last)->branch.then;
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
    neo_lower_reduce_lanes(l, in, s, t, b);
  } else {
    neo_lower_fetch(l, in, &scalar, true);
    neo_acc_begin(l, in, s, &scalar, shared);
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

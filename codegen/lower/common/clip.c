/* Clips: conditions that bound the steps of a reduction by a tile's rows and columns. The condition
 * is linear in an own axis, with coefficient 1 or -1, and in axes of the tile:
 *
 *     sum[k | k <= m and ...]        rows m .. m + 5
 *     ->
 *     k in 0 .. m + 1                all elements need these steps: no test for this condition
 *     k in m + 1 .. m + 6            some elements need these: each tests the condition
 *                                    no element needs k > m + 5: no iterations
 *
 * Examples are a causal mask, a triangular factor, and a window that moves with the rows beyond the
 * end of the tensor that it reads. */
#include "codegen/lower/common/scope.h"
#include "ir/comparison.h"

uint32_t neo_lower_clips_of(lowering *l, neo_expr where, bool *all, lower_clip *out) {
  neo_expr at[NEO_MAX_CLIPS];
  uint32_t n = 0, found = 0;
  *all = neo_conjuncts_of(l->m, where, at, &n, NEO_MAX_CLIPS);
  if (!*all)
    return 0;
  for (uint32_t k = 0; k < n; k++) {
    lower_clip c = {.own = UINT32_MAX};
    bool is = neo_comparison_of(l->m, at[k], &c.rest) == NEO_AT_LEAST_0 &&
              neo_linear_is_modest(l->m, &c.rest);
    uint32_t n_own = 0;
    for (uint32_t i = 0; i < c.rest.n && is; i++) {
      const neo_node *x = neo_expr_node(l->m, c.rest.term[i].atom);
      bool own = x->op == NEO_OP_AXIS && x->attr >= l->f->axes.n;
      is = x->op == NEO_OP_AXIS || x->op == NEO_OP_SIZE;
      if (!own)
        continue;
      n_own++;
      c.own = (uint32_t)(x->attr - l->f->axes.n);
      c.sign = c.rest.term[i].coef;
      c.rest.term[i].coef = 0;
    }
    if (is && n_own == 1 && (c.sign == 1 || c.sign == -1))
      out[found++] = c;
    else
      *all = false;
  }
  return found;
}

/* The least value of the form in the tile, or the largest; null: it is not known. */
static const neo_lx *end_of(lowering *l, const tile *t, const neo_linear *f, bool most) {
  const neo_lx *sum = lx_int(l, f->constant);
  bool lanes = neo_lower_lanes_shared(l) && l->n_fused <= 1;
  for (uint32_t k = 0; k < f->n; k++) {
    const neo_node *n = neo_expr_node(l->m, f->term[k].atom);
    int64_t coef = f->term[k].coef, axis = n->op == NEO_OP_AXIS ? (int64_t)n->attr : -1;
    bool last = (coef > 0) == most;
    const neo_lx *at;
    if (!coef)
      continue;
    if (axis < 0) {
      at = neo_lower_expr(l, f->term[k].atom);
    } else if (axis == t->m_axis) {
      at = lx_add(l, t->m_at, lx_int(l, last ? t->rows - 1 : 0));
    } else if (axis == t->n_axis && lanes) {
      at = lx_add(l, t->n_at, lx_int(l, last ? t->cols * t->width - 1 : 0));
    } else if (axis == l->lanes.vector_axis || axis == l->lanes.rows || axis == l->lanes.columns ||
               l->n_fused > 1) {
      return NULL;
    } else {
      at = neo_lower_axis(l, (uint32_t)axis);
    }
    sum = lx_add(l, sum, lx_mul(l, at, coef));
  }
  return sum;
}

/* Narrows [lo, hi) by own + f >= 0, or, where the sign is -1, by f - own >= 0. */
static void narrow(lowering *l, const lower_clip *c, const neo_lx *f, const neo_lx **lo,
                   const neo_lx **hi) {
  if (c->sign > 0)
    *lo = lx_max(l, *lo, lx_mul(l, f, -1));
  else
    *hi = lx_min(l, *hi, lx_add(l, f, lx_int(l, 1)));
}

clipped_range neo_lower_clip(lowering *l, const stage_bounds *b, uint32_t own, const tile *t,
                             const neo_lx *lo, const neo_lx *hi) {
  clipped_range r = {.lo = lo, .hi = hi, .all_lo = lo, .all_hi = hi, .all = b->only_clips};
  for (uint32_t k = 0; k < b->n_clips; k++) {
    const lower_clip *c = &b->clip[k];
    const neo_lx *some = c->own == own ? end_of(l, t, &c->rest, true) : NULL;
    const neo_lx *all = some ? end_of(l, t, &c->rest, false) : NULL;
    r.all = r.all && all;
    r.some = r.some || some;
    if (!some)
      continue;
    narrow(l, c, some, &r.lo, &r.hi);
    narrow(l, c, all, &r.all_lo, &r.all_hi);
  }
  r.all = r.all && r.some;
  return r;
}

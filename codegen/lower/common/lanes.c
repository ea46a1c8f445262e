/* Reductions with lanes over a stage's own axis: lanes hold partial results, which a tree over the
 * lanes reduces.
 *
 *     reg acc[rows, copies, w]; acc = 0
 *     for k in steps of copies * w: for copy unrolled: for lane: acc[row, copy, lane] += body
 *     for row, col unrolled: acc[row, col] = tree(acc[row, :, :])
 *
 * The tree's shape and the lane of each element depend on the schedule alone, so that results do
 * not depend on threads. The last vector of a range is masked: dead lanes load nothing, and their
 * accumulators do not change. */
#include "codegen/lower/common/acc.h"

typedef struct {
  const neo_stage *s;
  const tile *t; /* columns of axis_n, or else independent accumulators along the lanes */
  const stage_bounds *b;
  const neo_lx *lo, *hi;
} lane_range;

/* One vector (or t->cols vectors) from position `at`. */
static void accumulate_lanes(lowering *l, neo_block *in, const lane_range *c, const tile *t,
                             const neo_lx *at, bool masked) {
  uint32_t axis = (uint32_t)(l->f->axes.n + c->s->axes.n - 1);
  neo_expr where;
  const neo_lx *outer = l->guard;
  in = neo_lower_open_where(l, in, c->b, axis, &where);
  neo_block *inner = neo_lower_open_tile(l, in, t, true);
  axis_value v = {.n = 0};
  neo_lower_push_part(&v, at, 1, l->depth);
  if (t->n_axis < 0)
    neo_lower_push_part(&v, l->col, neo_lower_column_stride(t), DEPTH_UNROLL);
  neo_lower_push_part(&v, l->lane, 1, DEPTH_LANE);
  neo_lower_set_parts(l, axis, v);
  if (masked) {
    l->mask = lx_lt(l, neo_lower_axis(l, axis), c->hi);
    l->mask_axis = (int32_t)axis;
  }
  const neo_lx *cond = neo_lower_cond(l, where);
  if (c->s->where.i)
    l->guard = lx_and(l, outer, cond);
  if (masked)
    cond = lx_and(l, l->mask, cond);
  neo_lower_combine(l, inner, c->s, cond);
  l->guard = outer;
  neo_lower_fill_row_stash(l, inner, c->s);
  neo_lower_close_tile(l);
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
    neo_lower_prefetch_row(l, body, c->s, v, width);
  accumulate_lanes(l, body, c, t, v, masked);
  neo_lower_close(l);
}

static void lane_loops(lowering *l, neo_block *in, lane_range *c) {
  tile one = *c->t;
  int64_t width = c->t->width;
  const neo_lx *from = c->lo;
  if (c->t->n_axis < 0 && c->t->cols > 1) {
    const neo_lx *to = neo_lower_floor_to_multiple(l, c->lo, c->hi, width * c->t->cols);
    lane_loop(l, in, c, c->t, from, to, false);
    from = to;
    one.cols = 1;
  }
  const neo_lx *to = neo_lower_floor_to_multiple(l, c->lo, c->hi, width);
  lane_loop(l, in, c, &one, from, to, false);
  lane_loop(l, in, c, &one, to, c->hi, true);
}

static void outer_loops(lowering *l, neo_block *in, lane_range *c, uint32_t k) {
  const neo_lx *lo, *hi, *v;
  neo_lower_own_range(l, c->b, k, &lo, &hi);
  if (k + 1 == c->s->axes.n) {
    clipped_range r = neo_lower_clip(l, c->b, k, c->t, lo, hi);
    c->lo = r.lo;
    c->hi = r.hi;
    lane_loops(l, in, c);
    return;
  }
  neo_block *body = neo_lower_open(l, in, "k", lo, hi, 1, &v);
  neo_lower_set_axis(l, (uint32_t)l->f->axes.n + k, v, l->depth);
  outer_loops(l, body, c, k + 1);
  neo_lower_close(l);
}

/* Lane `lane` of copy `col` of an accumulator at the current row. */
static const neo_lx *lane_of(lowering *l, const acc_reg *r, int64_t col, int64_t lane) {
  const neo_lx *index[] = {lx_or_0(l, l->row), l->col ? l->col : lx_int(l, col), lx_int(l, lane)};
  return neo_lx_reg(l->k, r->reg, index, r->rank);
}

/* Reduces n partial results by a tree. Part k of accumulator r is lane k % w of copy k / w. */
static const neo_lx *lane_tree(lowering *l, neo_reducer kind, const acc_reg *r, int64_t width,
                               int64_t first, int64_t step_size, int64_t n) {
  if (n == 1)
    return lane_of(l, r, first / width, first % width);
  const neo_lx *a = lane_tree(l, kind, r, width, first, 2 * step_size, (n + 1) / 2);
  const neo_lx *b = lane_tree(l, kind, r, width, first + step_size, 2 * step_size, n / 2);
  return neo_acc_combined(l, kind, a, b);
}

static const neo_lx *parts_of(lowering *l, neo_reducer kind, const acc_reg *r, int64_t width,
                              int64_t copies) {
  return lane_tree(l, kind, r, width, 0, 1, width * copies);
}

/* The winner of all lanes. Among equals it is the one with the smallest payload, which came
 * first. */
static void join_winners(lowering *l, neo_block *in, neo_reducer kind, const acc_reg *part,
                         const acc_reg *whole, int64_t width, int64_t copies) {
  for (int64_t i = 0; i < width * copies; i++) {
    const neo_lx *x = lane_of(l, &part[0], i / width, i % width);
    const neo_lx *p = lane_of(l, &part[1], i / width, i % width);
    const neo_lx *index[] = {lx_or_0(l, l->row), lx_or_0(l, l->col)};
    const neo_lx *best = neo_lx_reg(l->k, whole[0].reg, index, 2);
    const neo_lx *best_p = neo_lx_reg(l->k, whole[1].reg, index, 2);
    const neo_lx *none = lx_int(l, INT64_MIN);
    const neo_lx *some = neo_lx_op2(l->k, NEO_OP_NE, p, none);
    const neo_lx *take = neo_acc_wins(l, kind, x, best, best_p);
    const neo_lx *equal = neo_lx_op2(l->k, NEO_OP_EQ, x, best);
    if (neo_type_is_float((neo_type)x->type)) {
      const neo_lx *nan = neo_lx_op2(l->k, NEO_OP_AND, neo_lx_op2(l->k, NEO_OP_NE, x, x),
                                     neo_lx_op2(l->k, NEO_OP_NE, best, best));
      equal = neo_lx_op2(l->k, NEO_OP_OR, equal, nan);
    }
    take =
        neo_lx_op2(l->k, NEO_OP_OR, take, neo_lx_op2(l->k, NEO_OP_AND, equal, lx_lt(l, p, best_p)));
    take = neo_lx_op2(l->k, NEO_OP_AND, take, some);
    neo_ls_set(l->k, in, whole[1].reg, index, 2, neo_acc_where(l, take, p, best_p));
    const neo_lx *again = neo_lx_op2(l->k, NEO_OP_EQ, neo_lx_reg(l->k, whole[1].reg, index, 2), p);
    again = neo_lx_op2(l->k, NEO_OP_AND, again, some);
    neo_ls_set(l->k, in, whole[0].reg, index, 2, neo_acc_where(l, again, x, best));
  }
}

/* Reduces the copies of each lane by a tree, all lanes at once. */
static const neo_lx *copy_tree(lowering *l, neo_reducer kind, const acc_reg *r, int64_t first,
                               int64_t step_size, int64_t n) {
  if (n == 1) {
    const neo_lx *index[] = {lx_or_0(l, l->row), lx_int(l, first), l->lane};
    return neo_lx_reg(l->k, r->reg, index, r->rank);
  }
  const neo_lx *a = copy_tree(l, kind, r, first, 2 * step_size, (n + 1) / 2);
  const neo_lx *b = copy_tree(l, kind, r, first + step_size, 2 * step_size, n / 2);
  return neo_acc_combined(l, kind, a, b);
}

/* Copies of accumulators along the lanes become one where there are no payloads. */
static int64_t join_copies(lowering *l, neo_block *in, const neo_stage *s, const tile *part) {
  acc_reg old[MAX_ACCS];
  tile one = *part;
  one.cols = 1;
  for (uint32_t k = 0; k < s->accs.n; k++)
    old[k] = l->acc[s->first_acc + k];
  neo_acc_make(l, in, s, &one, true);
  neo_block *b = neo_lower_open_tile(l, in, &one, true);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    neo_reducer kind = (neo_reducer)s->accs.at[k].kind;
    neo_acc_set(l, b, &l->acc[s->first_acc + k], copy_tree(l, kind, &old[k], 0, 1, part->cols));
  }
  neo_lower_close_tile(l);
  return 1;
}

/* Partial results in lanes and copies become one element for each row and column. */
void neo_lower_join_lanes(lowering *l, neo_block *in, const neo_stage *s, const tile *part,
                          const tile *t) {
  acc_reg old[MAX_ACCS], made[MAX_ACCS];
  int64_t copies = t->n_axis < 0 ? part->cols : 1;
  if (copies > 1 && (copies & (copies - 1)) == 0 && !neo_lower_has_payload(s))
    copies = join_copies(l, in, s, part);
  for (uint32_t k = 0; k < s->accs.n; k++)
    old[k] = l->acc[s->first_acc + k];
  neo_acc_begin(l, in, s, t, false);
  for (uint32_t k = 0; k < s->accs.n; k++)
    made[k] = l->acc[s->first_acc + k];
  neo_block *b = neo_lower_open_tile(l, in, t, false);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    neo_reducer kind = (neo_reducer)s->accs.at[k].kind;
    if (k + 1 < s->accs.n && s->accs.at[k + 1].kind == NEO_RED_NONE) {
      join_winners(l, b, kind, &old[k], &made[k], t->width, copies);
      k++;
    } else {
      neo_acc_set(l, b, &made[k], parts_of(l, kind, &old[k], t->width, copies));
    }
  }
  neo_lower_close_tile(l);
}

/* A winner among equals is found across lanes only if the payload tells the order of steps: the
 * stage must have one own axis, and the payload must be the position along it. */
bool neo_lower_lanes_fit(const lowering *l, const neo_stage *s) {
  if (!s->axes.n)
    return false;
  if (!neo_lower_has_payload(s))
    return true;
  neo_expr own = neo_axis_ref(l->m, (uint32_t)l->f->axes.n);
  return s->axes.n == 1 && s->accs.n == 2 && s->accs.at[1].body.i == own.i;
}

void neo_lower_reduce_lanes(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                            const stage_bounds *b) {
  tile part = *t;
  if (t->n_axis < 0)
    part.cols = l->lanes.partial_sums > 1 ? l->lanes.partial_sums : 1;
  lane_range c = {.s = s, .t = &part, .b = b};
  neo_acc_begin(l, in, s, &part, true);
  outer_loops(l, in, &c, 0);
  neo_lower_join_lanes(l, in, s, &part, t);
}

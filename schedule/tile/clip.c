/* Estimates the share of a reduction's steps that remain under its condition. A window that exceeds
 * its operand has conditions
 *
 *     sum[p: 0..5, q: 0..5 | 4 - h <= p and p < 10 - h and 4 - w <= q and q < 10 - w] ...
 *
 * between one reduction axis and one shared axis. If the shared axis is outside of the register
 * tile, the lowering turns them into loop bounds; if it is the axis of rows, into bounds of the
 * steps that some row of the tile needs. A tile has the remaining steps at its position. */
#include "schedule/tile/model.h"

enum { MOST_POINTS = 4096 };

static int64_t floor_div(int64_t a, int64_t b) { /* b > 0 */
  return a / b - (a % b < 0);
}

/* Reads small <= large (less: <) as a clip. */
static bool clip_of(neo_module *m, const neo_form *f, neo_expr small, neo_expr large, bool less,
                    neo_clip *out) {
  neo_linear a, b, d;
  neo_clip c = {.own = UINT32_MAX, .shared = UINT32_MAX};
  bool linear = neo_flat_linear(m, small, &a) && neo_flat_linear(m, large, &b);
  if (!linear || !neo_linear_add(&b, -1, &a, &d) || d.n != 2)
    return false;
  for (uint32_t k = 0; k < 2; k++) {
    const neo_node *n = neo_expr_node(m, d.term[k].atom);
    bool own = n->attr >= f->axes.n;
    if (n->op != NEO_OP_AXIS)
      return false;
    *(own ? &c.own : &c.shared) = (uint32_t)(own ? n->attr - f->axes.n : n->attr);
    *(own ? &c.of_own : &c.of_shared) = d.term[k].coef;
  }
  c.constant = d.constant - less;
  *out = c;
  return c.own != UINT32_MAX && c.shared != UINT32_MAX;
}

static uint32_t add_clips(neo_module *m, const neo_form *f, neo_expr where, neo_clip *out,
                          uint32_t have) {
  const neo_node n = *neo_expr_node(m, where);
  if (n.arg.n != 2 || have == NEO_MAX_CLIPS)
    return have;
  neo_expr a = neo_list_expr(m, n.arg, 0), b = neo_list_expr(m, n.arg, 1);
  if (n.op == NEO_OP_AND)
    return add_clips(m, f, b, out, add_clips(m, f, a, out, have));
  bool compares = n.op == NEO_OP_LE || n.op == NEO_OP_LT;
  if (!compares || neo_expr_type(m, a) != NEO_I64_T)
    return have;
  return have + clip_of(m, f, a, b, n.op == NEO_OP_LT, &out[have]);
}

uint32_t neo_clips_of(neo_module *m, const neo_form *f, neo_expr where, neo_clip *out) {
  return where.i ? add_clips(m, f, where, out, 0) : 0;
}

/* Steps of own axis `own` that some element in [v, last] of the shared axis needs. */
static int64_t steps_at(const neo_tiles *q, uint32_t own, uint32_t shared, int64_t v,
                        int64_t last) {
  int64_t lo = 0, hi = q->own[own];
  for (uint32_t k = 0; k < q->clips.n; k++) {
    const neo_clip *c = &q->clips.at[k];
    if (c->own != own || c->shared != shared)
      continue;
    int64_t at = c->of_shared > 0 ? last : v;
    int64_t rest = c->of_shared * at + c->constant + c->of_own * q->first[own];
    if (c->of_own > 0) {
      int64_t from = -floor_div(rest, c->of_own);
      lo = from > lo ? from : lo;
    } else {
      int64_t to = floor_div(rest, -c->of_own) + 1;
      hi = to < hi ? to : hi;
    }
  }
  return hi > lo ? hi - lo : 0;
}

static double part_of(const neo_tiles *q, uint32_t shared, int64_t rows) {
  double part = 1;
  int64_t n = q->shared[shared];
  for (uint32_t own = 0; own < q->s->axes.n; own++) {
    double steps = 0, tiles = 0;
    for (int64_t v = 0; v < n; v += rows, tiles++)
      steps += (double)steps_at(q, own, shared, v, v + rows > n ? n - 1 : v + rows - 1);
    part *= steps > 0 ? steps / tiles / (double)q->own[own] : 1;
  }
  return part;
}

double neo_tiles_clip(neo_tiles *q, uint32_t shared, int64_t rows) {
  if (!q->clips.n || rows > NEO_CLIP_ROWS || q->shared[shared] > MOST_POINTS)
    return 1;
  double *part = &q->clips.part[shared][rows];
  if (*part == 0)
    *part = part_of(q, shared, rows);
  return *part;
}

/* ---- lanes that are tested */

/* The number of conjuncts that use one of the axes. */
static uint32_t conjuncts(const neo_tiles *q, neo_expr where, uint64_t axes) {
  const neo_node *n = neo_expr_node(q->m, where);
  if (n->op == NEO_OP_AND)
    return conjuncts(q, neo_expr_arg(q->m, where, 0), axes) +
           conjuncts(q, neo_expr_arg(q->m, where, 1), axes);
  return (neo_form_axes(q->m, q->f, where) & axes) != 0;
}

/* Do the conditions on the tile's axes relate only the axis of lanes to the innermost step? */
static bool tests_lanes_only(const neo_tiles *q, uint64_t tile, uint32_t lanes_along) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < q->clips.n; k++) {
    const neo_clip *c = &q->clips.at[k];
    if (!(tile >> c->shared & 1))
      continue;
    if (c->shared != lanes_along || c->own + 1 != q->s->axes.n)
      return false;
    n++;
  }
  return n == conjuncts(q, q->s->where, tile);
}

/* Does the condition exclude a lane in [v, last] at a step? */
static bool excludes(const neo_tiles *q, uint32_t shared, int64_t v, int64_t last, int64_t step) {
  for (uint32_t k = 0; k < q->clips.n; k++) {
    const neo_clip *c = &q->clips.at[k];
    int64_t end = c->of_shared > 0 ? v : last;
    if (c->shared == shared && c->of_own * step + c->of_shared * end + c->constant < 0)
      return true;
  }
  return false;
}

double neo_tiles_tested(neo_tiles *q, const neo_schedule *s) {
  const neo_loop_params *p = &s->loops;
  int64_t rows = p->axis_m, v = p->vector_axis, n = q->shared[v];
  int64_t lanes = p->vector_width, vectors = (n + lanes - 1) / lanes, tested = 0;
  uint32_t own = (uint32_t)q->s->axes.n - 1;
  uint64_t tile = 1ULL << v | (rows >= 0 ? 1ULL << rows : 0);
  bool fixed_tiles = vectors < 2 * p->tile_n && !p->block_n &&
                     neo_steps_unroll(q->own[own], p->tile_m * p->tile_n);
  if (p->fused > 1 || !fixed_tiles || !tests_lanes_only(q, tile, (uint32_t)v))
    return 1;
  for (int64_t at = 0; at < n; at += lanes)
    for (int64_t k = 0; k < q->own[own]; k++)
      tested +=
          excludes(q, (uint32_t)v, at, at + lanes > n ? n - 1 : at + lanes - 1, q->first[own] + k);
  return (double)tested / (double)(vectors * q->own[own]);
}

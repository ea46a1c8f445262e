/* How much of a reduction its condition leaves. Windows that stick out of an operand are conditions
 *
 *     sum[p: 0..5, q: 0..5 | 4 - h <= p and p < 10 - h and 4 - w <= q and q < 10 - w] ...
 *
 * between one axis of the reduction and one shared axis. Where the shared axis lies outside of the
 * register tile the lowering makes them bounds of the loop, and the steps that a tile takes are
 * what is left at its place: on average this part of all. */
#include "schedule/tile.h"

enum { MOST_POINTS = 4096 };

static int64_t floor_div(int64_t a, int64_t b) { /* b > 0 */
  return a / b - (a % b < 0);
}

/* of_own*own + of_shared*shared + constant >= 0 */
static bool add_clip(neo_tiles *q, neo_expr small, neo_expr large, int64_t less) {
  neo_linear a, b, d;
  neo_clip c = {.own = UINT32_MAX, .shared = UINT32_MAX};
  bool linear = neo_flat_linear(q->m, small, &a) && neo_flat_linear(q->m, large, &b);
  if (!linear || !neo_linear_add(&b, -1, &a, &d) || d.n != 2)
    return false;
  for (uint32_t k = 0; k < 2; k++) {
    const neo_node *n = neo_expr_node(q->m, d.term[k].atom);
    bool own = n->attr >= q->f->axes.n;
    if (n->op != NEO_OP_AXIS)
      return false;
    *(own ? &c.own : &c.shared) = (uint32_t)n->attr;
    *(own ? &c.of_own : &c.of_shared) = d.term[k].coef;
  }
  if (c.own == UINT32_MAX || c.shared == UINT32_MAX || q->clips.n == NEO_MAX_CLIPS)
    return false;
  c.own -= (uint32_t)q->f->axes.n;
  c.constant = d.constant - less;
  q->clips.at[q->clips.n++] = c;
  return true;
}

void neo_tiles_find_clips(neo_tiles *q, neo_expr where) {
  if (!where.i)
    return;
  const neo_node n = *neo_expr_node(q->m, where);
  if (n.arg.n != 2)
    return;
  neo_expr a = neo_list_expr(q->m, n.arg, 0), b = neo_list_expr(q->m, n.arg, 1);
  if (n.op == NEO_OP_AND) {
    neo_tiles_find_clips(q, a);
    neo_tiles_find_clips(q, b);
  } else if ((n.op == NEO_OP_LE || n.op == NEO_OP_LT) && neo_expr_type(q->m, a) == NEO_I64_T) {
    add_clip(q, a, b, n.op == NEO_OP_LT);
  }
}

/* Steps of own axis `own` at element v of the shared axis. */
static int64_t steps_at(const neo_tiles *q, uint32_t own, uint32_t shared, int64_t v) {
  int64_t lo = 0, hi = q->own[own];
  for (uint32_t k = 0; k < q->clips.n; k++) {
    const neo_clip *c = &q->clips.at[k];
    if (c->own != own || c->shared != shared)
      continue;
    int64_t rest = c->of_shared * v + c->constant + c->of_own * q->first[own];
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

double neo_tiles_clip(neo_tiles *q, uint32_t shared) {
  double part = 1;
  if (q->clips.part[shared] > 0)
    return q->clips.part[shared];
  for (uint32_t own = 0; own < q->s->axes.n && q->shared[shared] <= MOST_POINTS; own++) {
    double steps = 0, all = (double)q->own[own] * (double)q->shared[shared];
    for (int64_t v = 0; v < q->shared[shared]; v++)
      steps += (double)steps_at(q, own, shared, v);
    part *= steps > 0 ? steps / all : 1;
  }
  return q->clips.part[shared] = part;
}

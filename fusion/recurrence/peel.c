/* Peeling (index-set splitting): a band is split where conditions on its index alone change, so
 * that each part decides them.
 *
 *   band t in 0..T                             band t in 0..1
 *     leaf h[t]   # h[t - 1, k] else h0[k]  ->   leaf h[t]   # h0[k]
 *                                              band t in 1..T
 *                                                leaf h[t]   # h[t - 1, k]
 *
 * Candidates for cuts are the iterations where a condition changes or a definition begins or ends.
 * At most five are taken: near the begin the last one, near the end the first one, and three in
 * between or at positions that are not known. */
#include "fusion/recurrence/internal.h"

/* Adds a cut to the list, once. */
uint32_t outline_add_cut(neo_expr *cut, uint32_t n, uint32_t most, neo_expr at) {
  for (uint32_t k = 0; k < n; k++)
    if (cut[k].i == at.i)
      return n;
  if (n < most)
    cut[n++] = at;
  return n;
}

bool outline_is_empty(const outliner *o, const outline_range *r) {
  return outline_at_most(o, r->hi, r->lo);
}

/* ---- choosing cuts */

typedef struct {
  neo_expr first, last;           /* last cut near the begin, first one near the end; 0: none */
  neo_expr other[OUTLINE_RANGES]; /* in between, or of unknown position: in order */
  uint32_t n;
} chosen;

static void choose_other(const outliner *o, chosen *c, neo_expr cut) {
  int64_t x;
  uint32_t k = c->n;
  if (c->n == 3 || (c->n && !outline_distance(o, cut, c->other[0], &x)))
    return;
  for (; k > 0 && outline_distance(o, cut, c->other[k - 1], &x) && x < 0; k--)
    c->other[k] = c->other[k - 1];
  c->other[k] = cut;
  c->n++;
}

static chosen choose(const outliner *o, neo_expr lo, neo_expr hi, const neo_expr *cut, uint32_t n) {
  chosen c = {0};
  for (uint32_t k = 0; k < n; k++) {
    int64_t above, below, x;
    if (outline_at_most(o, cut[k], lo) || outline_at_most(o, hi, cut[k]))
      continue;
    bool near_lo = outline_distance(o, cut[k], lo, &above);
    bool near_hi = outline_distance(o, hi, cut[k], &below);
    if (near_lo && (!near_hi || above <= below)) {
      if (!c.first.i || (outline_distance(o, cut[k], c.first, &x) && x > 0))
        c.first = cut[k];
    } else if (near_hi) {
      if (!c.last.i || (outline_distance(o, cut[k], c.last, &x) && x < 0))
        c.last = cut[k];
    } else {
      choose_other(o, &c, cut[k]);
    }
  }
  return c;
}

/* ---- ranges */

uint32_t outline_ranges_of(const outliner *o, neo_expr lo, neo_expr hi, const neo_expr *cut,
                           uint32_t n_cuts, outline_range *out) {
  chosen c = choose(o, lo, hi, cut, n_cuts);
  neo_expr all[OUTLINE_RANGES];
  uint32_t n = 0;
  if (c.first.i)
    all[n++] = c.first;
  for (uint32_t k = 0; k < c.n; k++)
    all[n++] = c.other[k];
  if (c.last.i)
    all[n++] = c.last;
  out[0] = (outline_range){.lo = lo};
  for (uint32_t k = 0; k < n; k++) {
    neo_expr at = outline_max(o, out[k].lo, outline_min(o, all[k], hi));
    out[k].hi = at;
    out[k].to = all[k];
    out[k + 1] = (outline_range){.lo = at, .from = all[k]};
  }
  out[n].hi = hi;
  return n + 1;
}

/* Iterations at which a condition in the loop changes, or a definition begins or ends. */
static uint32_t loop_cuts(outliner *o, const neo_order_step *order, neo_expr *cut, uint32_t most) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < order->n_members; k++) {
    neo_order_member d = order->member[k];
    if (d.owner.i)
      continue;
    neo_expr own[OUTLINE_CUTS], delay = outline_number(o, d.delay);
    const outline_instance *x = outline_instance_of(o, d.def);
    uint32_t n_own = outline_cuts(o, &x->rec, d.axis, false, own, OUTLINE_CUTS - 2);
    own[n_own++] = outline_number(o, 0);
    own[n_own++] = neo_def_axis(o->m, &x->rec, d.axis)->hi;
    for (uint32_t i = 0; i < n_own; i++)
      n = outline_add_cut(
          cut, n, most, outline_difference(o, outline_sum(o, own[i], delay), outline_number(o, 0)));
  }
  return n;
}

uint32_t outline_peel(outliner *o, const neo_order_step *order, outline_range *r) {
  neo_expr cut[4 * OUTLINE_CUTS], lo, hi;
  neo_order_iterations(o->m, order, &lo, &hi);
  uint32_t n = loop_cuts(o, order, cut, 4 * OUTLINE_CUTS);
  return outline_ranges_of(o, lo, hi, cut, n, r);
}

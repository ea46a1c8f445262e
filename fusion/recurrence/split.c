/* Splitting (index-set splitting): a definition is cut along an axis without a band where a
 * condition compares the axis with the index of a band (peel.c splits bands). Parts without a
 * reader are dropped.
 *
 *   band j in 0..N                                   band j in 0..N
 *     leaf L[0..N, j]   # select(i < j, 0, ..)   ->    leaf L[0..j, j]   # 0
 *                                                      leaf L[j..N, j] */
#include "fusion/recurrence/internal.h"

/* Has the instance no element that is read? The condition of a partial definition's select fails
 * for those that are not. */
static bool is_unread(outliner *o, const outline_instance *x) {
  neo_module *m = o->m;
  neo_def_rec d = *neo_def_at(m, x->def);
  if (!outline_is_partial(o, x->def))
    return false;
  for (uint32_t k = 0; k < d.finish.n; k++) {
    neo_expr e = neo_list_expr(m, d.finish, k);
    if (neo_expr_node(m, e)->op != NEO_OP_SELECT)
      return false;
    neo_expr is = outline_shifted(o, x, neo_expr_arg(m, e, 0));
    neo_expr none = neo_op1(m, NEO_OP_NOT, outline_of_kind(o, outline_own_row(o, x), is));
    if (!outline_proved(o, x, d.n_out, none))
      return false;
  }
  return true;
}

/* The cuts of the instance along its axis. Partial definitions in an iteration have the same cuts,
 * so that values pass between them in registers. */
static uint32_t cuts_of(outliner *o, const outline_instance *x, uint32_t axis, neo_expr *cut,
                        uint32_t most) {
  uint32_t n = outline_cuts(o, &x->rec, axis, true, cut, most);
  const neo_order_step *loop = o->around.n ? o->around.at[o->around.n - 1].order : NULL;
  if (!outline_is_partial(o, x->def))
    return n;
  for (uint32_t k = 0; loop && k < loop->n_members; k++) {
    neo_def d = loop->member[k].def;
    neo_expr other[OUTLINE_CUTS];
    if (d.i == x->def.i || !outline_is_partial(o, d) || neo_def_at(o->m, d)->n_out != x->rec.n_out)
      continue;
    uint32_t n_other =
        outline_cuts(o, &outline_instance_of(o, d)->rec, axis, true, other, OUTLINE_CUTS);
    for (uint32_t i = 0; i < n_other; i++)
      n = outline_add_cut(cut, n, most, other[i]);
  }
  return n;
}

void outline_split(outliner *o, neo_trees *to, outline_instance *x, uint32_t axis) {
  neo_expr cut[OUTLINE_CUTS];
  outline_range r[OUTLINE_RANGES];
  uint32_t n = 0, n_out = x->rec.n_out;
  for (; axis < n_out && !n; axis++)
    if (!x->fixed[axis] && !x->rec.out_map.n)
      n = cuts_of(o, x, axis, cut, OUTLINE_CUTS);
  if (!n) {
    if (!is_unread(o, x))
      outline_push(o, to, x);
    return;
  }
  axis--;
  neo_expr hi = neo_def_axis(o->m, &x->rec, axis)->hi;
  n = outline_ranges_of(o, outline_number(o, 0), hi, cut, n, r);
  for (uint32_t k = 0; k < n; k++) {
    outline_instance *y = NEO_NEW(o->a, outline_instance);
    if (outline_is_empty(o, &r[k]))
      continue;
    *y = *x;
    if (n > 1) {
      y->base[axis] = x->base[axis].i ? outline_sum(o, x->base[axis], r[k].lo) : r[k].lo;
      y->extent[axis] = outline_difference(o, r[k].hi, r[k].lo);
      outline_shift(o, y);
    }
    outline_split(o, to, y, axis + 1);
  }
}

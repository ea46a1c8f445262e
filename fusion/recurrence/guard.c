/* Guards: a band has the iterations of all its definitions; a guard skips those in which a
 * definition has no position.
 *
 *   band t in 0..T + 1               band t in 0..T + 1
 *     leaf h[t]               ->       guard t < T
 *     leaf y[t - 1]                      leaf h[t]
 *                                      guard 1 <= t
 *                                        leaf y[t - 1]
 *
 * Conditions that the bands imply are dropped, and most guards were peeled off before (peel.c). A
 * definition of one kind of rows runs in blocks of that kind (rows.c). */
#include "fusion/recurrence/internal.h"

neo_expr outline_guard(const outliner *o, neo_def d) {
  neo_module *m = o->m;
  neo_expr all = o->is_kind;
  for (size_t k = 0; k < o->around.n; k++) {
    const outline_around *l = &o->around.at[k];
    const neo_order_member *x = outline_member(l->order, d);
    if (!l->index.i)
      continue;
    neo_expr at = outline_difference(o, l->index, outline_number(o, x->delay));
    neo_expr all_rows = x->owner.i ? neo_tensor_at(m, x->owner)->bound
                                   : neo_def_axis(m, neo_def_at(m, d), x->axis)->hi;
    neo_expr part[2] = {neo_op2(m, NEO_OP_LE, outline_number(o, 0), at),
                        neo_op2(m, NEO_OP_LT, at, all_rows)};
    for (int i = 0; i < 2; i++)
      if (!outline_holds(o, part[i]))
        all = all.i ? neo_op2(m, NEO_OP_AND, all, part[i]) : part[i];
  }
  return all;
}

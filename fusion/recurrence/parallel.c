/* Parallelization: the iterations of a band that carries no dependence become positions of an axis.
 *
 *   band i in j + 1..N                        ->     leaf L[j + 1..N, j]
 *     leaf L[i, j]   # reads L[i, k], k < j
 *
 * A triangular recurrence keeps its diagonal as a loop; the parts above and below become vectors.
 * The definitions of the band have to read elements of their own iteration, or of iterations
 * outside of the band, and must not be under conditions that differ between iterations, as those of
 * a `case` do. */
#include "fusion/recurrence/internal.h"

typedef struct {
  outliner *o;
  const outline_around *range; /* range of iterations */
  const outline_instance *x;
  bool carried;
} carry_look;

/* Was the read element of definition `from` made in the reader's iteration, or outside of the
 * range? */
static bool is_outside(const carry_look *c, const neo_order_member *from, neo_expr read,
                       uint32_t n_axes) {
  const outliner *o = c->o;
  neo_module *m = o->m;
  const neo_order_member *to = outline_member(c->range->order, c->x->def);
  neo_expr here = outline_sum(o, c->range->lo, neo_axis_ref(m, to->axis));
  neo_expr there =
      outline_sum(o, neo_expr_arg(m, read, from->axis), outline_number(o, from->delay));
  int64_t x;
  if (outline_distance(o, there, here, &x) && x == 0)
    return true;
  return outline_proved(o, c->x, n_axes, neo_op2(m, NEO_OP_LT, there, c->range->lo)) ||
         outline_proved(o, c->x, n_axes, neo_op2(m, NEO_OP_LE, c->range->hi, there));
}

static void look_carried(void *ctx, neo_expr read, uint32_t n_axes) {
  carry_look *c = ctx;
  neo_module *m = c->o->m;
  uint32_t t = neo_expr_node(m, read)->attr;
  for (uint32_t k = 0; k < c->range->order->n_members && !c->carried; k++) {
    const neo_order_member *from = &c->range->order->member[k];
    c->carried =
        outline_is_result(m, neo_def_at(m, from->def), t) && !is_outside(c, from, read, n_axes);
  }
}

/* Has every definition all iterations of the range, without a carried dependence or a condition of
 * an iteration? */
bool outline_is_parallel(outliner *o, const neo_order_step *order, const outline_range *r) {
  bool is = true;
  NEO_PUSH(o->a, &o->around, (outline_around){.order = order, .lo = r->lo, .hi = r->hi});
  for (uint32_t k = 0; k < order->n_members && is; k++) {
    neo_order_member d = order->member[k];
    neo_expr delay = outline_number(o, d.delay);
    neo_expr hi = neo_def_axis(o->m, neo_def_at(o->m, d.def), d.axis)->hi;
    is = !neo_def_at(o->m, d.def)->out_map.n && outline_at_most(o, delay, r->lo) &&
         outline_at_most(o, r->hi, outline_sum(o, hi, delay));
    if (!is)
      break;
    carry_look c = {o, &o->around.at[o->around.n - 1], outline_instance_of(o, d.def), false};
    outline_reads(o, c.x, look_carried, &c);
    is = !c.carried && !outline_is_needed_by_iteration(o, c.x, d.axis);
  }
  o->around.n--;
  return is;
}

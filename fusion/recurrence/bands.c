/* The schedule tree of an order (ir/order.h):
 *
 *   order t { h, y }                 ->   band t in 0..1: leaf h[t]   # h0
 *   h[t] = g(h[t - 1] else h0)            band t in 1..T: leaf h[t]   # h[t - 1]
 *   y[t] = f(h[t])                        leaf y[0..T]
 *
 * Bands are rewritten from the outermost inwards, since facts of a band (its index is 0, its index
 * is at least 1) decide conditions of the bands and definitions in it. Rewrites of a band:
 *
 *   level        levels.c    rows become blocks of rows
 *   hoist        hoist.c     producers outside of the order run before blocks of iterations
 *   peel         peel.c      iterations are divided where a condition changes
 *   parallelize  parallel.c  iterations without carried dependences become positions of an axis
 *   tile         tile.c      iterations become blocks; definitions that need none of their block
 *                            run before it
 *
 * Rewrites of a definition, below its bands:
 *
 *   shift        shift.c     axes become the bands' indices, less the definition's delays
 *   simplify     simplify.c  expressions are simplified by facts of the bands
 *   guard        guard.c     a condition skips iterations in which the definition has no position
 *   lists        lists.c     a further band runs over the lists of the iteration's rows
 *   split        split.c     axes without a band are divided where a condition changes */
#include "fusion/recurrence/internal.h"

neo_size outline_index_of(outliner *o, const neo_order_step *order, neo_expr from, neo_expr to) {
  neo_module *m = o->m;
  neo_facts facts = {NULL, 0, o->assume.at, (uint32_t)o->assume.n};
  const neo_order_member *x = &order->member[0];
  int64_t lo, hi, unused;
  unsigned depth = o->blocks;
  for (size_t k = 0; k < o->around.n; k++)
    depth += o->around.at[k].index.i != 0;
  (void)neo_interval(o->p, &facts, from, &lo, &unused);
  (void)neo_interval(o->p, &facts, to, &unused, &hi);
  return neo_size_add(m,
                      (neo_size_rec){.kind = NEO_SIZE_RUNTIME,
                                     .loop_index = true,
                                     .depth = (uint8_t)depth,
                                     .name = neo_def_axis(m, neo_def_at(m, x->def), x->axis)->name,
                                     .lo = lo,
                                     .hi = hi > lo ? hi - 1 : lo});
}

void outline_assume_between(outliner *o, neo_expr lo, neo_expr at, neo_expr hi) {
  NEO_PUSH(o->a, &o->assume, neo_op2(o->m, NEO_OP_LE, lo, at));
  NEO_PUSH(o->a, &o->assume, neo_op2(o->m, NEO_OP_LT, at, hi));
}

/* Assumes that the iteration is between the range's cuts and in the loop, which may end before a
 * cut. */
static void assume_in_range(outliner *o, const neo_order_step *order, const outline_range *r,
                            neo_expr at) {
  neo_expr lo, hi;
  outline_assume_between(o, r->from.i ? r->from : r->lo, at, r->to.i ? r->to : r->hi);
  neo_order_iterations(o->m, order, &lo, &hi);
  if (r->from.i || r->to.i)
    outline_assume_between(o, lo, at, hi);
}

void outline_add_iterations(outliner *o, neo_trees *to, const neo_order_step *order,
                            const outline_range *r) {
  size_t n_assume = o->assume.n;
  neo_expr base = r->base.i ? r->base : outline_number(o, 0);
  neo_trees in = {0};
  neo_tree_band band = {.down = order->down};
  band.lo = outline_difference(o, r->lo, base);
  band.hi = outline_difference(o, r->hi, base);
  band.index = outline_index_of(o, order, band.lo, band.hi);
  neo_expr at = outline_sum(o, base, neo_size_ref(o->m, band.index));
  assume_in_range(o, order, r, at);
  NEO_PUSH(o->a, &o->around,
           (outline_around){.order = order, .index = at, .lo = r->lo, .hi = r->hi});
  outline_add_steps(o, &in, order);
  o->around.n--;
  o->assume.n = n_assume;
  outline_push_band(o, to, band, &in);
}

void outline_add_def(outliner *o, neo_trees *to, neo_def d) {
  if (!outline_add_lists(o, to, d))
    outline_split(o, to, outline_instance_of(o, d), 0);
}

static void add_parallel(outliner *o, neo_trees *to, const neo_order_step *order,
                         const outline_range *r) {
  NEO_PUSH(o->a, &o->around, (outline_around){.order = order, .lo = r->lo, .hi = r->hi});
  outline_add_steps(o, to, order);
  o->around.n--;
}

void outline_add_loop(outliner *o, neo_trees *to, const neo_order_step *order) {
  outline_range r[OUTLINE_RANGES];
  if (outline_add_levels(o, to, order))
    return;
  uint32_t n = outline_peel(o, order, r);
  for (uint32_t i = 0; i < n; i++) {
    const outline_range *one = &r[order->down ? n - 1 - i : i];
    if (outline_is_empty(o, one))
      continue;
    if (!neo_order_has_lists(order) && outline_is_parallel(o, order, one))
      add_parallel(o, to, order, one);
    else if (neo_order_has_lists(order) || !outline_tile(o, to, order, one))
      outline_add_iterations(o, to, order, one);
  }
}

void outline_add_steps(outliner *o, neo_trees *to, const neo_order_step *order) {
  for (uint32_t k = 0; k < order->n_steps; k++)
    if (order->step[k].def.i)
      outline_add_def(o, to, order->step[k].def);
    else
      outline_add_loop(o, to, &order->step[k]);
}

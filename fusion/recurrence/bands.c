/* The schedule tree of an order (ir/order.h), whose bands and definitions are rewritten, the outermost first, as what holds in
 * a band decides what becomes of what is in it:
 *
 *   level        levels.c    a band over rows becomes one over blocks of them
 *   hoist        hoist.c     producers that are no part of the order are made before blocks of its iterations
 *   peel         peel.c      a band becomes several, in each of which conditions are decided
 *   parallelize  parallel.c  a band without carried dependences becomes positions of an axis
 *   tile         tile.c      a band becomes blocks, and what can be is made before each of them
 *
 * and each definition, below the bands around it:
 *
 *   shift        shift.c     it is at their indices less its delays
 *   simplify     simplify.c  its expressions are those that hold there
 *   guard        guard.c     it runs where it has a position
 *   lists        lists.c     it is in a band of the lists of the iteration's rows
 *   split        split.c     it becomes several, cut along its other axes as bands are */
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

/* Assumes of an iteration of the range what cuts say, and that the loop has it: a cut may be after the loop's end. */
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

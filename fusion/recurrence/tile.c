/* Tiling: a band becomes blocks of iterations, and definitions that read nothing of their block are
 * computed for all of its iterations before it (strip-mining and distribution; M. Wolfe, "More
 * iteration space tiling").
 *
 *   band i in 0..N                                    band b in 0..N/32
 *     leaf p[i]   # reads L[i, k], k < i/32*32   ->     leaf p[32*b..32*b + 32]
 *     leaf L[i]                                         band i in 32*b..32*b + 32
 *                                                         leaf L[i]
 *
 * transform/tile_recurrences.c writes definitions like p, whose bounds contain the length of the
 * block (i/32). Blocks begin at multiples of it; the first and last may be shorter. */
#include "fusion/recurrence/internal.h"

/* ---- definitions that run before a block */

typedef struct {
  outliner *o;
  const neo_order_step *order;
  const neo_order_member *own;
  const outline_instance *x;
  neo_expr first;     /* first iteration of the block */
  int64_t iterations; /* iterations of a block */
  bool before;
} block_look;

static neo_expr iteration_at(const block_look *l, neo_expr at, const neo_order_member *x) {
  return outline_sum(l->o, at, outline_number(l->o, x->delay));
}

/* Takes n as the block's length if e is i / n, where i is the definition's own iteration. */
static void look_division(void *ctx, neo_expr e) {
  block_look *l = ctx;
  neo_module *m = l->o->m;
  const neo_node *n = neo_expr_node(m, e);
  int64_t by, d;
  if (n->op != NEO_OP_DIV || n->type != NEO_I64_T ||
      !neo_expr_is_int(m, neo_list_expr(m, n->arg, 1), &by) || by < 2)
    return;
  neo_expr own = iteration_at(l, neo_axis_ref(m, l->own->axis), l->own);
  if (outline_distance(l->o, neo_expr_arg(m, e, 0), own, &d) && d == 0 && !l->iterations)
    l->iterations = by;
}

static int64_t iterations_of(block_look *l) {
  neo_module *m = l->o->m;
  const neo_def_rec *d = &l->x->rec;
  l->iterations = 0;
  for (uint32_t k = d->n_out; k < d->axes.n; k++) {
    neo_expr_visit(m, neo_def_axis(m, d, k)->lo, look_division, l);
    neo_expr_visit(m, neo_def_axis(m, d, k)->hi, look_division, l);
  }
  if (d->where.i)
    neo_expr_visit(m, d->where, look_division, l);
  return l->iterations;
}

/* Checks that all reads of the recurrence are of elements made before the block. */
static void look_made(void *ctx, neo_expr read, uint32_t n_axes) {
  block_look *l = ctx;
  neo_module *m = l->o->m;
  uint32_t t = neo_expr_node(m, read)->attr;
  for (uint32_t k = 0; k < l->order->n_members && l->before; k++) {
    const neo_order_member *from = &l->order->member[k];
    if (!outline_is_result(m, neo_def_at(m, from->def), t))
      continue;
    neo_expr made = iteration_at(l, neo_expr_arg(m, read, from->axis), from);
    neo_expr end = outline_sum(l->o, l->first, outline_number(l->o, l->iterations));
    neo_expr goal =
        l->order->down ? neo_op2(m, NEO_OP_LE, end, made) : neo_op2(m, NEO_OP_LT, made, l->first);
    bool whole = !neo_def_at(m, from->def)->out_map.n;
    l->before = whole && outline_proved(l->o, l->x, n_axes, goal);
  }
}

int64_t outline_block_of(outliner *o, const neo_order_step *order, bool *before) {
  neo_module *m = o->m;
  int64_t iterations = 0;
  for (uint32_t k = 0; k < order->n_steps; k++) {
    neo_def d = order->step[k].def;
    before[k] = false;
    if (!d.i || neo_def_at(m, d)->out_map.n)
      continue;
    block_look l = {.o = o, .order = order, .own = outline_member(order, d), .before = true};
    l.x = outline_instance_of(o, d);
    if (!iterations_of(&l) || (iterations && l.iterations != iterations))
      continue;
    neo_expr n = outline_number(o, l.iterations), own = neo_axis_ref(m, l.own->axis);
    l.first = neo_op2(m, NEO_OP_DIV, iteration_at(&l, own, l.own), n);
    l.first = neo_op2(m, NEO_OP_MUL, l.first, n);
    outline_reads(o, l.x, look_made, &l);
    before[k] = l.before;
    iterations = l.before ? l.iterations : iterations;
  }
  return iterations;
}

/* ---- blocks */

typedef struct { /* a tiled loop */
  outliner *o;
  const neo_order_step *order;
  neo_order_step within; /* the loop without definitions that run before blocks */
  const bool *before;
  int64_t iterations; /* iterations of a block */
} tiled;

/* Adds a definition for all iterations of the range at once, if it has positions there. */
static void add_at_once(const tiled *t, neo_trees *to, const outline_range *r, neo_def d) {
  outliner *o = t->o;
  outline_around at_once = {.order = t->order, .lo = r->lo, .hi = r->hi};
  const neo_order_member *x = outline_member(at_once.order, d);
  neo_expr first = outline_number(o, x->delay);
  neo_expr end = outline_sum(o, first, neo_def_axis(o->m, neo_def_at(o->m, d), x->axis)->hi);
  at_once.lo = outline_max(o, r->lo, first);
  at_once.hi = outline_max(o, at_once.lo, outline_min(o, r->hi, end));
  if (outline_at_most(o, at_once.hi, at_once.lo))
    return;
  NEO_PUSH(o->a, &o->around, at_once);
  outline_add_def(o, to, d);
  o->around.n--;
}

static void add_block(const tiled *t, neo_trees *to, const outline_range *r) {
  if (outline_is_empty(t->o, r))
    return;
  for (uint32_t k = 0; k < t->order->n_steps; k++)
    if (t->before[k])
      add_at_once(t, to, r, t->order->step[k].def);
  outline_add_iterations(t->o, to, &t->within, r);
}

/* Adds the whole blocks, in a loop over them. */
static void add_blocks(const tiled *t, neo_trees *to, neo_expr lo, neo_expr hi) {
  outliner *o = t->o;
  size_t n_assume = o->assume.n;
  if (outline_at_most(o, hi, lo))
    return;
  neo_trees in = {0};
  neo_tree_band band = {.index = outline_index_of(o, t->order, lo, hi), .lo = lo, .hi = hi};
  band.down = t->order->down;
  neo_expr at = neo_size_ref(o->m, band.index), n = outline_number(o, t->iterations);
  neo_expr first = neo_op2(o->m, NEO_OP_MUL, at, n);
  outline_assume_between(o, lo, at, hi);
  o->blocks++;
  add_block(t, &in, &(outline_range){.lo = first, .hi = outline_sum(o, first, n), .base = first});
  o->blocks--;
  o->assume.n = n_assume;
  outline_push_band(o, to, band, &in);
}

static void add_tiled(const tiled *t, neo_trees *to, const outline_range *r) {
  outliner *o = t->o;
  neo_module *m = o->m;
  neo_expr n = outline_number(o, t->iterations), less = outline_number(o, t->iterations - 1);
  neo_expr lo = neo_op2(m, NEO_OP_DIV, outline_sum(o, r->lo, less), n);
  neo_expr hi = neo_op2(m, NEO_OP_DIV, r->hi, n);
  neo_expr begin = neo_op2(m, NEO_OP_MUL, lo, n), end = neo_op2(m, NEO_OP_MUL, hi, n);
  outline_range first = {.lo = r->lo, .hi = outline_min(o, begin, r->hi)};
  outline_range last = {
      .lo = outline_at_most(o, begin, end) ? end : neo_op2(m, NEO_OP_MAX, first.hi, end),
      .hi = r->hi};
  add_block(t, to, t->order->down ? &last : &first);
  add_blocks(t, to, lo, hi);
  add_block(t, to, t->order->down ? &first : &last);
}

bool outline_tile(outliner *o, neo_trees *to, const neo_order_step *order, const outline_range *r) {
  bool *before = NEO_NEW_ARRAY(o->a, bool, order->n_steps + 1);
  tiled t = {.o = o, .order = order, .within = *order, .before = before};
  t.iterations = outline_block_of(o, order, before);
  if (!t.iterations)
    return false;
  t.within.step = NEO_NEW_ARRAY(o->a, neo_order_step, order->n_steps);
  t.within.n_steps = 0;
  for (uint32_t k = 0; k < order->n_steps; k++)
    if (!before[k])
      t.within.step[t.within.n_steps++] = order->step[k];
  add_tiled(&t, to, r);
  return true;
}

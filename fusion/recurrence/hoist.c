/* Hoisted producers: a definition of which each iteration of the recurrence reads one position, and
 * nothing else reads any, is computed for a block of iterations at once, before the block.
 *
 *   leaf p[0..T]                       band b in 0..T/16
 *   band t in 0..T               ->      leaf p[16*b..16*b + 16]
 *     leaf h[t]   # reads p[t]           band t in 16*b..16*b + 16
 *                                          leaf h[t]
 *
 *     p[t, b, j] = sum[i] X[t, b, i]*W[i, j]               (transform/distribute.c)
 *     h[t, b, j] = tanh(p[t, b, j] + sum[k] (h[t-1, b, k] else 0)*U[k, j])
 *
 * The tensor of a producer stores one block (fold.c), for any number of iterations. The length of
 * a block, 256 rows (ROWS), fills the register tiles of a product and uses each weight that it
 * loads for many rows; a longer block would only need more memory. Blocks are equally long if a
 * length up to twice that divides the iterations. */
#include "fusion/recurrence/internal.h"

enum { ROWS = 256, LEAST = 4, MOST = 64, UNKNOWN = 16, LEAST_BLOCKS = 3 };

typedef struct {
  neo_module *m;
  const neo_order_step *loop;
  neo_def producer, reader;
  uint64_t axes; /* axes of the producer that may be the loop's */
  bool reads;
} producer_look;

/* ---- choosing the axis */

static void look_axis(void *ctx, neo_expr e) {
  producer_look *l = ctx;
  neo_module *m = l->m;
  const neo_node *n = neo_expr_node(m, e);
  if (!outline_is_read(n) || !outline_is_result(m, neo_def_at(m, l->producer), n->attr))
    return;
  const neo_order_member *x = outline_member(l->loop, l->reader);
  neo_expr at = x ? neo_axis_ref(m, x->axis) : (neo_expr){0};
  l->reads = true;
  for (uint32_t k = 0; k < neo_tensor_rank(m, (neo_tensor){n->attr}); k++)
    if (!x || x->delay || neo_expr_arg(m, e, k).i != at.i)
      l->axes &= ~((uint64_t)1 << k);
}

/* Has axis k as many positions as the axis of each of the loop's definitions? */
static bool has_all_iterations(neo_module *m, const neo_order_step *loop, neo_def d, uint32_t k) {
  int64_t least;
  const neo_axis_rec *axis = neo_def_axis(m, neo_def_at(m, d), k);
  neo_expr lo, hi;
  neo_order_iterations(m, loop, &lo, &hi);
  return neo_expr_is_int(m, axis->lo, &least) && least == 0 && axis->hi.i == hi.i &&
         neo_expr_is_int(m, lo, &least) && least == 0;
}

bool neo_recurrence_hoists(neo_module *m, const neo_order_step *loop, const neo_def *readers,
                           size_t n, neo_def d, neo_order_member *out) {
  const neo_def_rec *r = neo_def_at(m, d);
  producer_look l = {.m = m, .loop = loop, .producer = d};
  if (r->out_map.n || r->n_out > 63)
    return false;
  /* a sum over an equation finds all of its terms at once; each iteration would search again */
  if (neo_tensor_at(m, (neo_tensor){neo_list_at(m, r->out, 0)})->terms)
    return false;
  l.axes = ((uint64_t)1 << r->n_out) - 1;
  for (size_t k = 0; k < n; k++) {
    l.reader = readers[k];
    neo_def_visit(m, readers[k], look_axis, &l);
  }
  for (uint32_t k = 0; k < r->n_out && l.reads; k++)
    if (l.axes >> k & 1 && has_all_iterations(m, loop, d, k)) {
      *out = (neo_order_member){.def = d, .axis = k};
      return true;
    }
  return false;
}

/* ---- iterations of a block */

typedef struct {
  neo_module *m;
  uint32_t axis;
  uint64_t rows; /* output axes of reads that vary with the iterations */
} row_look;

static void look_rows(void *ctx, neo_expr e) {
  row_look *l = ctx;
  uint64_t axes = neo_expr_axes(l->m, e);
  if (outline_is_read(neo_expr_node(l->m, e)) && axes >> l->axis & 1)
    l->rows |= axes;
}

static int64_t iterations_for_rows(neo_module *m, const neo_order_member *x) {
  const neo_def_rec *d = neo_def_at(m, x->def);
  row_look l = {m, x->axis, 0};
  int64_t rows = 1, extent;
  neo_def_visit(m, x->def, look_rows, &l);
  for (uint32_t k = 0; k < d->n_out && rows < ROWS; k++) {
    if (k == x->axis || !(l.rows >> k & 1))
      continue;
    if (!neo_expr_is_int(m, neo_def_axis(m, d, k)->hi, &extent))
      return UNKNOWN;
    rows *= extent > 1 ? extent : 1;
  }
  int64_t n = (ROWS + rows - 1) / rows;
  return n < LEAST ? LEAST : n > MOST ? MOST : n;
}

int64_t neo_recurrence_block(neo_module *m, const neo_order_member *producer, size_t n,
                             uint32_t tile_iterations) {
  int64_t least = 0, all;
  if (!n || tile_iterations)
    return n ? tile_iterations : 0;
  for (size_t k = 0; k < n; k++) {
    int64_t own = iterations_for_rows(m, &producer[k]);
    least = own > least ? own : least;
  }
  if (!neo_expr_is_int(m, neo_def_axis(m, neo_def_at(m, producer->def), producer->axis)->hi, &all))
    return least;
  for (int64_t d = least; d < 2 * least; d++)
    if (all % d == 0 && all >= LEAST_BLOCKS * d)
      return d;
  return all < LEAST_BLOCKS * least ? 0 : least;
}

/* ---- producers of the current recurrence */

void outline_find_hoisted(outliner *o, neo_order_step *order) {
  neo_order_member *own =
      NEO_NEW_ARRAY(o->a, neo_order_member, order->n_members + o->n_hoisted + 1);
  neo_order_step with = *order;
  o->hoist_block = 0;
  if (neo_order_has_lists(order))
    return;
  for (uint32_t k = 0; k < order->n_members; k++)
    own[k] = order->member[k];
  with.member = own;
  for (size_t k = o->n_hoisted; k-- > 0; with.n_members++) /* readers first */
    if (!neo_recurrence_hoists(o->m, &with, o->defs, o->n, o->hoisted[k], &own[with.n_members]))
      return;
  o->hoist_block =
      neo_recurrence_block(o->m, own + order->n_members, o->n_hoisted, o->options->tile_iterations);
  if (o->hoist_block)
    *order = with;
}

/* ---- blocks */

typedef struct {
  outliner *o;
  const neo_order_step *order;
  outline_range r[OUTLINE_RANGES]; /* ranges of its iterations (peel.c) */
  uint32_t n;
} hoisting;

/* The iterations of range r in the block. */
static outline_range in_block(const outliner *o, const outline_range *r,
                              const outline_range *block) {
  neo_expr above = outline_difference(o, r->lo, block->lo);
  neo_expr below = outline_difference(o, r->hi, block->lo);
  neo_expr all = outline_difference(o, block->hi, block->lo);
  outline_range x = {.base = block->lo};
  x.from = r->from.i ? r->from : r->lo;
  x.to = r->to.i ? r->to : r->hi;
  x.lo = outline_sum(o, x.base, outline_max(o, outline_number(o, 0), above));
  x.hi = outline_sum(o, x.base, outline_min(o, all, below));
  return x;
}

/* Adds the hoisted definitions for all iterations of the block, then a band over the iterations. */
static void add_block(const hoisting *h, neo_trees *to, const outline_range *block) {
  outliner *o = h->o;
  NEO_PUSH(o->a, &o->around, (outline_around){.order = h->order, .lo = block->lo, .hi = block->hi});
  for (size_t k = 0; k < o->n_hoisted; k++)
    outline_add_def(o, to, o->hoisted[k]);
  o->around.n--;
  for (uint32_t k = 0; k < h->n; k++) {
    outline_range x = in_block(o, &h->r[h->order->down ? h->n - 1 - k : k], block);
    outline_add_iterations(o, to, h->order, &x);
  }
}

/* Adds one loop over the blocks. The last one may be shorter: its ranges end with the
 * iterations. */
static void add_blocks(const hoisting *h, neo_trees *to) {
  outliner *o = h->o;
  size_t n_assume = o->assume.n;
  neo_expr none = outline_number(o, 0), n = outline_number(o, o->hoist_block);
  neo_expr end = h->r[h->n - 1].hi;
  neo_trees in = {0};
  neo_tree_band band = {.lo = none, .down = h->order->down};
  band.hi =
      neo_op2(o->m, NEO_OP_DIV, outline_sum(o, end, outline_number(o, o->hoist_block - 1)), n);
  band.index = outline_index_of(o, h->order, band.lo, band.hi);
  neo_expr at = neo_size_ref(o->m, band.index), first = neo_op2(o->m, NEO_OP_MUL, at, n);
  outline_assume_between(o, none, at, band.hi);
  NEO_PUSH(o->a, &o->assume, neo_op2(o->m, NEO_OP_LT, first, end));
  n = outline_min(o, n, outline_difference(o, end, first));
  o->blocks++;
  add_block(h, &in, &(outline_range){.lo = first, .hi = outline_sum(o, first, n)});
  o->blocks--;
  o->assume.n = n_assume;
  outline_push_band(o, to, band, &in);
}

/* Would a range of several iterations be parallel (parallel.c)? Blocks would make it sequential,
 * and parallel iterations gain more. */
static bool has_parallel(const hoisting *h) {
  int64_t n;
  for (uint32_t k = 0; k < h->n; k++) {
    bool one = outline_distance(h->o, h->r[k].hi, h->r[k].lo, &n) && n <= 1;
    if (!one && !outline_is_empty(h->o, &h->r[k]) && outline_is_parallel(h->o, h->order, &h->r[k]))
      return true;
  }
  return false;
}

bool outline_hoist(outliner *o, neo_trees *to, const neo_order_step *order) {
  hoisting h = {.o = o, .order = order};
  bool in_blocks = outline_blocks_of(o, order, NULL).i;
  bool *before = NEO_NEW_ARRAY(o->a, bool, order->n_steps + 1);
  h.n = o->hoist_block && !in_blocks ? outline_peel(o, order, h.r) : 0;
  if (!h.n || has_parallel(&h) || outline_block_of(o, order, before)) {
    o->hoist_block = 0;
    return false;
  }
  add_blocks(&h, to);
  return true;
}

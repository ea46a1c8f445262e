/* Definitions that run by owner (ir/order.h): an iteration over rows computes all elements of the
 * rows' lists, such as the edges of a vertex. They become a band of one iteration, whose rows are
 * the elements from the begin of the first list to the end of the last one:
 *
 *   band v in 0..V                          band v in 0..V
 *     leaf s   # of edges, by owner   ->      band e in v..v + 1 rows begin as lo..hi whole
 *     leaf h[v]                                 leaf s[lo..hi]
 *                                             leaf h[v]
 *
 * The rows of a block are contiguous, and so are their lists: rows begin .. end - 1 (levels.c) get
 * the band e in begin..end. The first block has leaves alone, and no edges. */
#include "ir/lists.h"
#include "fusion/recurrence/internal.h"
#include <math.h>

/* The loop around whose rows own the definition's elements; null: none. */
static const outline_around *around_of(const outliner *o, neo_def d, neo_tensor *owner) {
  for (size_t k = 0; k < o->around.n; k++) {
    const neo_order_member *x = outline_member(o->around.at[k].order, d);
    *owner = x ? x->owner : (neo_tensor){0};
    if (owner->i)
      return &o->around.at[k];
  }
  return NULL;
}

/* The number of list elements that costs assume: of one row the mean, of a block the geometric mean
 * of those of one row and of all rows. */
static int64_t usual_of(const outliner *o, const outline_around *l, neo_expr all, neo_expr rows) {
  int64_t lo, most = 1, n = 1;
  (void)neo_interval(o->p, NULL, all, &lo, &most);
  (void)neo_interval(o->p, NULL, rows, &lo, &n);
  double each = (double)most / (double)(n > 0 ? n : 1);
  double many = l->index.i ? ceil(each) : sqrt((double)most * (each > 1 ? each : 1));
  return many < 1 ? 1 : many > (double)most ? (most > 1 ? most : 1) : (int64_t)many;
}

static uint32_t depth_of(const outliner *o) {
  uint32_t depth = o->blocks;
  for (size_t k = 0; k < o->around.n; k++)
    depth += o->around.at[k].index.i != 0;
  return depth;
}

static neo_tree_band band_of(outliner *o, const outline_around *l, neo_tensor owner) {
  neo_module *m = o->m;
  neo_expr all = neo_tensor_extent(m, owner, 0), rows = neo_tensor_at(m, owner)->bound;
  neo_facts facts = {NULL, 0, o->assume.at, (uint32_t)o->assume.n};
  int64_t lo, most = 1, n = 1;
  uint32_t depth = depth_of(o);
  neo_tree_band band = {.lo = l->index.i ? l->index : l->lo};
  band.hi = l->index.i ? outline_sum(o, l->index, outline_number(o, 1)) : l->hi;
  (void)neo_interval(o->p, &facts, all, &lo, &most);
  (void)neo_interval(o->p, &facts, rows, &lo, &n);
  band.index = outline_row_size(o, "r", 0, n > 0 ? n - 1 : 0, depth, 0);
  neo_size_at(m, band.index)->has_usual = false;
  band.rows.first = neo_tensor_at(m, owner)->offsets;
  band.rows.range = NEO_BLOCKS_WHOLE;
  band.rows.begin = outline_row_size(o, "first", 0, most > 0 ? most - 1 : 0, depth + 1, 0);
  band.rows.end =
      outline_row_size(o, "last", 1, most > 1 ? most : 1, depth + 2, usual_of(o, l, all, rows));
  return band;
}

bool outline_add_lists(outliner *o, neo_trees *to, neo_def d) {
  neo_module *m = o->m;
  neo_tensor owner;
  const outline_around *l = o->list_lo.i ? NULL : around_of(o, d, &owner);
  size_t n_assume = o->assume.n;
  neo_trees in = {0};
  if (!l)
    return false;
  if (l->first)
    return true;
  neo_tree_band band = band_of(o, l, owner);
  o->list_lo = neo_size_ref(m, band.rows.begin);
  o->list_hi = neo_size_ref(m, band.rows.end);
  outline_assume_between(o, outline_number(o, 0), o->list_lo, o->list_hi);
  NEO_PUSH(o->a, &o->assume, neo_op2(m, NEO_OP_LE, o->list_hi, neo_tensor_extent(m, owner, 0)));
  outline_split(o, &in, outline_instance_of(o, d), 0);
  o->list_lo = o->list_hi = (neo_expr){0};
  o->assume.n = n_assume;
  outline_push_band(o, to, band, &in);
  return true;
}

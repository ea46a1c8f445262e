/* Level scheduling: a band over rows that read each other only in other levels (NEO_ROW_CHILD,
 * NEO_ROW_PARENTS) becomes one over blocks of rows, a whole block at once:
 *
 *   h[p, j] = f(x[p], sum[k] (h[placed[p, k], j] else 0))
 *   placed[p, k] < begin = first[b], end = first[b + 1]; in the first block there are no such rows
 *
 *   band p in 0..P           band b in 0..1 rows first as begin..end
 *     leaf h[p]        ->      leaf h[begin..end]
 *                            band b in 1..P rows first as begin..end wide
 *                              leaf h[begin..end]
 *                            band b in 1..P rows first as begin..end serial
 *                              band p in begin..end
 *                                leaf h[p]
 *
 * The last blocks often have one row each and gain nothing: their rows run as in any recurrence, in
 * loops that may be one kernel. */
#include "fusion/recurrence/internal.h"
#include <math.h>

/* ---- in a block */

/* The end of a level, as an expression over the table of blocks. `certain`: the table has the
 * level; else the read has a default, as transform/levels/leaves.c writes it. */
static neo_expr end_of(const outliner *o, neo_tensor blocks, int64_t level, bool certain) {
  neo_module *m = o->m;
  neo_expr at = outline_number(o, (level + 1) * neo_blocks_kinds(m, blocks));
  neo_expr none = neo_const_int(m, NEO_I32_T, level);
  neo_span span = neo_tensor_at(m, blocks)->span;
  neo_expr end =
      certain ? neo_load(m, blocks, &at, 1, span) : neo_load_else(m, blocks, &at, 1, none, span);
  return neo_cast(m, NEO_I64_T, end);
}

static void assume_block(outliner *o, const outline_around *block) {
  neo_module *m = o->m;
  for (int certain = 0; certain < 2; certain++) {
    neo_expr end = end_of(o, block->blocks, 0, certain),
             next = end_of(o, block->blocks, 1, certain);
    if (!certain || block->later) /* a graph of leaves has one level */
      NEO_PUSH(o->a, &o->assume, neo_op2(m, NEO_OP_LE, end, next));
    if (block->first)
      NEO_PUSH(o->a, &o->assume, neo_op2(m, NEO_OP_LE, block->hi, end));
    if (block->later)
      NEO_PUSH(o->a, &o->assume, neo_op2(m, NEO_OP_LE, end, block->lo));
  }
}

/* Adds the steps of a block: for each kind of rows a copy, simplified for that kind (rows.c). */
static void add_kinds(outliner *o, neo_trees *steps, const neo_order_step *order,
                      const outline_around *block, neo_size index) {
  neo_module *m = o->m;
  int64_t n = neo_blocks_kinds(m, block->blocks);
  neo_expr kinds = outline_number(o, n);
  for (int64_t k = 0; k < n; k++) {
    neo_expr own = neo_op2(m, NEO_OP_MOD, neo_size_ref(m, index), kinds);
    if (n > 1) {
      o->kind = (uint32_t)k + 1;
      o->is_kind = neo_op2(m, NEO_OP_EQ, own, outline_number(o, k));
      o->zero = NEO_NEW_ARRAY(o->a, uint8_t, m->defs.n);
    }
    outline_add_steps(o, steps, order);
    o->kind = 0;
    o->is_kind = (neo_expr){0};
  }
}

/* ---- blocks as a loop */

neo_size outline_row_size(outliner *o, const char *name, int64_t lo, int64_t hi, uint32_t depth,
                          int64_t usual) {
  neo_size_rec r = {.kind = NEO_SIZE_RUNTIME, .loop_index = true, .depth = (uint8_t)depth};
  r.has_usual = true;
  r.usual = usual;
  r.name = neo_name_of(o->m->names, name);
  r.lo = lo;
  r.hi = hi;
  return neo_size_add(o->m, r);
}

/* Adds the steps of an iteration, whose rows are the new sizes begin and end. */
static void add_rows(outliner *o, neo_tree_band *out, neo_trees *in, const neo_order_step *order,
                     outline_around block) {
  neo_facts facts = {NULL, 0, o->assume.at, (uint32_t)o->assume.n};
  neo_module *m = o->m;
  int64_t unused, rows = 1;
  neo_expr all, none;
  neo_order_iterations(m, order, &none, &all);
  (void)neo_interval(o->p, &facts, all, &unused, &rows);
  uint32_t depth = neo_size_at(m, out->index)->depth;
  /* blocks are between one row and all: the geometric mean; a tree's first has half */
  double many = block.first ? (double)rows / 2 : sqrt((double)rows);
  int64_t usual = rows > 1 ? (int64_t)ceil(many) : 1;
  out->rows.begin = outline_row_size(o, "begin", 0, rows > 0 ? rows - 1 : 0, depth + 1, 0);
  out->rows.end = outline_row_size(o, "end", 1, rows > 1 ? rows : 1, depth + 2, usual);
  block.lo = neo_size_ref(m, out->rows.begin);
  block.hi = neo_size_ref(m, out->rows.end);
  outline_assume_between(o, outline_number(o, block.later), block.lo, block.hi);
  NEO_PUSH(o->a, &o->assume, neo_op2(m, NEO_OP_LE, block.hi, all));
  assume_block(o, &block);
  if (block.first && neo_blocks_kinds(m, block.blocks) == 1)
    block.lo = outline_number(o, 0);
  o->blocks += 3; /* sizes that vary in the loop */
  if (neo_blocks_kinds(m, block.blocks) == 1)
    o->level = (outline_level){block.blocks, out->rows.range == NEO_BLOCKS_SERIAL,
                               neo_size_ref(m, out->index), block.lo, block.hi};
  if (out->rows.range == NEO_BLOCKS_SERIAL) {
    outline_add_iterations(o, in, order, &(outline_range){.lo = block.lo, .hi = block.hi});
  } else {
    NEO_PUSH(o->a, &o->around, block);
    add_kinds(o, in, order, &block, out->index);
    o->around.n--;
  }
  o->level = (outline_level){0};
  o->blocks -= 3;
}

/* Adds iterations lo .. hi - 1 as blocks of rows. */
static void add_range(outliner *o, neo_trees *steps, const neo_order_step *order,
                      outline_around block, neo_block_range range, neo_expr lo, neo_expr hi) {
  size_t n_assume = o->assume.n;
  neo_trees in = {0};
  neo_tree_band out = {.lo = lo, .hi = hi, .down = order->down};
  out.rows = (neo_tree_rows){.first = block.blocks, .range = range};
  out.index = outline_index_of(o, order, lo, hi);
  outline_assume_between(o, lo, neo_size_ref(o->m, out.index), hi);
  add_rows(o, &out, &in, order, block);
  o->assume.n = n_assume;
  outline_push_band(o, steps, out, &in);
}

bool outline_add_levels(outliner *o, neo_trees *steps, const neo_order_step *order) {
  neo_module *m = o->m;
  bool earlier;
  neo_tensor blocks = outline_blocks_of(o, order, &earlier);
  if (!blocks.i)
    return false;
  outline_around first = {.order = order, .blocks = blocks, .first = true};
  outline_around later = {.order = order, .blocks = blocks, .later = true};
  int64_t kinds = neo_blocks_kinds(m, blocks);
  neo_expr none = outline_number(o, 0), one = outline_number(o, kinds), all, unused;
  neo_order_iterations(m, order, &unused, &all);
  all = neo_op2(m, NEO_OP_MUL, all, one);
  if (!earlier) {
    later.later = false;
    add_range(o, steps, order, later, NEO_BLOCKS_ALL, none, all);
    return true;
  }
  bool serial = !o->options->blocks_only && kinds == 1;
  if (!order->down)
    add_range(o, steps, order, first, NEO_BLOCKS_ALL, none, neo_op2(m, NEO_OP_MIN, one, all));
  else if (serial)
    add_range(o, steps, order, later, NEO_BLOCKS_SERIAL, one, all);
  add_range(o, steps, order, later, serial ? NEO_BLOCKS_WIDE : NEO_BLOCKS_ALL, one, all);
  if (order->down)
    add_range(o, steps, order, first, NEO_BLOCKS_ALL, none, neo_op2(m, NEO_OP_MIN, one, all));
  else if (serial)
    add_range(o, steps, order, later, NEO_BLOCKS_SERIAL, one, all);
  return true;
}

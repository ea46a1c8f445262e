/* Loops in blocks of rows. A recurrence whose rows read each other only at rows that are apart
 * (neo_tensor_rec.apart) runs a block at a time, all of its rows at once:
 *
 *   h[p, j] = f(x[p], sum[k] (h[placed[p, k], j] else 0))          rounds along p
 *   ->
 *   for b: h[begin .. end - 1, j] at once,   placed[p, k] < begin = first[b], end = first[b + 1] */
#include "fusion/recurrence/internal.h"

static const neo_order_member *made_by(const outliner *o, const neo_order_step *loop,
                                       neo_tensor t) {
  neo_list pieces = neo_tensor_at(o->m, t)->pieces;
  for (uint32_t k = 0; k < loop->n_members && pieces.n; k++)
    if (loop->member[k].def.i == neo_list_at(o->m, pieces, 0))
      return &loop->member[k];
  return NULL;
}

/* The load of a row that is apart, as an index; null: it is another expression. */
static const neo_node *apart(const outliner *o, neo_expr e) {
  const neo_node *n = neo_expr_node(o->m, e);
  if (n->op == NEO_OP_CAST && n->type == NEO_I64_T)
    n = neo_expr_node(o->m, neo_list_expr(o->m, n->arg, 0));
  return n->op == NEO_OP_LOAD && neo_tensor_at(o->m, (neo_tensor){n->attr})->apart.i ? n : NULL;
}

/* Is it a row before its own, which is its first index? Else it is one behind, from a list of them. */
static bool comes_before(const outliner *o, const neo_node *n) {
  neo_expr below = neo_tensor_at(o->m, (neo_tensor){n->attr})->below;
  return below.i && neo_expr_node(o->m, below)->op == NEO_OP_AXIS;
}

/* Is the row apart from `own`? A list of rows is run through by the axis of a sum. */
static bool is_of(const outliner *o, const neo_node *n, neo_expr own, uint32_t n_out) {
  neo_expr at = neo_list_expr(o->m, n->arg, 0);
  const neo_node *axis = neo_expr_node(o->m, at);
  return comes_before(o, n) ? at.i == own.i : axis->op == NEO_OP_AXIS && axis->attr >= n_out;
}

/* Is it the end of the first block, which rows are compared with? */
static bool is_first_end(const outliner *o, const neo_node *n) {
  int64_t at;
  for (size_t t = 1; t < o->m->tensors.n; t++)
    if (o->m->tensors.at[t].apart.i == n->attr)
      return neo_expr_is_int(o->m, neo_list_expr(o->m, n->arg, 0), &at) && at == 1;
  return false;
}

typedef struct {
  const outliner *o;
  const neo_order_step *loop;
  const neo_order_member *reader;
  neo_tensor blocks;
  bool good, leads;
} block_look;

static void look(void *ctx, neo_expr e) {
  block_look *l = ctx;
  neo_module *m = l->o->m;
  neo_expr own = neo_axis_ref(m, l->reader->axis);
  const neo_node *n = neo_expr_node(m, e);
  uint32_t n_out = neo_def_at(m, l->reader->def)->n_out;
  const neo_node *row = n->op == NEO_OP_LOAD ? apart(l->o, e) : NULL;
  if (row && comes_before(l->o, row) && is_of(l->o, row, own, n_out))
    l->leads = true;
  if (n->op == NEO_OP_LOAD_ELSE && is_first_end(l->o, n))
    l->leads = true;
  if (!l->good || !outline_is_read(n))
    return;
  const neo_order_member *made = made_by(l->o, l->loop, (neo_tensor){n->attr});
  neo_expr at = made ? neo_expr_arg(m, e, made->axis) : own;
  if (at.i == own.i)
    return;
  row = apart(l->o, at);
  neo_tensor blocks = row ? neo_tensor_at(m, (neo_tensor){row->attr})->apart : (neo_tensor){0};
  l->good = row && is_of(l->o, row, own, n_out) && (!l->blocks.i || l->blocks.i == blocks.i);
  l->blocks = blocks;
}

/* Has each definition of the loop all rows of the blocks? */
static bool is_whole(const outliner *o, const neo_order_step *order, neo_tensor blocks) {
  neo_module *m = o->m;
  neo_expr lo, hi;
  int64_t first, more;
  neo_order_rounds(m, order, &lo, &hi);
  bool whole = neo_expr_is_int(m, lo, &first) && first == 0 &&
               outline_distance(o, neo_tensor_extent(m, blocks, 0), hi, &more) && more == 1;
  for (uint32_t k = 0; k < order->n_members && whole; k++) {
    const neo_order_member *x = &order->member[k];
    whole = neo_def_axis(m, neo_def_at(m, x->def), x->axis)->hi.i == hi.i;
  }
  return whole;
}

neo_tensor outline_blocks_of(const outliner *o, const neo_order_step *order, bool *leads) {
  neo_module *m = o->m;
  block_look l = {.o = o, .loop = order, .good = true};
  for (uint32_t k = 0; k < order->n_members && l.good; k++) {
    l.reader = &order->member[k];
    l.good = l.reader->delay == 0 && !neo_def_at(m, l.reader->def)->out_map.n;
    neo_def_visit(m, l.reader->def, look, &l);
  }
  *leads = l.leads;
  bool is = l.good && l.blocks.i && is_whole(o, order, l.blocks);
  return is ? l.blocks : (neo_tensor){0};
}

/* ---- in a block */

/* Where a block ends: as transform/levels_leaves.c writes it, for graphs that may have fewer, or where it is certain to
 * be there. */
static neo_expr end_of(const outliner *o, neo_tensor blocks, int64_t block, bool certain) {
  neo_module *m = o->m;
  neo_expr at = outline_number(o, block + 1), none = neo_const_int(m, NEO_I32_T, block);
  neo_span span = neo_tensor_at(m, blocks)->span;
  neo_expr end =
      certain ? neo_load(m, blocks, &at, 1, span) : neo_load_else(m, blocks, &at, 1, none, span);
  return neo_cast(m, NEO_I64_T, end);
}

void outline_assume_block(outliner *o, const outline_around *block) {
  neo_module *m = o->m;
  for (int certain = 0; certain < 2; certain++) {
    neo_expr end = end_of(o, block->blocks, 0, certain),
             next = end_of(o, block->blocks, 1, certain);
    if (!certain || !block->first) /* a graph of leaves has no more */
      NEO_PUSH(o->a, &o->assume, neo_op2(m, NEO_OP_LE, end, next));
    NEO_PUSH(o->a, &o->assume,
             block->first ? neo_op2(m, NEO_OP_LE, block->hi, end)
                          : neo_op2(m, NEO_OP_LE, end, block->lo));
  }
}

typedef struct {
  const outliner *o;
  const outline_around *block;
  outline_instance *x;
  neo_expr own; /* the row of an element */
} row_look;

/* Is it the load of a row that is apart from the element's? */
static bool is_apart(const row_look *l, const neo_node *n) {
  return n->op == NEO_OP_LOAD &&
         neo_tensor_at(l->o->m, (neo_tensor){n->attr})->apart.i == l->block->blocks.i &&
         is_of(l->o, n, l->own, l->x->rec.n_out);
}

static neo_expr without_rows(void *ctx, neo_module *m, neo_expr e) {
  const row_look *l = ctx;
  const neo_node *n = neo_expr_node(m, e);
  bool none = is_apart(l, n) && comes_before(l->o, n);
  return none ? neo_const_int(m, (neo_type)n->type, -1) : e;
}

static void note_row(void *ctx, neo_expr e) {
  row_look *l = ctx;
  neo_module *m = l->o->m;
  neo_node n = *neo_expr_node(m, e);
  if (!is_apart(l, &n))
    return;
  neo_expr row = neo_cast(m, NEO_I64_T, e);
  neo_expr fact = comes_before(l->o, &n) ? neo_op2(m, NEO_OP_LT, row, l->block->lo)
                                         : neo_op2(m, NEO_OP_LE, l->block->hi, row);
  NEO_PUSH(l->o->a, &l->x->apart, fact);
}

/* The outermost block around; null: there is none. */
static const outline_around *block_around(const outliner *o) {
  for (size_t k = 0; k < o->around.n; k++)
    if (o->around.at[k].blocks.i)
      return &o->around.at[k];
  return NULL;
}

static void find_own(row_look *l) {
  neo_module *m = l->o->m;
  for (uint32_t k = 0; l->block && k < l->block->order->n_members; k++) {
    const neo_order_member *member = &l->block->order->member[k];
    neo_expr at = neo_axis_ref(m, member->axis), base = l->x->base[member->axis];
    if (member->def.i == l->x->def.i)
      l->own = base.i ? neo_op2(m, NEO_OP_ADD, base, at) : at;
  }
}

static neo_list without_rows_list(row_look *l, neo_list from) {
  uint32_t id[OUTLINE_AXES];
  for (uint32_t k = 0; k < from.n; k++)
    id[k] = neo_expr_rewrite(l->o->m, neo_list_expr(l->o->m, from, k), without_rows, l).i;
  return neo_list_new(l->o->m, id, from.n);
}

static void note_list(row_look *l, neo_list from) {
  for (uint32_t k = 0; k < from.n; k++)
    neo_expr_visit(l->o->m, neo_list_expr(l->o->m, from, k), note_row, l);
}

void outline_read_apart(const outliner *o, outline_instance *x) {
  row_look l = {.o = o, .x = x, .block = block_around(o)};
  neo_def_rec *r = &x->rec;
  x->apart.n = 0;
  find_own(&l);
  if (!l.own.i)
    return;
  x->leaf = l.block->first;
  if (l.block->first) {
    r->body = without_rows_list(&l, r->body);
    r->finish = without_rows_list(&l, r->finish);
    r->where = r->where.i ? neo_expr_rewrite(o->m, r->where, without_rows, &l) : r->where;
  }
  note_list(&l, r->body);
  note_list(&l, r->finish);
  if (r->where.i)
    neo_expr_visit(o->m, r->where, note_row, &l);
}

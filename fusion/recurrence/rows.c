/* Facts about rows that read rows of other levels by a table (NEO_ROW_CHILD, NEO_ROW_PARENTS): the
 * rows can run in blocks (levels.c), and a block reads rows before it, or after it.
 *
 *   h[p, j] = f(x[p], sum[k] (h[placed[p, k], j] else 0))
 *
 *   first block               placed[p, k] = -1
 *   block begin .. end - 1    placed[p, k] < begin */
#include "fusion/recurrence/internal.h"

/* Does the table have, for a row, rows of other blocks? */
static bool names_rows(const neo_module *m, neo_tensor t) {
  uint8_t role = neo_tensor_at(m, t)->row_role;
  return role == NEO_ROW_CHILD || role == NEO_ROW_PARENTS;
}

/* The load in index e of a row of another block: table[..], or table[..] / parts if rows have
 * several parts; null: e is another expression. */
static const neo_node *other_row(const outliner *o, neo_expr e) {
  const neo_node *n = neo_expr_node(o->m, e);
  int64_t parts = 1;
  if (n->op == NEO_OP_DIV && neo_expr_is_int(o->m, neo_list_expr(o->m, n->arg, 1), &parts))
    n = neo_expr_node(o->m, neo_list_expr(o->m, n->arg, 0));
  if (n->op == NEO_OP_CAST && n->type == NEO_I64_T)
    n = neo_expr_node(o->m, neo_list_expr(o->m, n->arg, 0));
  neo_tensor t = {n->op == NEO_OP_LOAD ? n->attr : 0};
  bool is = t.i && names_rows(o->m, t) && parts == neo_tensor_slots(o->m, t);
  return is ? n : NULL;
}

/* Does the table have rows before their reader? Else it lists rows after it. */
static bool comes_before(const outliner *o, const neo_node *n) {
  return neo_tensor_at(o->m, (neo_tensor){n->attr})->row_role == NEO_ROW_CHILD;
}

/* Is the table indexed by the reader's row? Else it has a list for each row. */
static bool is_by_row(const outliner *o, const neo_node *n) {
  neo_expr below = neo_tensor_at(o->m, (neo_tensor){n->attr})->below;
  return below.i && neo_expr_node(o->m, below)->op == NEO_OP_AXIS;
}

/* Is the table read for row `own`? A list of rows is read along the axis of a sum, or by a
 * definition that runs by owner at its own position. */
static bool is_of(const outliner *o, const neo_node *n, neo_expr own, bool by_owner,
                  uint32_t n_out) {
  neo_expr at = neo_list_expr(o->m, n->arg, 0);
  const neo_node *axis = neo_expr_node(o->m, at);
  if (is_by_row(o, n))
    return at.i == own.i && !by_owner;
  return (by_owner && at.i == own.i) || (axis->op == NEO_OP_AXIS && axis->attr >= n_out);
}

/* Is the node the end of the first block in the table of blocks? */
static bool is_first_end(const outliner *o, const neo_node *n) {
  neo_tensor t = {n->attr};
  int64_t at;
  return neo_tensor_at(o->m, t)->row_role == NEO_ROW_FIRST &&
         neo_expr_is_int(o->m, neo_list_expr(o->m, n->arg, 0), &at) &&
         at == neo_blocks_kinds(o->m, t);
}

typedef struct {
  const outliner *o;
  const neo_order_step *loop;
  const neo_order_member *reader;
  neo_tensor blocks;
  bool good, earlier;
} block_look;

/* The table of listed positions (NEO_ROW_LISTED) that index `at` is an element of; 0: none. */
static neo_tensor listed_in(const neo_module *m, neo_expr at) {
  const neo_node *n = neo_expr_node(m, at);
  if (n->op == NEO_OP_CAST)
    n = neo_expr_node(m, neo_list_expr(m, n->arg, 0));
  neo_tensor t = {n->op == NEO_OP_LOAD ? n->attr : 0};
  return t.i && neo_tensor_at(m, t)->row_role == NEO_ROW_LISTED ? t : (neo_tensor){0};
}

/* Notes a table through which rows are read. All tables have to have the same blocks. */
static void note_blocks(block_look *l, neo_tensor table) {
  neo_tensor blocks = table.i ? neo_tensor_blocks(l->o->m, table) : table;
  l->good = l->good && (!blocks.i || !l->blocks.i || l->blocks.i == blocks.i);
  l->blocks = blocks.i ? blocks : l->blocks;
}

static void look(void *ctx, neo_expr e) {
  block_look *l = ctx;
  neo_module *m = l->o->m;
  neo_expr own = neo_axis_ref(m, l->reader->axis);
  const neo_node *n = neo_expr_node(m, e);
  uint32_t n_out = neo_def_at(m, l->reader->def)->n_out;
  const neo_node *row = n->op == NEO_OP_LOAD ? other_row(l->o, e) : NULL;
  bool by_owner = l->reader->owner.i;
  if (row && comes_before(l->o, row) && is_of(l->o, row, own, by_owner, n_out))
    l->earlier = true;
  if (n->op == NEO_OP_LOAD_ELSE && is_first_end(l->o, n))
    l->earlier = true;
  if (!l->good || !outline_is_read(n))
    return;
  const neo_order_member *made = outline_maker(m, l->loop, (neo_tensor){n->attr});
  neo_expr at = made ? neo_expr_arg(m, e, made->axis) : own;
  if (made && (by_owner || made->owner.i) && outline_reads_list(l->o, l->reader, made, at)) {
    note_blocks(l, listed_in(m, at));
    return;
  }
  if (at.i == own.i && (!made || !by_owner == !made->owner.i))
    return;
  row = other_row(l->o, at);
  neo_tensor blocks = row ? neo_tensor_blocks(m, (neo_tensor){row->attr}) : (neo_tensor){0};
  l->good = row && !made->owner.i && is_of(l->o, row, own, by_owner, n_out) &&
            (!l->blocks.i || l->blocks.i == blocks.i);
  l->blocks = blocks;
}

/* Has each definition of the loop all rows of the blocks? */
static bool is_whole(const outliner *o, const neo_order_step *order, neo_tensor blocks) {
  neo_module *m = o->m;
  neo_expr lo, hi;
  int64_t first, more;
  neo_order_iterations(m, order, &lo, &hi);
  neo_expr all = neo_op2(m, NEO_OP_MUL, hi, outline_number(o, neo_blocks_kinds(m, blocks)));
  bool whole = neo_expr_is_int(m, lo, &first) && first == 0 &&
               outline_distance(o, neo_tensor_extent(m, blocks, 0), all, &more) && more == 1;
  for (uint32_t k = 0; k < order->n_members && whole; k++) {
    const neo_order_member *x = &order->member[k];
    whole = x->owner.i ? neo_tensor_at(m, x->owner)->bound.i == hi.i
                       : neo_def_axis(m, neo_def_at(m, x->def), x->axis)->hi.i == hi.i;
  }
  return whole;
}

neo_tensor outline_blocks_of(const outliner *o, const neo_order_step *order, bool *earlier) {
  neo_module *m = o->m;
  block_look l = {.o = o, .loop = order, .good = true};
  for (uint32_t k = 0; k < order->n_members && l.good; k++) {
    l.reader = &order->member[k];
    l.good = l.reader->delay == 0 && !neo_def_at(m, l.reader->def)->out_map.n;
    neo_def_visit(m, l.reader->def, look, &l);
  }
  if (earlier)
    *earlier = l.earlier;
  bool is = l.good && l.blocks.i && is_whole(o, order, l.blocks);
  return is ? l.blocks : (neo_tensor){0};
}

/* ---- in a block */

typedef struct {
  outliner *o;
  const outline_around *block;
  outline_instance *x;
  neo_expr own;  /* the row of an element of x; by_owner: the element's position */
  bool by_owner; /* x runs by owner */
} row_look;

/* Is the node the load of a row in another block than the element's? */
static bool is_other_row(const row_look *l, const neo_node *n) {
  return n->op == NEO_OP_LOAD && names_rows(l->o->m, (neo_tensor){n->attr}) &&
         neo_tensor_blocks(l->o->m, (neo_tensor){n->attr}).i == l->block->blocks.i &&
         is_of(l->o, n, l->own, l->by_owner, l->x->rec.n_out);
}

static neo_expr without_row(void *ctx, neo_module *m, neo_expr e) {
  const row_look *l = ctx;
  const neo_node *n = neo_expr_node(m, e);
  bool none = is_other_row(l, n) && is_by_row(l->o, n);
  return none ? neo_const_int(m, (neo_type)n->type, -1) : e;
}

static neo_expr without_rows(void *ctx, neo_expr e) {
  const row_look *l = ctx;
  return neo_expr_rewrite(l->o->m, e, without_row, ctx);
}

static void note_row(void *ctx, neo_expr e) {
  row_look *l = ctx;
  neo_module *m = l->o->m;
  neo_node n = *neo_expr_node(m, e);
  if (!is_other_row(l, &n))
    return;
  int64_t parts = neo_tensor_slots(m, (neo_tensor){n.attr});
  neo_expr row = neo_cast(m, NEO_I64_T, e);
  if (parts > 1)
    row = neo_op2(m, NEO_OP_DIV, row, outline_number(l->o, parts));
  neo_expr fact = comes_before(l->o, &n) ? neo_op2(m, NEO_OP_LT, row, l->block->lo)
                                         : neo_op2(m, NEO_OP_LE, l->block->hi, row);
  NEO_PUSH(l->o->a, &l->x->row_facts, fact);
}

/* The outermost block around; null: there is none. */
static const outline_around *block_around(const outliner *o) {
  for (size_t k = 0; k < o->around.n; k++)
    if (o->around.at[k].blocks.i)
      return &o->around.at[k];
  return NULL;
}

static neo_expr of_kind(void *ctx, neo_expr e) {
  const row_look *l = ctx;
  return outline_of_kind(l->o, l->own, e);
}

neo_expr outline_own_row(const outliner *o, const outline_instance *x) {
  const outline_around *block = block_around(o);
  const neo_order_member *own = block ? outline_member(block->order, x->def) : NULL;
  return own ? outline_position(o, x, own->axis) : (neo_expr){0};
}

/* Does the kind of the rows, or that they are leaves, decide a value's select? */
static bool is_select_decided(row_look *l, neo_list values) {
  neo_module *m = l->o->m;
  bool decided = false;
  int64_t holds;
  for (uint32_t k = 0; k < values.n && !decided; k++) {
    neo_expr e = neo_list_expr(m, values, k);
    if (neo_expr_node(m, e)->op != NEO_OP_SELECT)
      continue;
    neo_expr c = of_kind(l, neo_expr_arg(m, e, 0));
    decided = neo_expr_is_int(m, l->block->first ? without_rows(l, c) : c, &holds);
  }
  return decided;
}

void outline_note_rows(outliner *o, outline_instance *x) {
  const outline_around *block = block_around(o);
  const neo_order_member *member = block ? outline_member(block->order, x->def) : NULL;
  row_look l = {o, block, x, outline_own_row(o, x), member && member->owner.i};
  x->row_facts.n = 0;
  x->decided = false;
  if (!l.own.i)
    return;
  x->decided = is_select_decided(&l, x->rec.finish);
  x->leaf = l.block->first;
  if (o->kind)
    outline_map(o, &x->rec, of_kind, &l);
  if (l.block->first)
    outline_map(o, &x->rec, without_rows, &l);
  outline_visit(o, &x->rec, note_row, &l);
}

/* ---- levels */

void outline_note_level(const outliner *o, outline_instance *x) {
  x->level = o->level;
  if (!o->level.first.i || !o->level.serial)
    return;
  neo_expr row = o->around.n ? o->around.at[0].index : (neo_expr){0};
  if (!row.i) { /* rows of several levels */
    x->level.first = (neo_tensor){0};
    return;
  }
  x->level.number =
      neo_op2(o->m, NEO_OP_ADD, o->level.number, neo_op2(o->m, NEO_OP_SUB, row, o->level.begin));
  x->level.begin = row;
  x->level.end = neo_op2(o->m, NEO_OP_ADD, row, outline_number(o, 1));
}

neo_tensor outline_level_table(const outliner *o, const outline_instance *x, neo_expr at,
                               bool *before) {
  const neo_node *n = other_row(o, at);
  neo_tensor t = {n ? n->attr : 0};
  if (!n || !neo_rows_are_chains(neo_rows_at(o->m, neo_tensor_at(o->m, t)->rows)) ||
      neo_tensor_blocks(o->m, t).i != x->level.first.i)
    return (neo_tensor){0};
  *before = comes_before(o, n);
  return t;
}

/* ---- kinds
 *
 * If all rows of a block have one kind (NEO_ROW_KIND), levels.c writes the block's steps once for
 * each kind, simplified for it:
 *
 *     h[p, j] = select(kind[p] == 1, a[p, j], b[p, j])
 *     ->
 *     block n, if n % 2 == 0: h[begin .. end - 1, j] = b[..]     a is not computed
 *              if n % 2 == 1: h[begin .. end - 1, j] = a[..]     b is not computed
 *
 * A value that is 0 for all rows of a kind becomes 0 in its readers, and so do products with it. */

typedef struct {
  outliner *o;
  neo_expr own;
} kind_look;

enum { UNKNOWN, ZERO, OTHER };

/* Are all elements of the definition 0 for rows of the current kind? A definition that depends on
 * itself counts as not. */
static bool is_zero(outliner *o, neo_def d) {
  if (o->zero[d.i])
    return o->zero[d.i] == ZERO;
  o->zero[d.i] = OTHER;
  const outline_instance *y = outline_instance_of(o, d);
  bool is = y->rec.finish.n == 1 && y->rec.reducer == NEO_RED_NONE &&
            neo_expr_is_zero(o->m, neo_list_expr(o->m, y->rec.finish, 0));
  o->zero[d.i] = is ? ZERO : OTHER;
  return is;
}

static neo_expr of_kind_node(void *ctx, neo_module *m, neo_expr e) {
  const kind_look *l = ctx;
  neo_node n = *neo_expr_node(m, e);
  if (!outline_is_read(&n))
    return e;
  const neo_tensor_rec *t = neo_tensor_at(m, (neo_tensor){n.attr});
  if (t->row_role == NEO_ROW_KIND &&
      neo_tensor_blocks(m, (neo_tensor){n.attr}).i == block_around(l->o)->blocks.i)
    return neo_list_at(m, n.arg, 0) == l->own.i
               ? neo_const_int(m, (neo_type)n.type, (int64_t)l->o->kind - 1)
               : e;
  const neo_order_member *made = outline_maker(m, block_around(l->o)->order, (neo_tensor){n.attr});
  bool zero = made && t->pieces.n == 1 && n.op == NEO_OP_LOAD &&
              neo_type_is_float((neo_type)n.type) &&
              neo_list_at(m, n.arg, made->axis) == l->own.i && is_zero(l->o, made->def);
  return zero ? neo_const_float(m, (neo_type)n.type, 0) : e;
}

neo_expr outline_of_kind(outliner *o, neo_expr own, neo_expr e) {
  kind_look l = {o, own};
  return o->kind && own.i ? neo_expr_rewrite(o->m, e, of_kind_node, &l) : e;
}

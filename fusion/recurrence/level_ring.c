/* Rings of levels. Of a tensor whose rows are read in their own level and the next one alone (neo_tensor_rec.adjacent),
 * and by nobody outside, the rows of two levels are enough:
 *
 *     c[p, j] = f[p, j] * (c[placed[p], j] else 0) + g[p, j]         a vertex has one child at most
 *
 * Levels have any number of rows, two of them never more than there are. So rows of even levels lie at the beginning of
 * the tensor's memory, and those of odd ones at its end: row p of level l, which has the rows begin .. end - 1 of V, at
 *
 *     p - begin + (l % 2) * (V - (end - begin))
 *
 * Rows of a level remain one behind the other, and the memory between them is never touched. (As ring.c, where a round
 * has one position.) */
#include "fusion/recurrence/internal.h"

static neo_expr op(const outliner *o, neo_op code, neo_expr a, neo_expr b) {
  return neo_op2(o->m, code, a, b);
}

static neo_expr number(const outliner *o, int64_t x) {
  return outline_number(o, x);
}

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
      op(o, NEO_OP_ADD, o->level.number, op(o, NEO_OP_SUB, row, o->level.begin));
  x->level.begin = row;
  x->level.end = op(o, NEO_OP_ADD, row, number(o, 1));
}

/* ---- which tensors */

typedef struct {
  const outliner *o;
  const neo_order_step *order;
  neo_tensor tensor;
  const neo_order_member *member; /* of its definition */
  const outline_instance *x;      /* at hand */
  bool good, adjacent;
} look_ring;

static const neo_order_member *member_of(const neo_order_step *order, neo_def d) {
  for (uint32_t k = 0; k < order->n_members; k++)
    if (order->member[k].def.i == d.i)
      return &order->member[k];
  return NULL;
}

/* Is it the row of the element of x for which it is read? */
static bool is_own(const outliner *o, const outline_instance *x, uint32_t axis, neo_expr at) {
  neo_expr own = x->base[axis];
  int64_t d;
  if (!x->fixed[axis])
    own = op(o, NEO_OP_ADD, own, neo_axis_ref(o->m, axis));
  return outline_distance(o, at, own, &d) && d == 0;
}

/* The table of rows in the next level or the one before that the row is of; 0: it is of none. */
static neo_tensor table_of(const outliner *o, const outline_instance *x, neo_expr at) {
  const neo_node *n = neo_expr_node(o->m, at);
  if (n->op == NEO_OP_CAST && n->type == NEO_I64_T)
    n = neo_expr_node(o->m, neo_list_expr(o->m, n->arg, 0));
  neo_tensor t = {n->op == NEO_OP_LOAD ? n->attr : 0};
  const neo_tensor_rec *r = neo_tensor_at(o->m, t);
  return t.i && r->adjacent && r->apart.i == x->level.first.i ? t : (neo_tensor){0};
}

static void look(void *ctx, neo_expr read, uint32_t n_axes) {
  look_ring *l = ctx;
  (void)n_axes;
  if (neo_expr_node(l->o->m, read)->attr != l->tensor.i || !l->good)
    return;
  const neo_order_member *reader = member_of(l->order, l->x->def);
  neo_expr at = neo_expr_arg(l->o->m, read, l->member->axis);
  if (!reader || !l->x->level.first.i || !l->x->base[reader->axis].i) {
    l->good = false;
  } else if (!is_own(l->o, l->x, reader->axis, at)) {
    l->good = table_of(l->o, l->x, at).i;
    l->adjacent = true;
  }
}

static bool makes(const look_ring *l) {
  neo_list out = l->x->rec.out;
  for (uint32_t k = 0; k < out.n; k++)
    if (neo_list_at(l->o->m, out, k) == l->tensor.i)
      return true;
  return false;
}

static void look_steps(look_ring *l, const outline_steps *steps) {
  for (size_t k = 0; k < steps->n && l->good; k++) {
    l->x = steps->at[k].at;
    if (!l->x) {
      look_steps(l, &steps->at[k].steps);
      continue;
    }
    if (makes(l))
      l->good = l->x->level.first.i && l->x->base[l->member->axis].i;
    outline_reads(l->o, l->x, look, l);
  }
}

bool outline_has_level_ring(const outliner *o, const outline_steps *steps,
                            const neo_order_step *order, neo_tensor t,
                            const neo_order_member *member) {
  look_ring l = {.o = o, .order = order, .tensor = t, .member = member, .good = true};
  look_steps(&l, steps);
  return l.good && l.adjacent;
}

/* ---- where rows lie */

/* Where the rows begin .. end - 1 of a level begin in tensor t. */
static neo_expr begin_of(const outliner *o, neo_tensor t, neo_expr level, neo_expr begin,
                         neo_expr end) {
  neo_expr all = neo_tensor_extent(o->m, t, o->ring[t.i].axis);
  neo_expr free = op(o, NEO_OP_SUB, all, op(o, NEO_OP_SUB, end, begin));
  return op(o, NEO_OP_MUL, op(o, NEO_OP_MOD, level, number(o, 2)), free);
}

neo_expr outline_level_begin(const outliner *o, const outline_instance *x, neo_tensor t) {
  return begin_of(o, t, x->level.number, x->level.begin, x->level.end);
}

/* The first row of the level, which may be none that there is. */
static neo_expr first_of(const outliner *o, const outline_instance *x, neo_tensor first,
                         neo_expr level) {
  neo_module *m = o->m;
  neo_expr none = neo_const_int(m, NEO_I32_T, 0);
  return neo_cast(m, NEO_I64_T, neo_load_else(m, first, &level, 1, none, x->rec.span));
}

neo_expr outline_level_place(const outliner *o, const outline_instance *x, neo_tensor t,
                             neo_tensor first, neo_expr read, neo_expr at) {
  neo_expr row = neo_expr_arg(o->m, read, o->ring[t.i].axis), one = number(o, 1);
  neo_tensor table = table_of(o, x, row);
  neo_expr level = x->level.number, begin = x->level.begin, end = x->level.end;
  if (table.i && neo_expr_node(o->m, neo_tensor_at(o->m, table)->below)->op == NEO_OP_AXIS) {
    level = op(o, NEO_OP_SUB, level, one);
    end = begin;
    begin = first_of(o, x, first, level);
  } else if (table.i) {
    level = op(o, NEO_OP_ADD, level, one);
    begin = end;
    end = x->level.serial ? op(o, NEO_OP_ADD, begin, one)
                          : first_of(o, x, first, op(o, NEO_OP_ADD, level, one));
  }
  return op(o, NEO_OP_ADD, op(o, NEO_OP_SUB, at, begin), begin_of(o, t, level, begin, end));
}

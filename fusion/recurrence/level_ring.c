/* Rings of levels. Two levels of rows are enough in memory if rows are read in their own level and the next one alone
 * (neo_rows_are_chains), and by nobody outside:
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

typedef struct {
  const outliner *o;
  const neo_order_step *order;
  neo_tensor tensor;
  const neo_order_member *member; /* of its definition */
  const outline_instance *x;      /* at hand */
  bool good, adjacent;
} look_ring;

/* Is it the row of the element of x for which it is read? */
static bool is_own(const outliner *o, const outline_instance *x, uint32_t axis, neo_expr at) {
  neo_expr own = x->base[axis];
  int64_t d;
  if (!x->fixed[axis])
    own = neo_op2(o->m, NEO_OP_ADD, own, neo_axis_ref(o->m, axis));
  return outline_distance(o, at, own, &d) && d == 0;
}

static void look(void *ctx, neo_expr read, uint32_t n_axes) {
  look_ring *l = ctx;
  (void)n_axes;
  if (neo_expr_node(l->o->m, read)->attr != l->tensor.i || !l->good)
    return;
  const neo_order_member *reader = outline_member(l->order, l->x->def);
  neo_expr at = neo_expr_arg(l->o->m, read, l->member->axis);
  if (!reader || !l->x->level.first.i || !l->x->base[reader->axis].i) {
    l->good = false;
  } else if (!is_own(l->o, l->x, reader->axis, at)) {
    bool before;
    l->good = outline_level_table(l->o, l->x, at, &before).i;
    l->adjacent = true;
  }
}

static void look_tree(look_ring *l, const neo_tree *t) {
  for (size_t k = 0; k < t->children.n && l->good; k++)
    look_tree(l, t->children.at[k]);
  if (t->kind != NEO_TREE_LEAF)
    return;
  l->x = outline_at(l->o, t);
  if (outline_makes(l->o, l->x, l->tensor.i))
    l->good = l->x->level.first.i && l->x->base[l->member->axis].i;
  outline_reads(l->o, l->x, look, l);
}

bool outline_has_level_ring(const outliner *o, const neo_tree *tree, const neo_order_step *order,
                            neo_tensor t, const neo_order_member *member) {
  look_ring l = {.o = o, .order = order, .tensor = t, .member = member, .good = true};
  look_tree(&l, tree);
  return l.good && l.adjacent;
}

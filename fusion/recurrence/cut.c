/* Positions at which conditions of a definition change along one of its axes. A condition is a
 * comparison, or the range of a guarded read, that is linear in the axis with coefficient 1 or -1:
 *
 *   select(j > i, 0, ...)    along i    changes at j
 *   h[t - 1] else h0         along t    changes at 1 */
#include "fusion/recurrence/internal.h"

typedef struct {
  const outliner *o;
  neo_expr axis;
  bool loops;
  neo_expr *cut;
  uint32_t n, most;
} cutter;

/* Is the rest of the condition, without the axis, over sizes, and over a loop's index if
 * required? */
static bool is_cut(const cutter *c, const neo_linear *l) {
  const neo_module *m = c->o->m;
  bool of_loop = false;
  for (uint32_t k = 0; k < l->n; k++) {
    const neo_node *n = neo_expr_node(m, l->term[k].atom);
    if (n->op != NEO_OP_SIZE)
      return false;
    of_loop = of_loop || neo_size_at(m, (neo_size){n->attr})->loop_index;
  }
  return of_loop || !c->loops;
}

static void add_cut(cutter *c, neo_expr at) {
  for (uint32_t k = 0; k < c->n; k++)
    if (c->cut[k].i == at.i)
      return;
  if (c->n < c->most)
    c->cut[c->n++] = at;
}

/* Adds the cut of f < 0; `least` is the least f of the part after it if f grows: 0 for <, 1 for
 * <=. */
static void add_bound(cutter *c, neo_expr f, int64_t least) {
  neo_module *m = c->o->m;
  neo_linear l, axis, rest;
  if (!neo_linear_of(m, f, &l) || !neo_linear_of(m, c->axis, &axis))
    return;
  int64_t coef = neo_linear_coef(&l, c->axis);
  if ((coef != 1 && coef != -1) || !neo_linear_add(&l, -coef, &axis, &rest) || !is_cut(c, &rest))
    return;
  /* axis + rest < least, or rest - axis < least: at or above rest - least + 1 */
  neo_expr x = neo_linear_expr(m, &rest), by = outline_number(c->o, coef > 0 ? least : 1 - least);
  if (coef > 0)
    add_cut(c, neo_op2(m, NEO_OP_SUB, by, x));
  else
    add_cut(c, neo_op2(m, NEO_OP_ADD, x, by));
}

static void look_compare(cutter *c, neo_expr e) {
  neo_module *m = c->o->m;
  neo_node n = *neo_expr_node(m, e);
  neo_expr a = neo_list_expr(m, n.arg, 0), b = neo_list_expr(m, n.arg, 1);
  if (neo_expr_node(m, a)->type != NEO_I64_T)
    return;
  neo_expr f = neo_op2(m, NEO_OP_SUB, a, b);
  if (n.op != NEO_OP_LE)
    add_bound(c, f, 0);
  if (n.op != NEO_OP_LT)
    add_bound(c, f, 1);
}

static void look_guard(cutter *c, neo_expr e) {
  neo_module *m = c->o->m;
  neo_tensor t = {neo_expr_node(m, e)->attr};
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++) {
    neo_expr at = neo_expr_arg(m, e, k);
    add_bound(c, at, 0);
    add_bound(c, neo_op2(m, NEO_OP_SUB, at, neo_tensor_extent(m, t, k)), 0);
  }
}

static void look(void *ctx, neo_expr e) {
  cutter *c = ctx;
  switch (neo_expr_node(c->o->m, e)->op) {
  case NEO_OP_LOAD_ELSE:
    look_guard(c, e);
    return;
  case NEO_OP_LT:
  case NEO_OP_LE:
  case NEO_OP_EQ:
  case NEO_OP_NE:
    look_compare(c, e);
    return;
  default:
    return;
  }
}

uint32_t outline_cuts(const outliner *o, const neo_def_rec *rec, uint32_t axis, bool loops,
                      neo_expr *cut, uint32_t most) {
  cutter c = {o, neo_axis_ref(o->m, axis), loops, cut, 0, most};
  outline_visit(o, rec, look, &c);
  return c.n;
}

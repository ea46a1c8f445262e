/* The condition of an early exit, and definitions that keep their value after it fails
 * (early_exit.h):
 *
 *     e[r] = select(alive[r], f(h[r - 1]), kept[r])         kept[r] = (e[r - 1] else e0)
 *
 * In a dead iteration r > 0, e[r] is kept[r], which is e[r - 1]. */
#include "fusion/recurrence/early_exit/early_exit.h"
#include "ir/trip_count.h"

enum { MOST_COPIES = 4 };

/* ---- iterations of elements */

const neo_order_member *early_exit_maker(const early_exit *q, uint32_t tensor) {
  neo_list pieces = neo_tensor_at(q->o->m, (neo_tensor){tensor})->pieces;
  neo_def d = {pieces.n == 1 ? neo_list_at(q->o->m, pieces, 0) : 0};
  return d.i ? outline_member(early_exit_loop(q), d) : NULL;
}

bool early_exit_distance(const early_exit *q, uint32_t level, neo_def x, neo_def made,
                         neo_expr read, int64_t *d) {
  const outliner *o = q->o;
  const neo_order_member *here = outline_member(q->loop[level], x);
  const neo_order_member *there = outline_member(q->loop[level], made);
  if (!here || !there || here->delay != there->delay)
    return false;
  neo_expr at = neo_axis_ref(o->m, here->axis), made_at = neo_expr_arg(o->m, read, there->axis);
  return q->loop[level]->down ? outline_distance(o, made_at, at, d)
                              : outline_distance(o, at, made_at, d);
}

/* Does e, in definition x, read an element that the loop made `back` iterations before x's, in the
 * same iterations of the outer loops? */
static bool is_read_back(const early_exit *q, neo_def x, neo_expr e, int64_t back) {
  const neo_node *n = neo_expr_node(q->o->m, e);
  const neo_order_member *made = outline_is_read(n) ? early_exit_maker(q, n->attr) : NULL;
  bool is = made != NULL;
  for (uint32_t k = 0; k < q->n_loops && is; k++) {
    int64_t d;
    is = early_exit_distance(q, k, x, made->def, e, &d) && d == (k + 1 == q->n_loops ? back : 0);
  }
  return is;
}

/* ---- the condition */

typedef struct {
  early_exit *q;
  neo_def reader;
} condition_look;

/* Takes e as the condition if it is a load of bools at the reader's own iteration that, once
 * false, stay false. */
static void look_condition(void *ctx, neo_expr e) {
  const condition_look *look = ctx;
  early_exit *q = look->q;
  neo_module *m = q->o->m;
  neo_node n = *neo_expr_node(m, e);
  if (q->alive.i || n.op != NEO_OP_LOAD || n.type != NEO_BOOL_T || n.arg.n < q->n_loops)
    return;
  for (uint32_t k = 0; k < q->n_loops; k++) {
    neo_expr own = neo_axis_ref(m, outline_member(q->loop[k], look->reader)->axis);
    q->axis[k] = 0;
    while (q->axis[k] < n.arg.n && neo_list_at(m, n.arg, q->axis[k]) != own.i)
      q->axis[k]++;
    if (q->axis[k] == n.arg.n)
      return;
  }
  const neo_order_member *maker = early_exit_maker(q, n.attr);
  bool there = !maker || (!early_exit_loop(q)->down && is_read_back(q, look->reader, e, 0));
  if (there && neo_stays_false(m, (neo_tensor){n.attr}, early_exit_axis(q))) {
    q->alive.i = n.attr;
    q->maker.i = maker ? maker->def.i : 0;
  }
}

bool early_exit_find_condition(early_exit *q) {
  const neo_order_step *loop = early_exit_loop(q);
  q->alive.i = q->maker.i = 0;
  for (uint32_t k = 0; k < loop->n_members && !q->alive.i; k++) {
    condition_look look = {q, loop->member[k].def};
    neo_def_visit(q->o->m, look.reader, look_condition, &look);
  }
  q->shape = q->maker.i ? q->maker : loop->member[0].def;
  bool folded = !q->maker.i && q->alive.i < q->o->n_tensors && q->o->storage[q->alive.i].n_folds;
  return q->alive.i && !folded;
}

bool early_exit_is_condition(const early_exit *q, neo_def x, neo_expr e) {
  neo_module *m = q->o->m;
  bool is = neo_expr_node(m, e)->op == NEO_OP_LOAD && neo_expr_node(m, e)->attr == q->alive.i;
  if (q->maker.i)
    return is && is_read_back(q, x, e, 0);
  for (uint32_t k = 0; k < q->n_loops && is; k++) {
    const neo_order_member *own = outline_member(q->loop[k], x);
    is = own && neo_expr_arg(m, e, q->axis[k]).i == neo_axis_ref(m, own->axis).i;
  }
  return is;
}

/* ---- definitions that keep their value */

/* The expression of the element that x reads, if the same iteration makes it without a reduction;
 * 0: another element. */
static neo_expr copied_value(const early_exit *q, neo_def x, neo_expr read) {
  neo_module *m = q->o->m;
  const neo_node *n = neo_expr_node(m, read);
  neo_expr by[OUTLINE_AXES];
  if (n->op != NEO_OP_LOAD || !is_read_back(q, x, read, 0))
    return (neo_expr){0};
  neo_def_rec d = *neo_def_at(m, early_exit_maker(q, n->attr)->def);
  if (d.reducer != NEO_RED_NONE || d.out.n != 1 || d.out_map.n)
    return (neo_expr){0};
  for (uint32_t k = 0; k < d.n_out; k++)
    by[k] = neo_expr_arg(m, read, k);
  return neo_expr_subst_axes(m, neo_list_expr(m, d.finish, 0), by, d.n_out);
}

typedef struct {
  const early_exit *q;
  neo_def x;
} dead_look;

static neo_expr dead_node(void *ctx, neo_module *m, neo_expr e) {
  const dead_look *k = ctx;
  return early_exit_is_condition(k->q, k->x, e) ? neo_const_bool(m, false) : e;
}

/* The expression without terms that are 0. */
static neo_expr without_zeros(neo_module *m, neo_expr e) {
  neo_op op = (neo_op)neo_expr_node(m, e)->op;
  if (op == NEO_OP_NEG) {
    neo_expr x = without_zeros(m, neo_expr_arg(m, e, 0));
    return neo_expr_is_zero(m, x) ? x : neo_op1(m, op, x);
  }
  if ((op != NEO_OP_ADD && op != NEO_OP_SUB) || !neo_type_is_float(neo_expr_type(m, e)))
    return e;
  neo_expr a = without_zeros(m, neo_expr_arg(m, e, 0));
  neo_expr b = without_zeros(m, neo_expr_arg(m, e, 1));
  if (neo_expr_is_zero(m, b))
    return a;
  return neo_expr_is_zero(m, a) && op == NEO_OP_ADD ? b : neo_op2(m, op, a, b);
}

/* The condition that the iteration of x's point is not the first one. */
static neo_expr is_later(const early_exit *q, neo_def x) {
  neo_module *m = q->o->m;
  uint32_t axis = outline_member(early_exit_loop(q), x)->axis;
  neo_expr at = neo_axis_ref(m, axis), one = outline_number(q->o, 1);
  neo_expr end = neo_def_axis(m, neo_def_at(m, x), axis)->hi;
  return early_exit_loop(q)->down ? neo_op2(m, NEO_OP_LT, neo_op2(m, NEO_OP_ADD, at, one), end)
                                  : neo_op2(m, NEO_OP_LE, one, at);
}

/* The value of an expression at x's point in a dead iteration other than the first one. */
static neo_expr dead_value(const early_exit *q, neo_def x, neo_expr e) {
  neo_module *m = q->o->m;
  neo_expr later = is_later(q, x);
  neo_axis_rec axes[OUTLINE_AXES];
  neo_facts facts = {axes, neo_def_at(m, x)->n_out, &later, 1};
  dead_look look = {q, x};
  for (uint32_t k = 0; k < facts.n_axes; k++)
    axes[k] = *neo_def_axis(m, neo_def_at(m, x), k);
  for (int k = 0; k < MOST_COPIES; k++) {
    e = neo_simplify_under(q->o->p, &facts, neo_expr_rewrite(m, e, dead_node, &look));
    e = without_zeros(m, e);
    neo_expr copied = copied_value(q, x, e);
    if (!copied.i)
      break;
    e = copied;
  }
  return e;
}

bool early_exit_is_unchanged(const early_exit *q, const neo_order_member *x) {
  neo_module *m = q->o->m;
  neo_def_rec d = *neo_def_at(m, x->def);
  int64_t back = early_exit_loop(q)->down ? -1 : 1;
  if (d.reducer != NEO_RED_NONE || d.out.n != 1 || d.out_map.n)
    return false;
  neo_expr e = dead_value(q, x->def, neo_list_expr(m, d.finish, 0));
  const neo_node *n = neo_expr_node(m, e);
  bool same =
      outline_is_read(n) && n->attr == neo_list_at(m, d.out, 0) && is_read_back(q, x->def, e, 1);
  for (uint32_t k = 0; k < d.n_out && same; k++) {
    int64_t distance;
    same = outline_distance(q->o, neo_axis_ref(m, k), neo_expr_arg(m, e, k), &distance) &&
           distance == (k == x->axis ? back : 0);
  }
  return same;
}

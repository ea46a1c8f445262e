/* See trip_count.h. */
#include "ir/trip_count.h"

/* The definition of all elements, each from an expression; null: it is another kind. */
static const neo_def_rec *elementwise(const neo_module *m, neo_tensor t) {
  neo_list pieces = neo_tensor_at(m, t)->pieces;
  const neo_def_rec *d = pieces.n == 1 ? neo_def_at(m, (neo_def){neo_list_at(m, pieces, 0)}) : NULL;
  bool is =
      d && d->reducer == NEO_RED_NONE && d->out.n == 1 && !d->out_map.n && !neo_def_is_levels(d);
  return is ? d : NULL;
}

/* Is it an element of t at the current point, but `back` positions before along the dimension? */
static bool is_own(neo_module *m, const neo_node *n, neo_tensor t, uint32_t axis, int64_t back) {
  bool is = (n->op == NEO_OP_LOAD || n->op == NEO_OP_LOAD_ELSE) && n->attr == t.i;
  neo_list arg = n->arg;
  for (uint32_t k = 0; k < neo_tensor_rank(m, t) && is; k++) {
    neo_linear by;
    neo_expr distance = neo_op2(m, NEO_OP_SUB, neo_axis_ref(m, k), neo_list_expr(m, arg, k));
    is = neo_linear_of(m, distance, &by) && !by.n && by.constant == (k == axis ? back : 0);
  }
  return is;
}

/* Is it (t[.., r - 1] else ..)? */
static bool is_before(neo_module *m, neo_expr e, neo_tensor t, uint32_t axis) {
  neo_node n = *neo_expr_node(m, e);
  return n.op == NEO_OP_LOAD_ELSE && is_own(m, &n, t, axis, 1);
}

/* Is it (t[.., r - 1] else 0)? */
static bool is_before_or_zero(neo_module *m, neo_expr e, neo_tensor t, uint32_t axis) {
  const neo_node *n = neo_expr_node(m, e);
  return is_before(m, e, t, axis) && neo_expr_is_zero(m, neo_list_expr(m, n->arg, n->arg.n - 1));
}

static bool has_term(neo_module *m, neo_expr e, neo_tensor alive, uint32_t axis) {
  if (neo_expr_node(m, e)->op != NEO_OP_AND)
    return is_before(m, e, alive, axis);
  return has_term(m, neo_expr_arg(m, e, 0), alive, axis) ||
         has_term(m, neo_expr_arg(m, e, 1), alive, axis);
}

bool neo_stays_false(neo_module *m, neo_tensor alive, uint32_t axis) {
  const neo_def_rec *d = elementwise(m, alive);
  return d && neo_tensor_at(m, alive)->type == NEO_BOOL_T &&
         has_term(m, neo_list_expr(m, d->finish, 0), alive, axis);
}

/* ran[.., r] = select(alive[.., r], (ran[.., r-1] else 0) + 1, (ran[.., r-1] else 0)) */
static bool counts(neo_module *m, neo_tensor ran, neo_tensor alive, uint32_t axis) {
  const neo_def_rec *d = elementwise(m, ran);
  if (!d || neo_tensor_rank(m, ran) != neo_tensor_rank(m, alive))
    return false;
  neo_node n = *neo_expr_node(m, neo_list_expr(m, d->finish, 0));
  if (n.op != NEO_OP_SELECT || !neo_type_is_int((neo_type)n.type))
    return false;
  neo_node c = *neo_expr_node(m, neo_list_expr(m, n.arg, 0));
  neo_expr more = neo_list_expr(m, n.arg, 1), before = neo_list_expr(m, n.arg, 2);
  neo_expr one = neo_const_int(m, (neo_type)n.type, 1);
  return c.op == NEO_OP_LOAD && is_own(m, &c, alive, axis, 0) &&
         is_before_or_zero(m, before, ran, axis) &&
         (neo_op2(m, NEO_OP_ADD, before, one).i == more.i ||
          neo_op2(m, NEO_OP_ADD, one, before).i == more.i);
}

/* Is it ran[.., L - 1], by position along the other dimensions? */
static bool is_last(neo_module *m, neo_tensor t, neo_tensor ran, uint32_t axis) {
  const neo_def_rec *d = elementwise(m, t);
  if (!d || d->n_out + 1 != neo_tensor_rank(m, ran))
    return false;
  neo_node n = *neo_expr_node(m, neo_list_expr(m, d->finish, 0));
  bool is = (n.op == NEO_OP_LOAD || n.op == NEO_OP_LOAD_ELSE) && n.attr == ran.i;
  for (uint32_t k = 0; k <= d->n_out && is; k++) {
    neo_expr at = neo_list_expr(m, n.arg, k);
    neo_linear by;
    if (k != axis)
      is = at.i == neo_axis_ref(m, k - (k > axis)).i;
    else
      is = neo_linear_of(m, neo_op2(m, NEO_OP_SUB, neo_tensor_extent(m, ran, k), at), &by) &&
           !by.n && by.constant == 1;
  }
  return is;
}

static neo_tensor find(neo_module *m, bool (*is)(neo_module *, neo_tensor, neo_tensor, uint32_t),
                       neo_tensor of, uint32_t axis) {
  for (uint32_t t = 1; of.i && t < m->tensors.n; t++)
    if (is(m, (neo_tensor){t}, of, axis))
      return (neo_tensor){t};
  return (neo_tensor){0};
}

neo_tensor neo_trip_count(neo_module *m, neo_tensor alive, uint32_t axis) {
  return find(m, is_last, find(m, counts, alive, axis), axis);
}

/* alive[.., r] of which the elements of t are the trip counts; 0: they are none. */
static neo_expr counted(neo_module *m, neo_tensor t) {
  const neo_def_rec *d = elementwise(m, t);
  neo_node n = d ? *neo_expr_node(m, neo_list_expr(m, d->finish, 0)) : (neo_node){0};
  neo_tensor ran = {n.op == NEO_OP_LOAD || n.op == NEO_OP_LOAD_ELSE ? n.attr : 0};
  d = ran.i ? elementwise(m, ran) : NULL;
  if (!d || neo_expr_node(m, neo_list_expr(m, d->finish, 0))->op != NEO_OP_SELECT)
    return (neo_expr){0};
  neo_expr alive = neo_expr_arg(m, neo_list_expr(m, d->finish, 0), 0);
  neo_tensor of = {neo_expr_node(m, alive)->attr};
  for (uint32_t axis = 0; neo_expr_node(m, alive)->op == NEO_OP_LOAD && axis < n.arg.n; axis++)
    if (neo_stays_false(m, of, axis) && counts(m, ran, of, axis) && is_last(m, t, ran, axis))
      return alive;
  return (neo_expr){0};
}

neo_expr neo_trip_condition(neo_module *m, const neo_def_rec *d, uint32_t k) {
  neo_expr e = neo_def_axis(m, d, k)->hi, by[NEO_DEF_AXES] = {{0}};
  if (neo_expr_node(m, e)->op == NEO_OP_CAST)
    e = neo_expr_arg(m, e, 0);
  neo_node n = *neo_expr_node(m, e);
  neo_expr alive = n.op == NEO_OP_LOAD ? counted(m, (neo_tensor){n.attr}) : (neo_expr){0};
  if (!alive.i)
    return alive;
  uint32_t axis = 0;
  while (!neo_stays_false(m, (neo_tensor){neo_expr_node(m, alive)->attr}, axis))
    axis++;
  for (uint32_t i = 0; i <= n.arg.n; i++)
    by[i] = i == axis ? neo_axis_ref(m, k) : neo_list_expr(m, n.arg, i - (i > axis));
  return neo_expr_subst_axes(m, alive, by, n.arg.n + 1);
}

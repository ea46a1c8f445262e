/* See condition.h. */
#include "ir/condition.h"

enum { MOST_DEPTH = 10 };

/* ---- which expressions are conditions */

/* Whether the size has one value during a call. */
static bool is_of_call(const neo_module *m, uint32_t size);

static bool is_of_iteration(const neo_module *m, neo_expr e, const void *x) {
  const neo_node *n = neo_expr_node(m, e);
  (void)x;
  return n->op == NEO_OP_SIZE && !is_of_call(m, n->attr);
}

static bool is_of_call(const neo_module *m, uint32_t size) {
  const neo_size_rec *r = neo_size_at(m, (neo_size){size});
  return !r->loop_index &&
         (r->kind != NEO_SIZE_DERIVED || !neo_expr_any(m, r->value, is_of_iteration, NULL));
}

/* Is index `at` of a dimension in range at all sizes? */
static bool is_inside(const neo_module *m, neo_expr at, neo_expr extent) {
  int64_t x, n;
  if (!neo_expr_is_int(m, at, &x) || x < 0)
    return false;
  const neo_node *e = neo_expr_node(m, extent);
  if (e->op == NEO_OP_SIZE)
    return x < neo_size_at(m, (neo_size){e->attr})->lo;
  return neo_expr_is_int(m, extent, &n) && x < n;
}

static bool is_data(const neo_module *m, neo_expr e, const void *x) {
  const neo_node *n = neo_expr_node(m, e);
  (void)x;
  return neo_node_is_load(n) || n->op == NEO_OP_ACC || n->op == NEO_OP_RAND;
}

/* Whether the expression depends on axes and sizes alone. */
static bool is_position(const neo_module *m, neo_expr at) {
  return !neo_expr_any(m, at, is_data, NULL);
}

/* Whether e is an element of a plain tensor. `points`: at indices that depend on axes and sizes
 * alone; otherwise at constant indices in range. */
static bool is_element(const neo_module *m, neo_expr e, bool points) {
  const neo_node *n = neo_expr_node(m, e);
  bool load = n->op == NEO_OP_LOAD || (points && n->op == NEO_OP_LOAD_ELSE);
  neo_tensor t = {load ? n->attr : 0};
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  bool is = load && !r->partial && !r->terms && !r->rows.i && !r->moves;
  for (uint32_t k = 0; is && k < n->arg.n; k++) {
    neo_expr at = neo_list_expr(m, n->arg, k);
    is = points ? is_position(m, at) : is_inside(m, at, neo_tensor_extent(m, t, k));
  }
  return is;
}

/* Whether e has an exact value. `depth`: the number of enclosing expressions; an expression at
 * MOST_DEPTH is refused, which bounds the time spent on shared subexpressions. */
static bool is_exact(const neo_module *m, neo_expr e, uint32_t depth, bool points) {
  const neo_node *n = neo_expr_node(m, e);
  if (neo_type_is_float((neo_type)n->type) || depth == MOST_DEPTH)
    return false;
  if (neo_node_is_load(n))
    return is_element(m, e, points);
  if (n->op == NEO_OP_SIZE)
    return is_of_call(m, n->attr);
  bool is = n->op == NEO_OP_CONST || neo_op_is_elementwise((neo_op)n->op) ||
            (points && n->op == NEO_OP_AXIS);
  for (uint32_t k = 0; is && k < n->arg.n; k++)
    is = is_exact(m, neo_list_expr(m, n->arg, k), depth + 1, points);
  return is;
}

static bool is_of_kind(const neo_module *m, neo_expr e, bool points) {
  const neo_node *n = neo_expr_node(m, e);
  return n->type == NEO_BOOL_T && n->op != NEO_OP_CONST && n->op != NEO_OP_AND &&
         is_exact(m, e, 0, points);
}

bool neo_is_condition(const neo_module *m, neo_expr e) {
  return is_of_kind(m, e, false);
}

bool neo_is_point_condition(const neo_module *m, neo_expr e) {
  bool reads = neo_expr_has_loads(m, e);
  return is_of_kind(m, e, true) && (reads || !neo_expr_axes(m, e));
}

static bool varies(const neo_module *m, neo_expr e, const void *x) {
  neo_op op = (neo_op)neo_expr_node(m, e)->op;
  return op == NEO_OP_AXIS || op == NEO_OP_ACC || op == NEO_OP_RAND || is_of_iteration(m, e, x);
}

bool neo_is_uniform(const neo_module *m, neo_expr e) {
  return !neo_expr_any(m, e, varies, NULL);
}

/* ---- normal form of a comparison */

static bool is_int_compare(const neo_module *m, const neo_node *n) {
  return neo_op_rule((neo_op)n->op) == NEO_RULE_CMP &&
         !neo_type_is_float(neo_expr_type(m, neo_list_expr(m, n->arg, 0)));
}

static neo_expr compare(neo_module *m, neo_op op, neo_expr x, neo_expr y) {
  int64_t c;
  bool swap =
      op == NEO_OP_EQ && (neo_expr_is_int(m, x, &c) || (!neo_expr_is_int(m, y, &c) && x.i > y.i));
  return swap ? neo_op2(m, op, y, x) : neo_op2(m, op, x, y);
}

neo_expr neo_condition_of(neo_module *m, neo_expr e) {
  neo_node n = *neo_expr_node(m, e);
  if (n.op == NEO_OP_NOT)
    return neo_condition_not(m, neo_list_expr(m, n.arg, 0));
  if (!is_int_compare(m, &n))
    return e;
  neo_expr x = neo_list_expr(m, n.arg, 0), y = neo_list_expr(m, n.arg, 1);
  switch (n.op) {
  case NEO_OP_NE:
    return neo_op1(m, NEO_OP_NOT, compare(m, NEO_OP_EQ, x, y));
  case NEO_OP_LE:
    return neo_op1(m, NEO_OP_NOT, compare(m, NEO_OP_LT, y, x));
  default:
    return compare(m, (neo_op)n.op, x, y);
  }
}

neo_expr neo_condition_not(neo_module *m, neo_expr e) {
  neo_expr x = neo_condition_of(m, e);
  return neo_op1(m, NEO_OP_NOT, x); /* NOT of a NOT cancels */
}

bool neo_condition_parts(neo_module *m, neo_expr e, neo_expr *at, uint32_t *n, uint32_t most) {
  neo_node x = *neo_expr_node(m, e);
  bool no = x.op == NEO_OP_NOT;
  neo_expr inner = no ? neo_list_expr(m, x.arg, 0) : e;
  neo_node y = *neo_expr_node(m, inner);
  if (y.op == (no ? NEO_OP_OR : NEO_OP_AND)) {
    for (uint32_t k = 0; k < 2; k++) {
      neo_expr part = neo_list_expr(m, y.arg, k);
      if (!neo_condition_parts(m, no ? neo_op1(m, NEO_OP_NOT, part) : part, at, n, most))
        return false;
    }
    return true;
  }
  if (*n == most)
    return false;
  at[(*n)++] = neo_condition_of(m, e);
  return true;
}

/* ---- consequences of other conditions */

/* x == c, with a constant c. */
static bool is_value(const neo_module *m, neo_expr e, neo_expr *x, int64_t *c) {
  const neo_node *n = neo_expr_node(m, e);
  if (n->op != NEO_OP_EQ || !neo_expr_is_int(m, neo_list_expr(m, n->arg, 1), c))
    return false;
  *x = neo_list_expr(m, n->arg, 0);
  return true;
}

/* The value of comparison e where x has the value c. */
static neo_condition_value value_at(const neo_module *m, neo_expr e, neo_expr x, int64_t c) {
  neo_node n = *neo_expr_node(m, e);
  int64_t side[2];
  if (n.op != NEO_OP_EQ && n.op != NEO_OP_LT)
    return NEO_CONDITION_OPEN;
  for (uint32_t k = 0; k < 2; k++) {
    neo_expr y = neo_list_expr(m, n.arg, k);
    if (y.i == x.i)
      side[k] = c;
    else if (!neo_expr_is_int(m, y, &side[k]))
      return NEO_CONDITION_OPEN;
  }
  bool holds = n.op == NEO_OP_EQ ? side[0] == side[1] : side[0] < side[1];
  return holds ? NEO_CONDITION_HOLDS : NEO_CONDITION_FAILS;
}

static neo_condition_value negated_if(neo_condition_value x, bool negate) {
  if (!negate || x == NEO_CONDITION_OPEN)
    return x;
  return x == NEO_CONDITION_HOLDS ? NEO_CONDITION_FAILS : NEO_CONDITION_HOLDS;
}

/* The value of `x and y`, or of `x or y`: `decides` is the value of one operand that decides the
 * result. */
static neo_condition_value joined(neo_condition_value x, neo_condition_value y,
                                  neo_condition_value decides) {
  if (x == decides || y == decides)
    return decides;
  return x == y ? x : NEO_CONDITION_OPEN;
}

static neo_condition_value junction_where(neo_module *m, const neo_expr *holds, uint32_t n,
                                          neo_expr e) {
  bool all = neo_expr_node(m, e)->op == NEO_OP_AND;
  return joined(neo_condition_where(m, holds, n, neo_expr_arg(m, e, 0)),
                neo_condition_where(m, holds, n, neo_expr_arg(m, e, 1)),
                all ? NEO_CONDITION_FAILS : NEO_CONDITION_HOLDS);
}

static bool is_junction(const neo_module *m, neo_expr e) {
  return neo_expr_node(m, e)->op == NEO_OP_AND || neo_expr_node(m, e)->op == NEO_OP_OR;
}

neo_condition_value neo_condition_where(neo_module *m, const neo_expr *holds, uint32_t n,
                                        neo_expr e) {
  neo_expr y = neo_condition_of(m, e), x;
  bool no = neo_expr_node(m, y)->op == NEO_OP_NOT;
  neo_expr atom = no ? neo_expr_arg(m, y, 0) : y;
  int64_t c;
  if (neo_expr_is_int(m, atom, &c))
    return negated_if(c ? NEO_CONDITION_HOLDS : NEO_CONDITION_FAILS, no);
  for (uint32_t k = 0; k < n; k++) {
    bool other = neo_expr_node(m, holds[k])->op == NEO_OP_NOT;
    if ((other ? neo_expr_arg(m, holds[k], 0) : holds[k]).i == atom.i)
      return negated_if(NEO_CONDITION_HOLDS, other != no);
    neo_condition_value v =
        is_value(m, holds[k], &x, &c) ? value_at(m, atom, x, c) : NEO_CONDITION_OPEN;
    if (v != NEO_CONDITION_OPEN)
      return negated_if(v, no);
  }
  return is_junction(m, atom) ? negated_if(junction_where(m, holds, n, atom), no)
                              : NEO_CONDITION_OPEN;
}

/* Operand k of a conjunction or disjunction; for the negation of one, the operand negated. */
static neo_expr side_of(neo_module *m, neo_expr e, uint32_t k) {
  if (neo_expr_node(m, e)->op != NEO_OP_NOT)
    return neo_condition_of(m, neo_expr_arg(m, e, k));
  return neo_condition_not(m, neo_expr_arg(m, neo_expr_arg(m, e, 0), k));
}

/* Replaces the first condition of the list that follows from x by x. */
static void take_place(neo_module *m, neo_expr *at, uint32_t n, neo_expr x) {
  for (uint32_t k = 0; k < n; k++)
    if (neo_condition_where(m, &x, 1, at[k]) == NEO_CONDITION_HOLDS) {
      at[k] = x;
      return;
    }
}

bool neo_condition_add(neo_module *m, neo_expr *at, uint32_t *n, uint32_t most, neo_expr e) {
  neo_expr x = neo_condition_of(m, e);
  neo_condition_value v = neo_condition_where(m, at, *n, x);
  bool no = neo_expr_node(m, x)->op == NEO_OP_NOT;
  neo_op op = (neo_op)neo_expr_node(m, no ? neo_expr_arg(m, x, 0) : x)->op;
  if (v != NEO_CONDITION_OPEN)
    return v == NEO_CONDITION_HOLDS;
  if (op == (no ? NEO_OP_OR : NEO_OP_AND))
    return neo_condition_add(m, at, n, most, side_of(m, x, 0)) &&
           neo_condition_add(m, at, n, most, side_of(m, x, 1));
  for (uint32_t k = 0; k < 2 && op == (no ? NEO_OP_AND : NEO_OP_OR); k++)
    if (neo_condition_where(m, at, *n, side_of(m, x, k)) == NEO_CONDITION_FAILS)
      return neo_condition_add(m, at, n, most, side_of(m, x, !k));
  if (*n < most)
    at[(*n)++] = x;
  else
    take_place(m, at, *n, x);
  return true;
}

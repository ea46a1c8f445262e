/* Folding of a node from its arguments alone: integer and bool constants through neo_value_op, the
 * units and zeros of integer arithmetic, logic with constants, selections that are decided.
 * Floats keep their operators (rounding is the program's), except a negated constant. */
#include "ir/interp/interp.h"
#include "ir/node.h"

static const neo_expr none = {0};

static bool is_const(const neo_module *m, neo_expr e, int64_t x) {
  int64_t y;
  return neo_expr_is_int(m, e, &y) && x == y;
}

static neo_expr from_value(neo_module *m, neo_type t, neo_value v) {
  return t == NEO_BOOL_T ? neo_const_bool(m, v.i != 0) : neo_const_int(m, t, v.i);
}

/* Whether all arguments are integer or bool constants. */
static neo_expr fold_constants(neo_module *m, neo_op op, neo_type type, const neo_expr *arg,
                               size_t n) {
  neo_value v[3];
  for (size_t k = 0; k < n; k++)
    if (!neo_expr_is_int(m, arg[k], &v[k].i))
      return none;
  neo_value y = neo_value_op(op, type, neo_expr_type(m, arg[0]), v);
  if (neo_type_is_float(type))
    return neo_const_float(m, type, y.f);
  return from_value(m, type, y);
}

static neo_expr fold_arithmetic(neo_module *m, neo_op op, neo_type type, neo_expr x, neo_expr y) {
  neo_expr zero = neo_const_int(m, type, 0);
  bool x0 = x.i == zero.i, y0 = y.i == zero.i;
  switch (op) {
  case NEO_OP_ADD:
    return y0 ? x : x0 ? y : none;
  case NEO_OP_SUB:
    return y0 ? x : x.i == y.i ? zero : none;
  case NEO_OP_MUL:
    if (x0 || y0)
      return zero;
    return is_const(m, y, 1) ? x : is_const(m, x, 1) ? y : none;
  case NEO_OP_DIV:
    if (x0 || y0)
      return zero;
    return is_const(m, y, 1) ? x : none;
  case NEO_OP_MOD:
    return x0 || y0 || is_const(m, y, 1) ? zero : none;
  default:
    return none;
  }
}

static neo_expr fold_logic(neo_module *m, neo_op op, neo_expr x, neo_expr y) {
  int64_t k;
  bool unit = op == NEO_OP_AND; /* true and e is e; false or e is e */
  if (x.i == y.i)
    return x;
  if (neo_expr_is_int(m, x, &k))
    return (k != 0) == unit ? y : x;
  if (neo_expr_is_int(m, y, &k))
    return (k != 0) == unit ? x : y;
  return none;
}

static neo_expr fold_not(neo_module *m, neo_expr x) {
  return neo_expr_node(m, x)->op == NEO_OP_NOT ? neo_expr_arg(m, x, 0) : none;
}

static neo_expr fold_select(neo_module *m, neo_expr c, neo_expr x, neo_expr y) {
  int64_t k;
  if (x.i == y.i)
    return x;
  if (neo_expr_is_int(m, c, &k))
    return k ? x : y;
  return none;
}

static neo_expr fold_compare(neo_module *m, neo_op op, neo_expr x, neo_expr y) {
  if (x.i != y.i || neo_type_is_float(neo_expr_type(m, x)))
    return none; /* NaN != NaN */
  return neo_const_bool(m, op == NEO_OP_EQ || op == NEO_OP_LE);
}

static neo_expr fold_neg(neo_module *m, neo_type type, neo_expr x) {
  double value;
  if (neo_expr_is_float(m, x, &value))
    return neo_const_float(m, type, -value);
  bool twice = neo_expr_node(m, x)->op == NEO_OP_NEG && !neo_type_is_float(type);
  return twice ? neo_expr_arg(m, x, 0) : none;
}

neo_expr neo_fold(neo_module *m, neo_op op, neo_type type, const neo_expr *arg, size_t n) {
  if (!neo_op_is_elementwise(op) || n == 0)
    return none;
  bool stays = (op == NEO_OP_STOP && type != NEO_I64_T) || op == NEO_OP_SELECT;
  neo_expr e = stays ? none : fold_constants(m, op, type, arg, n);
  if (e.i)
    return e;
  switch (op) {
  case NEO_OP_AND:
  case NEO_OP_OR:
    return fold_logic(m, op, arg[0], arg[1]);
  case NEO_OP_NOT:
    return fold_not(m, arg[0]);
  case NEO_OP_SELECT:
    return fold_select(m, arg[0], arg[1], arg[2]);
  case NEO_OP_NEG:
    return fold_neg(m, type, arg[0]);
  case NEO_OP_MIN:
  case NEO_OP_MAX:
    return arg[0].i == arg[1].i ? arg[0] : none;
  case NEO_OP_CAST:
    return neo_expr_type(m, arg[0]) == type ? arg[0] : none;
  default:
    break;
  }
  if (neo_op_rule(op) == NEO_RULE_CMP)
    return fold_compare(m, op, arg[0], arg[1]);
  if (n == 2 && neo_type_is_int(type))
    return fold_arithmetic(m, op, type, arg[0], arg[1]);
  return none;
}

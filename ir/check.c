/* Type rules, one function a rule. */
#include "ir/check.h"

static bool same_types(const neo_module *m, const neo_expr *arg, size_t from, size_t n) {
  for (size_t k = from + 1; k < n; k++)
    if (neo_expr_type(m, arg[k]) != neo_expr_type(m, arg[from]))
      return false;
  return true;
}

static const char *check_leaf(const neo_module *m, neo_op op, neo_type type, uint32_t attr) {
  switch (op) {
  case NEO_OP_CONST:
    return attr < m->constants.n ? NULL : "there is no such constant";
  case NEO_OP_SIZE:
    if (attr == 0 || attr >= m->sizes.n)
      return "there is no such size";
    return type == NEO_I64_T ? NULL : "a size is i64";
  case NEO_OP_AXIS:
  case NEO_OP_STEP:
    return type == NEO_I64_T ? NULL : "the type must be i64";
  case NEO_OP_TRAINING:
    return type == NEO_BOOL_T ? NULL : "the type must be bool";
  default:
    return NULL;
  }
}

static const char *check_same(const neo_module *m, neo_rule rule, neo_type type,
                              const neo_expr *arg, size_t n) {
  if (!same_types(m, arg, 0, n))
    return "arguments differ in type";
  if (type != neo_expr_type(m, arg[0]))
    return "the result is not of the arguments' type";
  if (rule == NEO_RULE_FLOAT && !neo_type_is_float(type))
    return "arguments must be floats";
  if (rule == NEO_RULE_NUM && type == NEO_BOOL_T)
    return "bool has no arithmetic";
  return NULL;
}

static const char *check_logic(const neo_module *m, neo_type type, const neo_expr *arg, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (neo_expr_type(m, arg[k]) != NEO_BOOL_T)
      return "arguments must be bool";
  return type == NEO_BOOL_T ? NULL : "the result must be bool";
}

static const char *check_select(const neo_module *m, neo_type type, const neo_expr *arg) {
  if (neo_expr_type(m, arg[0]) != NEO_BOOL_T)
    return "the condition must be bool";
  if (!same_types(m, arg, 1, 3))
    return "arguments differ in type";
  return type == neo_expr_type(m, arg[1]) ? NULL : "the result is not of the arguments' type";
}

static const char *check_load(const neo_module *m, neo_op op, neo_type type, uint32_t attr,
                              const neo_expr *arg, size_t n) {
  if (attr == 0 || attr >= m->tensors.n)
    return "there is no such tensor";
  size_t rank = m->tensors.at[attr].extent.n;
  if (type != m->tensors.at[attr].type)
    return "the type is not the tensor's";
  if (n != rank + (op == NEO_OP_LOAD_ELSE))
    return "as many indices as dimensions are needed";
  for (size_t k = 0; k < rank; k++)
    if (neo_expr_type(m, arg[k]) != NEO_I64_T)
      return "indices must be i64";
  if (op == NEO_OP_LOAD_ELSE && neo_expr_type(m, arg[rank]) != type)
    return "the value after else is not of the tensor's type";
  return NULL;
}

const char *neo_check_node(const neo_module *m, neo_op op, neo_type type, uint32_t attr,
                           const neo_expr *arg, size_t n) {
  neo_rule rule = neo_op_rule(op);
  if (type >= NEO_TYPE_COUNT)
    return "there is no such type";
  if (neo_op_arity(op) >= 0 && (size_t)neo_op_arity(op) != n)
    return "wrong number of arguments";
  switch (rule) {
  case NEO_RULE_LEAF:
    return check_leaf(m, op, type, attr);
  case NEO_RULE_SAME:
  case NEO_RULE_NUM:
  case NEO_RULE_FLOAT:
    return check_same(m, rule, type, arg, n);
  case NEO_RULE_CMP:
    if (type != NEO_BOOL_T)
      return "the result must be bool";
    return same_types(m, arg, 0, n) ? NULL : "arguments differ in type";
  case NEO_RULE_LOGIC:
    return check_logic(m, type, arg, n);
  case NEO_RULE_SELECT:
    return check_select(m, type, arg);
  case NEO_RULE_CAST:
    return NULL;
  case NEO_RULE_LOAD:
    return check_load(m, op, type, attr, arg, n);
  case NEO_RULE_RAND:
    if (!neo_type_is_float(type))
      return "the type must be a float";
    return neo_expr_type(m, arg[0]) == NEO_I64_T ? NULL : "the argument must be i64";
  }
  return NULL;
}

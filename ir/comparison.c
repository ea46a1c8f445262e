/* See comparison.h. */
#include "ir/comparison.h"

neo_comparison neo_comparison_of(neo_module *m, neo_expr e, neo_linear *f) {
  bool no = neo_expr_node(m, e)->op == NEO_OP_NOT;
  neo_expr c = no ? neo_expr_arg(m, e, 0) : e;
  neo_node n = *neo_expr_node(m, c);
  neo_linear small, large; /* small < large, or small <= large; not x < y is y <= x */
  bool compares = n.op == NEO_OP_LT || n.op == NEO_OP_LE || n.op == NEO_OP_EQ || n.op == NEO_OP_NE;
  if (!compares || neo_expr_type(m, neo_list_expr(m, n.arg, 0)) != NEO_I64_T ||
      !neo_linear_of(m, neo_list_expr(m, n.arg, no), &small) ||
      !neo_linear_of(m, neo_list_expr(m, n.arg, !no), &large) ||
      !neo_linear_add(&large, -1, &small, f))
    return NEO_NO_COMPARISON;
  if (n.op == NEO_OP_EQ || n.op == NEO_OP_NE)
    return (n.op == NEO_OP_EQ) != no ? NEO_EQUALS_0 : NEO_DIFFERS_FROM_0;
  bool strict = (n.op == NEO_OP_LT) != no;
  return __builtin_sub_overflow(f->constant, strict, &f->constant) ? NEO_NO_COMPARISON
                                                                   : NEO_AT_LEAST_0;
}

bool neo_conjuncts_of(const neo_module *m, neo_expr e, neo_expr *at, uint32_t *n, uint32_t most) {
  if (!e.i)
    return true;
  if (neo_expr_node(m, e)->op == NEO_OP_AND)
    return neo_conjuncts_of(m, neo_expr_arg(m, e, 0), at, n, most) &&
           neo_conjuncts_of(m, neo_expr_arg(m, e, 1), at, n, most);
  if (*n == most)
    return false;
  at[(*n)++] = e;
  return true;
}

neo_expr neo_conjunction(neo_module *m, const neo_expr *at, uint32_t n) {
  neo_expr all = {0};
  for (uint32_t k = 0; k < n; k++)
    if (at[k].i)
      all = all.i ? neo_op2(m, NEO_OP_AND, all, at[k]) : at[k];
  return all;
}

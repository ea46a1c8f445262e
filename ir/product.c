/* See product.h. */
#include "ir/product.h"

/* The right operand has one factor at least, so the left one may fill all places but one: that also
 * bounds the depth of the recursion. */
bool neo_product_factors(const neo_module *m, neo_expr e, neo_expr *at, uint32_t *n,
                         uint32_t most) {
  if (*n >= most)
    return false;
  if (neo_expr_node(m, e)->op == NEO_OP_MUL)
    return neo_product_factors(m, neo_expr_arg(m, e, 0), at, n, most - 1) &&
           neo_product_factors(m, neo_expr_arg(m, e, 1), at, n, most);
  at[(*n)++] = e;
  return true;
}

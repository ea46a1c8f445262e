/* Upper bounds of extents, for estimates. */
#include "fusion/form.h"

static int64_t saturate(__int128 x) {
  return x > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)x;
}

int64_t neo_extent_most(neo_module *m, neo_expr e) {
  int64_t x, a, b;
  const neo_node *n = neo_expr_node(m, e);
  if (neo_expr_is_int(m, e, &x))
    return x;
  if (n->op == NEO_OP_SIZE)
    return neo_size_at(m, (neo_size){n->attr})->hi;
  if (n->op != NEO_OP_ADD && n->op != NEO_OP_MUL && n->op != NEO_OP_DIV && n->op != NEO_OP_SUB &&
      n->op != NEO_OP_MIN && n->op != NEO_OP_MAX)
    return -1;
  if (n->op == NEO_OP_MUL && neo_expr_is_int(m, neo_expr_arg(m, e, 1), &x) && x < 0)
    return 0; /* a difference, as linear forms have it */
  a = neo_extent_most(m, neo_expr_arg(m, e, 0));
  b = neo_extent_most(m, neo_expr_arg(m, e, 1));
  if (n->op == NEO_OP_MIN)
    return a < 0 || (b >= 0 && b < a) ? b : a;
  if (a < 0)
    return -1;
  if (n->op == NEO_OP_SUB)
    return neo_expr_is_int(m, neo_expr_arg(m, e, 1), &x) && x <= a ? a - x : a;
  if (b < 0)
    return -1;
  switch (n->op) {
  case NEO_OP_ADD:
    return saturate((__int128)a + b);
  case NEO_OP_MUL:
    return saturate((__int128)a * b);
  case NEO_OP_DIV:
    return neo_expr_is_int(m, neo_expr_arg(m, e, 1), &x) && x > 0 ? a / x : a;
  default:
    return a > b ? a : b;
  }
}

/* See element.h. */
#include "ir/element.h"

/* An end that holds for all elements: an end without indices, or, for an end that is an index, the
 * extent of that dimension. 0: none. */
static neo_expr end_of_all(neo_module *m, const neo_tensor_rec *r, neo_expr end) {
  const neo_node *n = end.i ? neo_expr_node(m, end) : NULL;
  if (!n || !neo_expr_axes(m, end))
    return end;
  return n->op == NEO_OP_AXIS ? neo_list_expr(m, r->extent, n->attr) : (neo_expr){0};
}

neo_element_ends neo_element_ends_of(neo_module *m, neo_expr load) {
  neo_node n = *neo_expr_node(m, load);
  neo_tensor_rec r = *neo_tensor_at(m, (neo_tensor){n.attr});
  neo_expr index[NEO_ELEMENT_RANK];
  neo_element_ends none = {{0}, {0}, {0}};
  uint32_t rank = r.extent.n;
  if ((!r.least.i && !r.below.i) || rank > NEO_ELEMENT_RANK)
    return none;
  if (n.op == NEO_OP_LOAD && n.arg.n == 1 && rank > 1) { /* by its offset (fusion/form.h) */
    neo_expr least = r.least.i && !neo_expr_axes(m, r.least) ? r.least : (neo_expr){0};
    return (neo_element_ends){least, end_of_all(m, &r, r.below), {0}};
  }
  if (n.arg.n != rank + (n.op == NEO_OP_LOAD_ELSE))
    return none;
  neo_expr limit = end_of_all(m, &r, r.below);
  for (uint32_t k = 0; k < rank; k++)
    index[k] = neo_list_expr(m, n.arg, k);
  if (r.least.i)
    r.least = neo_expr_subst_axes(m, r.least, index, rank);
  if (r.below.i)
    r.below = neo_expr_subst_axes(m, r.below, index, rank);
  return (neo_element_ends){r.least, r.below, limit};
}

/* Whether the expression consists of constants and sizes alone. */
static bool is_of_sizes(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  bool is = neo_node_is_of_sizes(n);
  for (uint32_t k = 0; k < n->arg.n && is; k++)
    is = is_of_sizes(m, neo_list_expr(m, n->arg, k));
  return is;
}

bool neo_element_end_is_affine(const neo_module *m, neo_expr e, uint32_t rank) {
  const neo_node *n = neo_expr_node(m, e);
  int64_t known;
  if (n->op == NEO_OP_AXIS)
    return n->attr < rank;
  if (is_of_sizes(m, e))
    return true;
  if (n->op != NEO_OP_ADD && n->op != NEO_OP_SUB && n->op != NEO_OP_MUL)
    return false;
  neo_expr a = neo_list_expr(m, n->arg, 0), b = neo_list_expr(m, n->arg, 1);
  bool scales = neo_expr_is_int(m, a, &known) || neo_expr_is_int(m, b, &known);
  return (n->op != NEO_OP_MUL || scales) && neo_element_end_is_affine(m, a, rank) &&
         neo_element_end_is_affine(m, b, rank);
}

bool neo_element_end_of(neo_module *m, neo_expr e, uint32_t rank, neo_element_end *out) {
  neo_linear l, rest = {0};
  *out = (neo_element_end){0};
  if (rank > NEO_ELEMENT_RANK || !neo_linear_of(m, e, &l))
    return false;
  rest.constant = l.constant;
  for (uint32_t k = 0; k < l.n; k++) {
    const neo_node *n = neo_expr_node(m, l.term[k].atom);
    if (n->op == NEO_OP_AXIS && n->attr < rank)
      out->coef[n->attr] = l.term[k].coef;
    else if (is_of_sizes(m, l.term[k].atom))
      rest.term[rest.n++] = l.term[k];
    else
      return false;
  }
  out->rest = neo_linear_expr(m, &rest);
  return true;
}

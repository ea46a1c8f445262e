/* See lists.h. */
#include "ir/lists.h"

/* The load that the expression is, or converts to i64; null: it is another expression. */
static const neo_node *load_of(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_CAST && n->type == NEO_I64_T)
    n = neo_expr_node(m, neo_list_expr(m, n->arg, 0));
  return n->op == NEO_OP_LOAD ? n : NULL;
}

neo_tensor neo_list_run(neo_module *m, const neo_axis_rec *x, neo_expr *row) {
  const neo_node *lo = load_of(m, x->lo), *hi = load_of(m, x->hi);
  if (!lo || !hi || lo->attr != hi->attr ||
      neo_tensor_at(m, (neo_tensor){lo->attr})->offsets.i != lo->attr)
    return (neo_tensor){0};
  neo_tensor t = {lo->attr};
  *row = neo_list_expr(m, lo->arg, 0);
  neo_expr end = neo_list_expr(m, hi->arg, 0);
  bool next = end.i == neo_op2(m, NEO_OP_ADD, *row, neo_const_i64(m, 1)).i;
  return next ? t : (neo_tensor){0};
}

static bool is_owner(const neo_module *m, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  return r->offsets.i && r->offsets.i != t.i && r->role == NEO_ROLE_TEMP &&
         r->row_role != NEO_ROW_CHILD;
}

neo_tensor neo_owner_of(const neo_module *m, neo_expr extent) {
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (is_owner(m, (neo_tensor){t}) && neo_tensor_extent(m, (neo_tensor){t}, 0).i == extent.i)
      return (neo_tensor){t};
  return (neo_tensor){0};
}

neo_tensor neo_owner_by(const neo_module *m, neo_tensor begin) {
  for (uint32_t t = 1; t < m->tensors.n && begin.i; t++)
    if (is_owner(m, (neo_tensor){t}) && neo_tensor_at(m, (neo_tensor){t})->offsets.i == begin.i)
      return (neo_tensor){t};
  return (neo_tensor){0};
}

neo_tensor neo_child_of(const neo_module *m, neo_tensor owner) {
  neo_tensor begin = neo_tensor_at(m, owner)->offsets;
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (neo_tensor_at(m, (neo_tensor){t})->offsets.i == begin.i && t != begin.i &&
        !is_owner(m, (neo_tensor){t}))
      return (neo_tensor){t};
  return (neo_tensor){0};
}

neo_expr neo_list_element(neo_module *m, neo_tensor t, neo_expr at) {
  return neo_cast(m, NEO_I64_T, neo_load(m, t, &at, 1, neo_tensor_at(m, t)->span));
}

void neo_list_facts(neo_module *m, const neo_axis_rec *x, neo_expr axis, neo_expr *at,
                    uint32_t *n) {
  neo_expr row;
  neo_tensor begin = neo_list_run(m, x, &row);
  neo_tensor owner = begin.i ? neo_owner_by(m, begin) : neo_owner_of(m, x->hi);
  neo_tensor child = owner.i ? neo_child_of(m, owner) : owner;
  if (!owner.i)
    return;
  neo_expr own = neo_list_element(m, owner, axis);
  if (begin.i)
    at[(*n)++] = neo_op2(m, NEO_OP_EQ, own, row);
  else if (child.i)
    at[(*n)++] = neo_op2(m, NEO_OP_LT, neo_list_element(m, child, axis), own);
}

/* The parents that the positions are listed by. */
static neo_tensor parents_of(const neo_module *m, neo_tensor listed) {
  const neo_rows_rec *r = neo_rows_at(m, neo_tensor_at(m, listed)->rows);
  neo_expr all = neo_tensor_extent(m, listed, 0);
  for (uint32_t k = 0; k < r->n_lists; k++)
    if (r->list[k].parent.i && neo_tensor_extent(m, r->list[k].parent, 0).i == all.i)
      return r->list[k].parent;
  return (neo_tensor){0};
}

neo_expr neo_listed_fact(neo_module *m, neo_expr index) {
  const neo_node *n = load_of(m, index);
  neo_tensor listed = {n ? n->attr : 0};
  if (!n || neo_tensor_at(m, listed)->row_role != NEO_ROW_LISTED)
    return (neo_expr){0};
  neo_expr i = neo_list_expr(m, n->arg, 0);
  neo_tensor parent = parents_of(m, listed),
             owner = neo_owner_of(m, neo_tensor_extent(m, listed, 0));
  if (!parent.i || !owner.i)
    return (neo_expr){0};
  return neo_op2(m, NEO_OP_EQ, neo_list_element(m, owner, index), neo_list_element(m, parent, i));
}

/* See choice.h. */
#include "ir/choice.h"

bool neo_choice_is_like(const neo_module *m, neo_tensor t, neo_tensor of) {
  const neo_tensor_rec *x = neo_tensor_at(m, t), *y = neo_tensor_at(m, of);
  bool is = t.i != of.i && x->role == NEO_ROLE_TEMP && x->type == y->type &&
            x->extent.n == y->extent.n && !x->partial && !x->terms && !x->rows.i && !x->moves &&
            !x->updates.i && !x->within.i && !y->within.i;
  for (uint32_t k = 0; k < x->extent.n && is; k++)
    is = neo_list_at(m, x->extent, k) == neo_list_at(m, y->extent, k);
  return is;
}

/* A read of the element that is written. */
static bool is_own_element(const neo_module *m, const neo_node *n) {
  bool is = n->op == NEO_OP_LOAD;
  for (uint32_t k = 0; k < n->arg.n && is; k++) {
    const neo_node *at = neo_expr_node(m, neo_list_expr(m, n->arg, k));
    is = at->op == NEO_OP_AXIS && at->attr == k;
  }
  return is;
}

static bool has(const neo_choice *c, neo_tensor t) {
  for (uint32_t k = 0; k < c->n; k++)
    if (c->from[k].i == t.i)
      return true;
  return false;
}

static bool are_conditions(const neo_module *m, neo_expr e) {
  if (neo_expr_node(m, e)->op != NEO_OP_AND)
    return neo_is_condition(m, e);
  return are_conditions(m, neo_expr_arg(m, e, 0)) && are_conditions(m, neo_expr_arg(m, e, 1));
}

static bool look(const neo_module *m, neo_expr e, neo_choice *c) {
  neo_node n = *neo_expr_node(m, e);
  if (n.op == NEO_OP_SELECT)
    return are_conditions(m, neo_list_expr(m, n.arg, 0)) &&
           look(m, neo_list_expr(m, n.arg, 1), c) && look(m, neo_list_expr(m, n.arg, 2), c);
  neo_tensor t = {n.op == NEO_OP_LOAD ? n.attr : 0};
  if (!t.i || !is_own_element(m, &n) || !neo_choice_is_like(m, t, c->of))
    return false;
  if (has(c, t))
    return true;
  if (c->n == NEO_MOST_CHOICES)
    return false;
  c->from[c->n++] = t;
  return true;
}

bool neo_choice_of(const neo_module *m, neo_def d, neo_choice *out) {
  const neo_def_rec *r = neo_def_at(m, d);
  if (r->reducer != NEO_RED_NONE || r->out.n != 1 || r->out_map.n || r->finish.n != 1)
    return false;
  out->of.i = neo_list_at(m, r->out, 0);
  out->n = 0;
  const neo_tensor_rec *t = neo_tensor_at(m, out->of);
  return t->role == NEO_ROLE_TEMP && t->pieces.n == 1 && t->extent.n == r->n_out &&
         look(m, neo_list_expr(m, r->finish, 0), out) && out->n > 1;
}

bool neo_choice_is_exclusive(neo_module *m, const neo_choice *c, const neo_conditions *when) {
  for (uint32_t i = 0; i < c->n; i++)
    for (uint32_t k = 0; k < i; k++)
      if (!neo_conditions_exclude(m, &when[i], &when[k]))
        return false;
  return true;
}

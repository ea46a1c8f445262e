/* New versions that are the old one but under a condition (form.h). */
#include "fusion/form.h"
#include "ir/comparison.h"

enum { MOST_CONJUNCTS = 4 };

/* The conjuncts that are over shared axes: each of them has to hold. */
static neo_expr over_shared(neo_module *m, const neo_form *f, neo_expr c) {
  neo_expr part[MOST_CONJUNCTS], shared = {0};
  uint32_t n = 0;
  if (!neo_conjuncts_of(m, c, part, &n, MOST_CONJUNCTS))
    return shared;
  for (uint32_t k = 0; k < n; k++) {
    bool is = !neo_expr_accs(m, part[k]) && !(neo_expr_axes(m, part[k]) >> f->axes.n);
    if (is)
      shared = shared.i ? neo_op2(m, NEO_OP_AND, shared, part[k]) : part[k];
  }
  return shared;
}

static neo_expr changes_where(neo_module *m, const neo_form *f, const neo_form_out *o) {
  const neo_tensor_rec *t = neo_tensor_at(m, o->tensor);
  const neo_node *n = neo_expr_node(m, o->value);
  if (t->role != NEO_ROLE_UPDATE || n->op != NEO_OP_SELECT || o->row_block)
    return (neo_expr){0};
  const neo_node *old = neo_expr_node(m, neo_list_expr(m, n->arg, 2));
  if (old->op != NEO_OP_LOAD || old->attr != t->updates.i || old->arg.n != 1 ||
      neo_list_at(m, old->arg, 0) != o->offset.i)
    return (neo_expr){0};
  return over_shared(m, f, neo_list_expr(m, n->arg, 0));
}

neo_expr neo_form_changes_where(neo_module *m, const neo_form *f) {
  neo_expr all = {0};
  for (size_t k = 0; k < f->stages.n; k++)
    for (size_t i = 0; i < f->stages.at[k].outs.n; i++) {
      neo_expr c = changes_where(m, f, &f->stages.at[k].outs.at[i]);
      if (!c.i || (all.i && all.i != c.i))
        return (neo_expr){0};
      all = c;
    }
  return all;
}

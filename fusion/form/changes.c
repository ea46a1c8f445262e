/* Conditional results: new versions that equal the old one elsewhere, partial results (form.h). */
#include "fusion/form.h"
#include "ir/comparison.h"

enum { MOST_CONJUNCTS = 4 };

/* The conjuncts over shared axes, all of which have to hold. */
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

neo_expr neo_form_needed_where(neo_module *m, const neo_form *f) {
  neo_expr all = {0};
  for (size_t k = 0; k < f->stages.n; k++)
    for (size_t i = 0; i < f->stages.at[k].outs.n; i++) {
      const neo_form_out *o = &f->stages.at[k].outs.at[i];
      const neo_node *n = neo_expr_node(m, o->value);
      if (!neo_tensor_at(m, o->tensor)->partial || n->op != NEO_OP_SELECT)
        return (neo_expr){0};
      neo_expr c = neo_list_expr(m, n->arg, 0);
      if (neo_expr_node(m, c)->op != NEO_OP_LOAD || neo_expr_accs(m, c) || (all.i && all.i != c.i))
        return (neo_expr){0};
      all = c;
    }
  return all;
}

/* No other conjunct guards the first one, which is evaluated before all others. */
bool neo_form_flags_of(neo_module *m, const neo_form *f, neo_form_flags *out) {
  neo_expr part[MOST_CONJUNCTS], where = neo_form_changes_where(m, f);
  uint32_t n = 0;
  int64_t stride;
  if (!where.i)
    where = neo_form_needed_where(m, f);
  if (!where.i || !neo_conjuncts_of(m, where, part, &n, MOST_CONJUNCTS))
    return false;
  uint64_t axes = neo_form_axes(m, f, part[0]);
  const neo_node *first = neo_expr_node(m, part[0]);
  if (first->op != NEO_OP_LOAD || first->arg.n != 1 || !axes || axes & (axes - 1) ||
      axes >> f->axes.n)
    return false;
  *out = (neo_form_flags){part[0], (uint32_t)__builtin_ctzll(axes)};
  return neo_flat_stride(m, f, neo_flat_at(m, part[0]), out->axis, &stride) && stride == 1;
}

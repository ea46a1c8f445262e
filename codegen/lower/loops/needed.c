/* Elements that nobody reads are not computed. The results of a kernel may be `partial` tensors (neo_tensor_rec) under one
 * condition that compares a shared axis with what the data say:
 *
 *     z[p, j] = select(p < n[], sum[i] .., 0)
 *
 * Then the axis runs over the elements for which it holds. Or the condition is an element of a tensor of truths, which
 * outer loops ask. */
#include "codegen/lower/loops/loops.h"

/* Is e the axis and a number beside it, such as the first row of a slice? */
static bool shifted_axis(lowering *l, neo_expr e, uint32_t *axis, neo_expr *shift) {
  neo_module *m = l->m;
  uint64_t axes = neo_form_axes(m, l->original, e);
  int64_t stride;
  if (!axes || axes & (axes - 1) || axes >> l->original->axes.n || neo_expr_accs(m, e))
    return false;
  *axis = (uint32_t)__builtin_ctzll(axes);
  if (!neo_flat_stride(m, l->original, e, *axis, &stride) || stride != 1)
    return false;
  neo_expr by[NEO_FORM_MAX_AXES], zero = neo_const_int(m, NEO_I64_T, 0);
  for (uint32_t k = 0; k < l->original->axes.n; k++)
    by[k] = k == *axis ? zero : neo_axis_ref(m, k);
  *shift = neo_expr_subst_axes(m, e, by, (uint32_t)l->original->axes.n);
  return true;
}

/* axis + c < end, or end <= axis + c; false: another condition. */
static bool take_condition(lowering *l, neo_expr c, needed_range *out) {
  neo_module *m = l->m;
  const neo_node *n = neo_expr_node(m, c);
  if (n->op == NEO_OP_LOAD && !neo_expr_accs(m, c)) {
    *out = (needed_range){.on = true, .where = c, .axis = UINT32_MAX};
    return true;
  }
  bool negated = n->op == NEO_OP_NOT;
  if (negated)
    n = neo_expr_node(m, neo_list_expr(m, n->arg, 0));
  if (n->op != NEO_OP_LT && n->op != NEO_OP_LE)
    return false;
  bool first = n->op == NEO_OP_LT; /* axis < end; else end <= axis */
  neo_expr place = neo_list_expr(m, n->arg, first ? 0 : 1), shift;
  neo_expr end = neo_list_expr(m, n->arg, first ? 1 : 0);
  uint32_t axis;
  if (neo_form_axes(m, l->original, end) || neo_expr_accs(m, end) ||
      !shifted_axis(l, place, &axis, &shift))
    return false;
  end = neo_op2(m, NEO_OP_SUB, end, shift);
  *out = (needed_range){.on = true, .axis = axis, .below = first != negated, .end = end};
  return true;
}

needed_range neo_lower_needed(lowering *l) {
  needed_range all = {0}, own;
  for (size_t k = 0; k < l->original->stages.n; k++) {
    const neo_stage *s = &l->original->stages.at[k];
    for (size_t i = 0; i < s->outs.n; i++) {
      const neo_node *n = neo_expr_node(l->m, s->outs.at[i].value);
      if (!neo_tensor_at(l->m, s->outs.at[i].tensor)->partial || n->op != NEO_OP_SELECT ||
          !take_condition(l, neo_list_expr(l->m, n->arg, 0), &own))
        return (needed_range){0};
      if (all.on && (all.where.i != own.where.i || all.axis != own.axis || all.below != own.below ||
                     all.end.i != own.end.i))
        return (needed_range){0};
      all = own;
    }
  }
  return all;
}

void neo_lower_narrow(lowering *l, const needed_range *r, const neo_lx **lo, const neo_lx **hi) {
  const neo_lx *end = neo_lower_expr(l, r->end);
  if (r->below)
    *hi = lx_min(l, *hi, end);
  else
    *lo = lx_max(l, *lo, end);
}

/* The elements of results that are needed. All results of a kernel may be `partial` tensors
 * (neo_tensor_rec) under the same condition, which compares a shared axis with data:
 *
 *     z[p, j] = select(p < n[], sum[i] .., 0)    ->    for p in 0..n[]
 *
 * Then the axis runs over the elements for which the condition holds. Or the condition is an
 * element of a tensor of bools, and outer loops test it. */
#include "codegen/lower/loops/loops.h"

/* Is e the axis and a number difference it, such as the first row of a slice? */
static bool shifted_axis(lowering *l, neo_expr e, uint32_t *axis, neo_expr *shift) {
  neo_module *m = l->m;
  uint64_t axes = neo_form_axes(m, l->original, e);
  int64_t stride;
  if (neo_expr_type(m, e) != NEO_I64_T || !axes || axes & (axes - 1) ||
      axes >> l->original->axes.n || neo_expr_accs(m, e))
    return false;
  *axis = (uint32_t)__builtin_ctzll(axes);
  if (!neo_flat_stride(m, l->original, e, *axis, &stride) || stride != 1)
    return false;
  neo_expr by[NEO_FORM_MAX_AXES], zero = neo_const_i64(m, 0);
  for (uint32_t k = 0; k < l->original->axes.n; k++)
    by[k] = k == *axis ? zero : neo_axis_ref(m, k);
  *shift = neo_expr_subst_axes(m, e, by, (uint32_t)l->original->axes.n);
  return true;
}

/* The range of a condition axis + c < end, or end <= axis + c; false: it has another form. */
static bool take_comparison(lowering *l, neo_expr c, needed_range *out) {
  neo_module *m = l->m;
  const neo_node *n = neo_expr_node(m, c);
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
  *out = (needed_range){.on = true, .axis = axis};
  neo_linear difference;
  if (!neo_linear_of(m, neo_op2(m, NEO_OP_SUB, end, shift), &difference) ||
      !neo_linear_is_modest(m, &difference))
    return false;
  *(first != negated ? &out->hi : &out->lo) = neo_op2(m, NEO_OP_SUB, end, shift);
  return true;
}

/* The range of a comparison, or of two that are its ends; false: the condition has another form. */
static bool take_condition(lowering *l, neo_expr c, needed_range *out) {
  neo_module *m = l->m;
  neo_node n = *neo_expr_node(m, c);
  needed_range other;
  if (n.op != NEO_OP_AND)
    return take_comparison(l, c, out);
  if (!take_comparison(l, neo_list_expr(m, n.arg, 0), out) ||
      !take_comparison(l, neo_list_expr(m, n.arg, 1), &other) || other.axis != out->axis ||
      (out->lo.i && other.lo.i) || (out->hi.i && other.hi.i))
    return false;
  out->lo = out->lo.i ? out->lo : other.lo;
  out->hi = out->hi.i ? out->hi : other.hi;
  return true;
}

needed_range neo_lower_needed(lowering *l) {
  needed_range all = {0}, own;
  neo_expr where = neo_form_needed_where(l->m, l->original);
  if (where.i)
    return (needed_range){.on = true, .where = where, .axis = UINT32_MAX};
  for (size_t k = 0; k < l->original->stages.n; k++) {
    const neo_stage *s = &l->original->stages.at[k];
    for (size_t i = 0; i < s->outs.n; i++) {
      const neo_node *n = neo_expr_node(l->m, s->outs.at[i].value);
      if (!neo_tensor_at(l->m, s->outs.at[i].tensor)->partial || n->op != NEO_OP_SELECT ||
          !take_condition(l, neo_list_expr(l->m, n->arg, 0), &own))
        return (needed_range){0};
      if (all.on && (all.axis != own.axis || all.lo.i != own.lo.i || all.hi.i != own.hi.i))
        return (needed_range){0};
      all = own;
    }
  }
  return all;
}

/* ---- sums */

enum { NOWHERE, IN_RANGE, EVERYWHERE };

static bool same_range(const needed_range *a, const needed_range *b) {
  return a->axis == b->axis && a->lo.i == b->lo.i && a->hi.i == b->hi.i;
}

/* Elements that use accumulators in the value e: none, the range *out, or all (also for several
 * ranges). needed: the elements that are computed at all. */
static int asks(lowering *l, neo_expr e, const needed_range *needed, needed_range *out) {
  neo_module *m = l->m;
  neo_node n = *neo_expr_node(m, e);
  needed_range own;
  if (!neo_expr_accs(m, e))
    return NOWHERE;
  if (n.op == NEO_OP_SELECT && !neo_expr_accs(m, neo_list_expr(m, n.arg, 0)) &&
      !neo_expr_accs(m, neo_list_expr(m, n.arg, 2)) &&
      take_condition(l, neo_list_expr(m, n.arg, 0), &own)) {
    if (needed->on && same_range(needed, &own))
      return asks(l, neo_list_expr(m, n.arg, 1), needed, out);
    if (out->on && !same_range(out, &own))
      return EVERYWHERE;
    *out = own;
    return IN_RANGE;
  }
  int all = n.op == NEO_OP_ACC ? EVERYWHERE : NOWHERE;
  for (uint32_t k = 0; k < n.arg.n && all != EVERYWHERE; k++) {
    int one = asks(l, neo_list_expr(m, n.arg, k), needed, out);
    all = one > all ? one : all;
  }
  return all;
}

/* The range of elements whose results use accumulators; not on: all of them. */
static needed_range summed(lowering *l) {
  needed_range all = {0}, needed = l->narrowed ? neo_lower_needed(l) : all;
  for (size_t k = 0; k < l->original->stages.n; k++) {
    const neo_stage *s = &l->original->stages.at[k];
    for (size_t i = 0; i < s->outs.n; i++)
      if (asks(l, s->outs.at[i].value, &needed, &all) == EVERYWHERE)
        return (needed_range){0};
    for (size_t i = 0; i < s->accs.n; i++)
      if (neo_expr_accs(l->m, s->accs.at[i].body))
        return (needed_range){0};
  }
  return all;
}

neo_block *neo_lower_where_summed(lowering *l, neo_block *in, const tile *t) {
  needed_range r = l->n_fused > 1 ? (needed_range){0} : summed(l);
  if (!r.on || t->m_axis < 0 || r.axis != (uint32_t)t->m_axis)
    return in;
  const neo_lx *lo = t->m_at, *hi = lx_add(l, t->m_at, lx_int(l, t->rows));
  neo_lower_narrow(l, &r, &lo, &hi);
  return &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_LT, lo, hi))->branch.then;
}

void neo_lower_narrow(lowering *l, const needed_range *r, const neo_lx **lo, const neo_lx **hi) {
  if (r->hi.i)
    *hi = lx_min(l, *hi, neo_lower_expr(l, r->hi));
  if (r->lo.i)
    *lo = lx_max(l, *lo, neo_lower_expr(l, r->lo));
}

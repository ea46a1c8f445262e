/* Substitution of members' values for their loads. */
#include "fusion/form/builder.h"

static neo_expr in_range(neo_module *m, neo_tensor t, const neo_expr *index) {
  neo_expr cond = neo_const_bool(m, true), zero = neo_const_i64(m, 0);
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++) {
    cond = neo_op2(m, NEO_OP_AND, cond, neo_op2(m, NEO_OP_LE, zero, index[k]));
    cond =
        neo_op2(m, NEO_OP_AND, cond, neo_op2(m, NEO_OP_LT, index[k], neo_tensor_extent(m, t, k)));
  }
  return cond;
}

static neo_expr put_in_node(void *ctx, neo_module *m, neo_expr e) {
  neo_form_builder *b = ctx;
  neo_node n = *neo_expr_node(m, e);
  uint64_t value;
  neo_expr index[NEO_DEF_AXES];
  if (n.op == NEO_OP_ACC)
    return b->acc[n.attr];
  if (!neo_node_is_load(&n))
    return e;
  if (!neo_map_get(&b->value, n.attr, &value))
    return e;
  neo_tensor t = {n.attr};
  for (uint32_t k = 0; k < n.arg.n; k++)
    index[k] = neo_list_expr(m, n.arg, k);
  neo_expr y = neo_expr_subst_axes(m, (neo_expr){(uint32_t)value}, index, neo_tensor_rank(m, t));
  if (n.op == NEO_OP_LOAD)
    return y;
  return neo_op3(m, NEO_OP_SELECT, in_range(m, t, index), y, index[n.arg.n - 1]);
}

neo_expr neo_form_put_in(neo_form_builder *b, neo_expr e) {
  return e.i ? neo_expr_rewrite(b->m, e, put_in_node, b) : e;
}

neo_expr neo_form_flatten(neo_form_builder *b, const neo_stage *s, neo_expr e) {
  neo_axis_rec axes[NEO_FORM_MAX_AXES];
  uint32_t n = neo_stage_axes(b->f, s, axes);
  return neo_flat_expr(b->m, b->p, axes, n, s->where, e);
}

void neo_form_end_stage(neo_form_builder *b, neo_stage s) {
  NEO_PUSH(b->m->arena, &b->f->stages, s);
}

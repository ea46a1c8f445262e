/* Definitions that are no part of a recurrence, but read it along its iterations. */
#include "ir/order.h"

typedef struct {
  neo_module *m;
  const neo_order_step *loop;
  uint32_t n_out;
  int64_t axis; /* axis of the definition that all reads so far agree on; -1: no read seen */
  bool good;
} iteration_look;

static const neo_order_member *maker_of(const iteration_look *l, neo_tensor t) {
  neo_list pieces = neo_tensor_at(l->m, t)->pieces;
  for (uint32_t k = 0; k < l->loop->n_members && pieces.n; k++)
    if (l->loop->member[k].def.i == neo_list_at(l->m, pieces, 0))
      return &l->loop->member[k];
  return NULL;
}

static void look(void *ctx, neo_expr e) {
  iteration_look *l = ctx;
  neo_module *m = l->m;
  const neo_node *n = neo_expr_node(m, e);
  neo_linear at;
  if (!neo_node_is_load(n))
    return;
  const neo_order_member *made = maker_of(l, (neo_tensor){n->attr});
  if (!made)
    return;
  bool plain = neo_linear_of(m, neo_expr_arg(m, e, made->axis), &at) && at.n == 1 &&
               at.term[0].coef == 1 && neo_expr_node(m, at.term[0].atom)->op == NEO_OP_AXIS;
  int64_t axis = plain ? (int64_t)neo_expr_node(m, at.term[0].atom)->attr : -1;
  l->good = l->good && plain && axis < l->n_out && (l->axis < 0 || l->axis == axis);
  l->axis = axis;
}

int64_t neo_order_iteration_axis(neo_module *m, const neo_order_step *loop, neo_def d) {
  neo_def_rec r = *neo_def_at(m, d);
  iteration_look l = {.m = m, .loop = loop, .n_out = r.n_out, .axis = -1, .good = !r.out_map.n};
  neo_def_visit(m, d, look, &l);
  return l.good ? l.axis : -1;
}

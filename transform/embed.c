/* Every read gets a guard, and the guards that always hold go again. */
#include "transform/embed.h"

static neo_expr guarded(void *ctx, neo_module *m, neo_expr e) {
  neo_node n = *neo_expr_node(m, e);
  neo_expr at[64];
  (void)ctx;
  if (n.op != NEO_OP_LOAD || !n.arg.n)
    return e;
  for (uint32_t k = 0; k < n.arg.n; k++)
    at[k] = neo_list_expr(m, n.arg, k);
  neo_type t = (neo_type)n.type;
  neo_expr none = t == NEO_BOOL_T ? neo_const_bool(m, false) : neo_const_int(m, t, 0);
  return neo_load_else(m, (neo_tensor){n.attr}, at, n.arg.n, none, n.span);
}

neo_expr neo_embed(neo_prover *p, const neo_facts *facts, neo_expr e) {
  neo_module *m = neo_prover_module(p);
  if (!e.i || !neo_expr_uses_op(m, e, NEO_OP_LOAD))
    return e;
  return neo_simplify_under(p, facts, neo_expr_rewrite(m, e, guarded, NULL));
}

void neo_embed_axis(neo_prover *p, neo_axis_rec *axes, uint32_t k) {
  neo_facts before = {.axes = axes, .n_axes = k};
  axes[k].lo = neo_embed(p, &before, axes[k].lo);
  axes[k].hi = neo_embed(p, &before, axes[k].hi);
}

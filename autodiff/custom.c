/* Functions with their own gradient. The clause was checked once, over COTANGENT tensors; here a
 * copy of it is made in which these are the adjoints, and its results are the contributions to the
 * function's inputs. */
#include "autodiff/internal.h"
#include "ir/clone.h"

/* The adjoint g of out as a tensor. */
static neo_tensor as_tensor(ad_state *s, neo_tensor out, neo_expr g) {
  neo_module *m = s->m;
  if (!g.i)
    g = ad_zero(m, neo_tensor_type(m, out));
  neo_node n = *neo_expr_node(m, g);
  if (n.op == NEO_OP_LOAD && ad_read(m, (neo_tensor){n.attr}).i == g.i)
    return (neo_tensor){n.attr};
  neo_axis_rec axis[16];
  uint32_t rank = neo_tensor_rank(m, out);
  for (uint32_t k = 0; k < rank; k++)
    axis[k] = (neo_axis_rec){.lo = neo_const_i64(m, 0), .hi = neo_tensor_extent(m, out, k)};
  neo_span span = neo_tensor_at(m, out)->span;
  neo_tensor t = ad_temp(m, "d", out, neo_expr_type(m, g), axis, rank, span);
  neo_def_rec r = {.n_out = rank, .reducer = NEO_RED_NONE, .span = span};
  r.finish = neo_list_one(m, g.i);
  ad_define(m, t, r, axis, rank);
  return t;
}

bool ad_custom(ad_state *s, uint32_t number) {
  neo_module *m = s->m;
  neo_custom_rec c = m->customs.at[number];
  neo_map to = neo_map_in(s->scratch);
  bool any = false;
  for (uint32_t k = 0; k < c.outs.n; k++)
    any = ad_adjoint_final(s, neo_list_tensor(m, c.outs, k)).i || any;
  if (!any)
    return false;
  for (uint32_t k = 0; k < c.outs.n; k++) {
    neo_tensor out = {neo_list_at(m, c.outs, k)};
    neo_map_set(&to, neo_list_at(m, c.dys, k), as_tensor(s, out, ad_adjoint_final(s, out)).i);
  }
  neo_tensors roots = {0};
  neo_tensors_add(m, s->scratch, &roots, c.dxs);
  neo_def *defs;
  size_t n = neo_module_topo(m, roots.at, roots.n, s->scratch, &defs, NULL);
  const bool *copied = neo_defs_affected(m, defs, n, &to, NULL, s->scratch);
  neo_defs_clone(m, defs, n, copied, "d", &to);
  for (uint32_t k = 0; k < c.ins.n && k < c.dxs.n; k++) {
    neo_tensor in = {neo_list_at(m, c.ins, k)}, dx = {neo_list_at(m, c.dxs, k)};
    uint64_t copy;
    if (!dx.i || !ad_needs(s, in))
      continue;
    if (neo_map_get(&to, dx.i, &copy))
      dx.i = (uint32_t)copy;
    ad_adjoint_add_expr(s, in, ad_read(m, dx));
  }
  return true;
}

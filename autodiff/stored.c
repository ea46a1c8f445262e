/* Accumulators of the forward pass that gradients read: made an output of their definition, or,
 * where it has no room for one, computed again by a definition of their own. */
#include "autodiff/internal.h"

/* Computes the same reduction again, for its accumulator alone: for pieces, and for definitions
 * that have no room for another output. */
static neo_tensor recompute_acc(ad_state *s, neo_def_rec d, neo_tensor like, neo_type type,
                                neo_expr acc, const char *prefix) {
  neo_module *m = s->m;
  ad_space all = ad_space_of(m, &d, d.axes.n);
  neo_tensor t = ad_temp(m, prefix, like, type, all.axis, d.n_out, d.span);
  d.out_map = (neo_list){0};
  d.finish = neo_list_one(m, acc.i);
  ad_define(m, t, d, all.axis, all.n);
  return t;
}

bool ad_is_asked_elsewhere(const ad_state *s, neo_tensor t) {
  const neo_module *m = s->m;
  neo_tensor y = ad_batch_origin(s->back, s->request.y);
  t = ad_batch_origin(s->back, t);
  for (size_t k = 0; k < m->grads.n; k++) {
    const neo_grad_rec *r = &m->grads.at[k];
    for (uint32_t i = 0; i < r->wrt.n && r->y.i != y.i; i++)
      if (neo_list_at(m, r->wrt, i) == t.i)
        return true;
  }
  return false;
}

neo_tensor ad_stored_acc(ad_state *s, neo_def def, uint32_t k) {
  neo_module *m = s->m;
  neo_def_rec d = *neo_def_at(m, def);
  neo_type type = k ? NEO_I64_T : neo_expr_type(m, neo_list_expr(m, d.body, 0));
  neo_expr acc = neo_acc_ref(m, type, k);
  neo_tensor like = {neo_list_at(m, d.out, 0)};
  for (uint32_t i = 0; i < d.finish.n && !d.out_map.n; i++)
    if (neo_list_at(m, d.finish, i) == acc.i &&
        !ad_is_asked_elsewhere(s, neo_list_tensor(m, d.out, i)))
      return neo_list_tensor(m, d.out, i);
  const char *prefix = k ? (d.reducer == NEO_RED_MEAN ? "count" : "at") : "acc";
  if (d.out.n == 4 || d.out_map.n || neo_tensor_at(m, like)->pieces.n > 1)
    return recompute_acc(s, d, like, type, acc, prefix);
  ad_space outs = ad_space_of(m, &d, d.n_out);
  neo_tensor t = ad_temp(m, prefix, like, type, outs.axis, d.n_out, d.span);
  uint32_t ids[4], values[4], n = d.out.n;
  for (uint32_t i = 0; i < n; i++) {
    ids[i] = neo_list_at(m, d.out, i);
    values[i] = neo_list_at(m, d.finish, i);
  }
  ids[n] = t.i;
  values[n] = acc.i;
  neo_def_at(m, def)->out = neo_list_new(m, ids, n + 1);
  neo_def_at(m, def)->finish = neo_list_new(m, values, n + 1);
  neo_tensor_at(m, t)->pieces = neo_list_one(m, def.i);
  return t;
}

neo_tensor ad_winner_at(ad_state *s, neo_def def, neo_list body) {
  neo_def_rec d = *neo_def_at(s->m, def);
  neo_tensor like = {neo_list_at(s->m, d.out, 0)};
  d.body = body;
  return recompute_acc(s, d, like, NEO_I64_T, neo_acc_ref(s->m, NEO_I64_T, 1), "at");
}

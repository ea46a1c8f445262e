/* See layout.h. */
#include "ir/layout.h"
#include "ir/element.h"
#include "ir/out_map.h"

enum { MOST = NEO_DEF_AXES };

void neo_def_order_axes(neo_module *m, neo_def d, const uint32_t *at) {
  neo_def_rec r = *neo_def_at(m, d);
  neo_expr by[MOST] = {{0}};
  uint32_t ids[MOST];
  neo_out_dim map[MOST];
  for (uint32_t k = 0; k < r.axes.n; k++)
    by[at[k]] = neo_axis_ref(m, k);
  for (uint32_t k = 0; k < r.axes.n; k++) {
    neo_axis_rec x = *neo_def_axis(m, &r, at[k]);
    x.lo = neo_expr_subst_axes(m, x.lo, by, r.axes.n);
    x.hi = neo_expr_subst_axes(m, x.hi, by, r.axes.n);
    ids[k] = neo_axis_add(m, x).i;
  }
  for (uint32_t k = 0; k < r.n_out; k++)
    map[k] = neo_out_map_at(m, r.out_map, at[k]);
  if (r.out_map.n)
    r.out_map = neo_out_map_new(m, map, r.n_out);
  if (r.where.i)
    r.where = neo_expr_subst_axes(m, r.where, by, r.axes.n);
  r.body = neo_list_subst_axes(m, r.body, by, r.axes.n);
  r.finish = neo_list_subst_axes(m, r.finish, by, r.axes.n);
  r.axes = neo_list_new(m, ids, r.axes.n);
  *neo_def_at(m, d) = r;
}

/* ---- tensors */

static neo_expr read_in_order(void *ctx, neo_module *m, neo_expr e) {
  neo_layout layout = ctx;
  const neo_node n = *neo_expr_node(m, e);
  neo_expr arg[MOST + 1];
  if (!neo_node_is_load(&n) || !layout[n.attr])
    return e;
  uint32_t rank = neo_tensor_rank(m, (neo_tensor){n.attr});
  for (uint32_t k = 0; k < n.arg.n; k++)
    arg[k] = neo_list_expr(m, n.arg, k < rank ? layout[n.attr][k] : k);
  return neo_expr_make(m, (neo_op)n.op, (neo_type)n.type, n.attr, arg, n.arg.n, n.span);
}

static void order_extents(neo_module *m, neo_tensor t, const uint32_t *order) {
  uint32_t ids[MOST], rank = neo_tensor_rank(m, t);
  for (uint32_t k = 0; k < rank; k++)
    ids[k] = neo_tensor_extent(m, t, order[k]).i;
  neo_tensor_at(m, t)->extent = neo_list_new(m, ids, rank);
  neo_element_ends_drop(neo_tensor_at(m, t));
}

void neo_layout_tensors(neo_module *m, neo_layout layout) {
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (layout[t])
      order_extents(m, (neo_tensor){t}, layout[t]);
  for (uint32_t d = 1; d < m->defs.n; d++)
    neo_def_rewrite(m, (neo_def){d}, read_in_order, (void *)(uintptr_t)layout);
}

/* ---- names */

static void name_all(const neo_module *m, neo_list l, bool *named) {
  for (uint32_t k = 0; k < l.n; k++)
    named[neo_list_at(m, l, k)] = true;
}

bool *neo_named_tensors(const neo_module *m, neo_arena *a) {
  bool *named = NEO_NEW_ARRAY(a, bool, m->tensors.n);
  for (size_t k = 0; k < m->entries.n; k++) {
    name_all(m, m->entries.at[k].outputs, named);
    name_all(m, m->entries.at[k].updates, named);
  }
  for (size_t k = 0; k < m->grads.n; k++) {
    const neo_grad_rec *g = &m->grads.at[k];
    named[g->y.i] = named[g->seed.i] = true;
    name_all(m, g->wrt, named);
    name_all(m, g->out, named);
  }
  for (size_t k = 0; k < m->customs.n; k++) {
    const neo_custom_rec *c = &m->customs.at[k];
    name_all(m, c->ins, named);
    name_all(m, c->outs, named);
    name_all(m, c->dys, named);
    name_all(m, c->dxs, named);
  }
  return named;
}

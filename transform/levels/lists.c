/* Lists of edges. A graph may give the children of its vertices as lists of any length, cut from
 * one tensor by offsets (neo_tensor_rec.offsets): vertex v has child[e] for e from begin[v] to
 * begin[v + 1] - 1. A recurrence over such a graph reads itself along its own list, and its adjoint
 * along the edges that lead to it:
 *
 *     h[v] = sum[e: begin[v] .. begin[v + 1] where child[e] < v] h[child[e]]*w[e]
 *     d[u] = sum[v, e: begin[v] .. begin[v + 1] where child[e] < v and child[e] == u] g[v]*w[e] */
#include "ir/comparison.h"
#include "transform/levels/parts.h"

enum { MOST_CONJUNCTS = 8 };

/* The load that the expression is, or converts to i64; null: another expression. */
static const neo_node *load_of(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_CAST && n->type == NEO_I64_T)
    n = neo_expr_node(m, neo_list_expr(m, n->arg, 0));
  return n->op == NEO_OP_LOAD ? n : NULL;
}

neo_tensor levels_offsets_of(const levels *s, const neo_axis_rec *x, neo_expr *row) {
  neo_module *m = s->m;
  const neo_node *lo = load_of(m, x->lo), *hi = load_of(m, x->hi);
  if (!lo || !hi || lo->attr != hi->attr ||
      neo_tensor_at(m, (neo_tensor){lo->attr})->offsets.i != lo->attr)
    return (neo_tensor){0};
  neo_tensor t = {lo->attr};
  *row = neo_list_expr(m, lo->arg, 0);
  neo_expr end = neo_list_expr(m, hi->arg, 0);
  bool next = end.i == neo_op2(m, NEO_OP_ADD, *row, levels_int(s, 1)).i;
  return next ? t : (neo_tensor){0};
}

/* Has the sum the condition that the child comes before the vertex? */
static bool is_earlier(const levels *s, const neo_def_rec *d, neo_expr child, neo_expr vertex) {
  neo_expr part[MOST_CONJUNCTS];
  uint32_t n = 0;
  bool is = false;
  if (!neo_conjuncts_of(s->m, d->where, part, &n, MOST_CONJUNCTS))
    return false;
  neo_expr earlier = neo_op2(s->m, NEO_OP_LT, child, vertex);
  for (uint32_t k = 0; k < n && !is; k++)
    is = part[k].i == earlier.i;
  return is;
}

neo_tensor levels_listed_child_of(const levels *s, const neo_def_rec *d, neo_expr e,
                                  neo_expr *vertex) {
  neo_module *m = s->m;
  const neo_node *n = load_of(m, e);
  neo_tensor none = {0}, t = {n ? n->attr : 0};
  if (!n || !neo_tensor_at(m, t)->offsets.i)
    return none;
  neo_node at = *neo_expr_node(m, neo_list_expr(m, n->arg, 0));
  if (at.op != NEO_OP_AXIS || at.attr < d->n_out)
    return none;
  neo_tensor offsets = levels_offsets_of(s, neo_def_axis(m, d, at.attr), vertex);
  bool is = offsets.i && offsets.i != t.i && neo_tensor_at(m, t)->offsets.i == offsets.i;
  neo_expr child = neo_cast(m, NEO_I64_T, e);
  return is && is_earlier(s, d, child, *vertex) ? t : none;
}

/* Does the order follow the lists with these offsets? A leaf may have edges in others. */
static bool orders(const levels *s, const levels_graph *g, neo_tensor offsets) {
  bool is = false;
  for (uint32_t k = 0; k < g->n_indices && offsets.i; k++)
    is = is || neo_tensor_at(s->m, g->index[k].child)->offsets.i == offsets.i;
  return is;
}

bool levels_runs_list_of(const levels *s, const levels_graph *g, const neo_def_rec *d,
                         neo_expr at) {
  neo_expr vertex;
  bool runs = false;
  for (uint32_t k = d->n_out; k < d->axes.n && !runs; k++) {
    if (!orders(s, g, levels_offsets_of(s, neo_def_axis(s->m, d, k), &vertex)))
      continue;
    const neo_node *order = load_of(s->m, vertex);
    runs = order && order->attr == g->order.i && neo_list_at(s->m, order->arg, 0) == at.i;
  }
  return runs;
}

bool levels_is_list(const levels *s, neo_tensor child) {
  return neo_tensor_at(s->m, child)->offsets.i != 0;
}

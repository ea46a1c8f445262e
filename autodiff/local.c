/* Reverse mode within one expression. Nodes are visited in reverse order of evaluation; each passes
 * its adjoint on to its arguments by the operator's rule, down to the leaves that are asked for. */
#include "autodiff/internal.h"

typedef struct {
  const neo_module *m;
  neo_arena *scratch;
  NEO_VEC(neo_expr) order; /* arguments first */
} visit_ctx;

static void collect(void *ctx, neo_expr e) {
  visit_ctx *v = ctx;
  NEO_PUSH(v->scratch, &v->order, e);
}

static bool is_leaf(neo_op op) {
  return op == NEO_OP_LOAD || op == NEO_OP_LOAD_ELSE || op == NEO_OP_ACC;
}

/* Condition that every index of a LOAD_ELSE is in range. */
static neo_expr in_range(neo_module *m, neo_expr e) {
  neo_tensor t = {neo_expr_node(m, e)->attr};
  neo_expr all = {0};
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++) {
    neo_expr i = neo_expr_arg(m, e, k);
    neo_expr lo = neo_op2(m, NEO_OP_LE, neo_const_i64(m, 0), i);
    all = neo_both(m, all, neo_both(m, lo, neo_op2(m, NEO_OP_LT, i, neo_tensor_extent(m, t, k))));
  }
  return all;
}

typedef struct {
  neo_module *m;
  neo_map live, adj; /* by node: whether it depends on an active leaf; its adjoint */
} local_ctx;

static bool live(const local_ctx *l, neo_expr e) {
  return neo_map_get(&l->live, e.i, NULL);
}

static void give(local_ctx *l, neo_expr to, neo_expr adj) {
  if (!adj.i || !live(l, to) || neo_expr_is_positive_zero(l->m, adj))
    return;
  uint64_t old = 0;
  neo_map_get(&l->adj, to.i, &old);
  neo_map_set(&l->adj, to.i, ad_add(l->m, (neo_expr){(uint32_t)old}, adj).i);
}

static void mark_live(local_ctx *l, const visit_ctx *v, ad_active_fn *active, void *ctx) {
  neo_module *m = l->m;
  for (size_t i = 0; i < v->order.n; i++) {
    neo_expr e = v->order.at[i];
    const neo_node *n = neo_expr_node(m, e);
    bool yes = is_leaf((neo_op)n->op) && active(ctx, m, e);
    uint32_t first = n->op == NEO_OP_LOAD ? n->arg.n : n->op == NEO_OP_LOAD_ELSE ? n->arg.n - 1 : 0;
    for (uint32_t k = first; k < n->arg.n; k++) {
      neo_expr a = neo_list_expr(m, n->arg, k);
      yes = yes || (neo_type_is_float(neo_expr_type(m, a)) && live(l, a));
    }
    if (yes && neo_type_is_float((neo_type)n->type))
      neo_map_set(&l->live, e.i, 1);
  }
}

void ad_local(neo_module *m, neo_expr root, bool kept, neo_expr seed, ad_active_fn *active,
              void *ctx, neo_arena *scratch, ad_leaves *out) {
  visit_ctx v = {.m = m, .scratch = scratch};
  neo_expr_visit(m, root, collect, &v);
  local_ctx l = {.m = m, .live = neo_map_in(scratch), .adj = neo_map_in(scratch)};
  mark_live(&l, &v, active, ctx);
  give(&l, root, seed);
  for (size_t i = v.order.n; i-- > 0;) {
    neo_expr e = v.order.at[i];
    uint64_t adj = 0;
    if (!neo_map_get(&l.adj, e.i, &adj))
      continue;
    neo_expr g = {(uint32_t)adj};
    neo_op op = (neo_op)neo_expr_node(m, e)->op;
    if (is_leaf(op)) {
      if (active(ctx, m, e))
        NEO_PUSH(m->arena, out, (ad_leaf){e, g});
      if (op != NEO_OP_LOAD_ELSE)
        continue;
      neo_expr other = neo_expr_arg(m, e, neo_expr_node(m, e)->arg.n - 1);
      if (live(&l, other))
        give(&l, other, ad_select(m, in_range(m, e), ad_zero(m, neo_expr_type(m, g)), g));
      continue;
    }
    for (uint32_t k = 0; k < neo_expr_node(m, e)->arg.n; k++) {
      neo_expr a = neo_expr_arg(m, e, k);
      if (live(&l, a))
        give(&l, a, ad_rule(m, e, k, kept && e.i == root.i, g));
    }
  }
}

/* Values that are in memory already:
 *
 *     Y[r, c] = exp(X[r, c] - z[r])
 *     D[r, c] = G[r, c]*Y[r, c] + s[r]*exp(X[r, c] - z[r])
 *     ->
 *     D[r, c] = G[r, c]*Y[r, c] + s[r]*Y[r, c]
 *
 * Where a definition reads an element of a tensor, and has the expression that the element is
 * defined by as well, the expression is that element. Gradients say such things: the slope of a
 * function by its own value beside one of its argument. Only values that cost more than a load are
 * replaced, and only of definitions without reductions; what is read stays the same or less. */
#include "transform/value_reuse.h"

enum { MOST_READS = 32 };

typedef struct {
  neo_module *m;
  neo_expr load[MOST_READS], value[MOST_READS]; /* elements that are read; what they are */
  bool met[MOST_READS];                         /* value[k] occurs by itself */
  uint32_t n;
} known;

typedef struct {
  const neo_module *m;
  bool found;
} dear_ops;

static void find_dear(void *ctx, neo_expr e) {
  dear_ops *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  c->found = c->found || (neo_op_is_elementwise((neo_op)n->op) &&
                          neo_op_cost((neo_op)n->op) >= NEO_COST_DIVIDE);
}

/* Does it take more than a load? */
static bool costs(const neo_module *m, neo_expr e) {
  dear_ops c = {m, false};
  neo_expr_visit(m, e, find_dear, &c);
  return c.found;
}

/* The value of tensor t over the axes of its definition; 0: it has no such one. */
static neo_expr value_of(const neo_module *m, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  neo_expr none = {0};
  if (r->pieces.n != 1 || (r->type != NEO_F32_T && r->type != NEO_F64_T))
    return none;
  const neo_def_rec *d = neo_def_at(m, (neo_def){neo_list_at(m, r->pieces, 0)});
  if (d->reducer != NEO_RED_NONE || d->axes.n != d->n_out || d->where.i || d->out_map.n)
    return none;
  for (uint32_t k = 0; k < d->out.n && k < d->finish.n; k++) {
    neo_expr e = neo_list_expr(m, d->finish, k);
    if (neo_list_at(m, d->out, k) == t.i)
      return !neo_expr_uses_op(m, e, NEO_OP_ACC) && costs(m, e) ? e : none;
  }
  return none;
}

static void find_load(void *ctx, neo_expr e) {
  known *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  if (n->op != NEO_OP_LOAD || c->n == MOST_READS || n->arg.n > 64)
    return;
  neo_expr value = value_of(c->m, (neo_tensor){n->attr});
  if (!value.i)
    return;
  c->load[c->n] = e;
  c->value[c->n++] = value;
}

/* The element's indices for the axes of its definition. */
static void place_value(known *c, uint32_t k) {
  neo_list args = neo_expr_node(c->m, c->load[k])->arg;
  neo_expr index[64];
  for (uint32_t i = 0; i < args.n; i++)
    index[i] = neo_list_expr(c->m, args, i);
  c->value[k] = neo_expr_subst_axes(c->m, c->value[k], index, args.n);
}

static void find_value(void *ctx, neo_expr e) {
  known *c = ctx;
  for (uint32_t k = 0; k < c->n; k++)
    c->met[k] = c->met[k] || c->value[k].i == e.i;
}

static neo_expr replaced(void *ctx, neo_module *m, neo_expr e) {
  const known *c = ctx;
  (void)m;
  for (uint32_t k = 0; k < c->n; k++)
    if (c->value[k].i == e.i)
      return c->load[k];
  return e;
}

void neo_reuse_values(neo_module *m, neo_def d) {
  known c = {.m = m};
  bool any = false;
  neo_def_visit(m, d, find_load, &c);
  for (uint32_t k = 0; k < c.n; k++)
    place_value(&c, k);
  if (!c.n)
    return;
  neo_def_visit(m, d, find_value, &c);
  for (uint32_t k = 0; k < c.n; k++)
    any = any || c.met[k];
  if (any)
    neo_def_rewrite(m, d, replaced, &c);
}

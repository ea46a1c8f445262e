/* The price of a definition: its points, times the additions of what is computed at each, at usual
 * sizes. A bound that depends on an index or on data counts as its largest value. */
#include "network/parts.h"

static double value_of(const neo_module *m, const neo_def_rec *d, neo_expr e);

static double size_value(const neo_module *m, neo_size s) {
  const neo_size_rec *r = neo_size_at(m, s);
  if (r->kind == NEO_SIZE_DERIVED)
    return value_of(m, NULL, r->value);
  return (double)(r->has_usual ? r->usual : r->hi);
}

static double load_value(const neo_module *m, neo_tensor t) {
  neo_expr bound = neo_tensor_at(m, t)->bound;
  return bound.i ? value_of(m, NULL, bound) - 1 : 0;
}

static double op_value(neo_op op, const double *x) {
  switch (op) {
  case NEO_OP_ADD:
    return x[0] + x[1];
  case NEO_OP_SUB:
    return x[0] - x[1];
  case NEO_OP_MUL:
    return x[0] * x[1];
  case NEO_OP_DIV:
    return x[1] > 0 ? x[0] / x[1] : 0;
  case NEO_OP_MIN:
    return x[0] < x[1] ? x[0] : x[1];
  case NEO_OP_MAX:
    return x[0] > x[1] ? x[0] : x[1];
  default:
    return x[0];
  }
}

static double value_of(const neo_module *m, const neo_def_rec *d, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  double x[2] = {0, 0};
  int64_t known;
  if (neo_expr_is_int(m, e, &known))
    return (double)known;
  if (n->op == NEO_OP_SIZE)
    return size_value(m, (neo_size){n->attr});
  if (n->op == NEO_OP_AXIS && d)
    return value_of(m, d, neo_def_axis(m, d, n->attr)->hi) - 1;
  if (neo_node_is_load(n))
    return load_value(m, (neo_tensor){n->attr});
  for (uint32_t k = 0; k < n->arg.n && k < 2; k++)
    x[k] = value_of(m, d, neo_list_expr(m, n->arg, k));
  return op_value((neo_op)n->op, x);
}

static double points_of(const neo_module *m, const neo_def_rec *d, uint32_t from, uint32_t to) {
  double points = 1;
  for (uint32_t k = from; k < to; k++) {
    const neo_axis_rec *x = neo_def_axis(m, d, k);
    int64_t lo;
    double first = neo_expr_is_int(m, x->lo, &lo) ? (double)lo : 0;
    double n = value_of(m, d, x->hi) - first;
    points *= n > 1 ? n : 1;
  }
  return points;
}

typedef struct {
  const neo_module *m;
  double additions;
} tally;

static void add_node(void *ctx, neo_expr e) {
  tally *t = ctx;
  const neo_node *n = neo_expr_node(t->m, e);
  if (neo_type_is_float((neo_type)n->type))
    t->additions += neo_op_additions((neo_op)n->op);
}

static double additions_of(const neo_module *m, neo_list l) {
  tally t = {.m = m};
  for (uint32_t k = 0; k < l.n; k++)
    neo_expr_visit(m, neo_list_expr(m, l, k), add_node, &t);
  return t.additions + 1;
}

double neo_net_price(const neo_module *m, neo_def id) {
  const neo_def_rec *d = neo_def_at(m, id);
  double out = points_of(m, d, 0, d->n_out);
  double terms = d->body.n ? out * points_of(m, d, d->n_out, d->axes.n) : 0;
  return terms * additions_of(m, d->body) + out * additions_of(m, d->finish);
}

double neo_net_elements(const neo_module *m, neo_tensor t) {
  double n = 1;
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++)
    n *= value_of(m, NULL, neo_tensor_extent(m, t, k));
  return n;
}

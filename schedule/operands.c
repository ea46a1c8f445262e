/* Parts of a contraction's factors that one side of a register tile reads (contract.h).
 *
 *     sum[d] (x[n, d] - c[k, d])^2      factors 0, 1: x[n, d] - c[k, d]
 *                                       parts 2, 3: x[n, d] and c[k, d]
 *
 * A factor is split at an element function if none of the function's arguments varies along all of
 * its axes: each argument may then be on a side of its own. The arguments are not split again, and
 * a select stays whole, because its condition guards its loads. */
#include "schedule/contract.h"

typedef struct {
  const neo_module *m;
  const neo_form *f;
  neo_contraction *c;
  uint32_t factor; /* number of the current factor */
  bool full;       /* the array of parts is full */
} taking;

static bool is_function(const taking *t, neo_expr e) {
  const neo_node *n = neo_expr_node(t->m, e);
  return neo_op_is_elementwise((neo_op)n->op) && n->op != NEO_OP_SELECT &&
         neo_type_is_float((neo_type)n->type);
}

/* Is e, or the only argument that has all axes of e, an element function with several varying
 * arguments, none of which has all axes of the function? */
static bool is_separable(const taking *t, neo_expr e) {
  const neo_node n = *neo_expr_node(t->m, e);
  uint64_t all = neo_form_axes(t->m, t->f, e);
  uint32_t varying = 0;
  if (!is_function(t, e))
    return false;
  for (uint32_t k = 0; k < n.arg.n; k++) {
    neo_expr x = neo_list_expr(t->m, n.arg, k);
    uint64_t axes = neo_form_axes(t->m, t->f, x);
    if (axes == all)
      return is_separable(t, x);
    varying += axes != 0;
  }
  return varying > 1;
}

static void add_part(taking *t, neo_expr e) {
  neo_contraction *c = t->c;
  for (uint32_t k = c->n; k < c->n_operands; k++)
    if (c->factor[k].e.i == e.i) {
      c->factor[k].within |= 1u << t->factor;
      return;
    }
  t->full = t->full || c->n_operands == NEO_MAX_OPERANDS;
  if (!t->full)
    c->factor[c->n_operands++] =
        (neo_factor){.e = e, .axes = neo_form_axes(t->m, t->f, e), .within = 1u << t->factor};
}

/* Adds the parts of e, and the cost of the functions that compute e from them. */
static void add_parts(taking *t, neo_expr e) {
  const neo_node n = *neo_expr_node(t->m, e);
  if (!is_separable(t, e)) {
    if (neo_form_reads(t->m, e) || neo_form_axes(t->m, t->f, e))
      add_part(t, e);
    return;
  }
  t->c->factor[t->factor].ops += neo_op_additions((neo_op)n.op);
  for (uint32_t k = 0; k < n.arg.n; k++)
    add_parts(t, neo_list_expr(t->m, n.arg, k));
}

void neo_contraction_split_factors(const neo_module *m, const neo_form *f, neo_contraction *c) {
  taking t = {.m = m, .f = f, .c = c};
  c->n_operands = c->n;
  for (t.factor = 0; t.factor < c->n; t.factor++) {
    neo_factor *x = &c->factor[t.factor];
    x->split = is_separable(&t, x->e);
    if (x->split)
      add_parts(&t, x->e);
  }
  if (!t.full)
    return;
  c->n_operands = c->n;
  for (uint32_t k = 0; k < c->n; k++)
    c->factor[k].split = false;
}

static bool by_parts(const neo_factor *x, uint64_t rows, uint64_t columns) {
  return x->split && neo_factor_side(x, rows, columns) == NEO_SIDE_BOTH;
}

bool neo_operand_is_read(const neo_contraction *c, uint32_t k, uint64_t rows, uint64_t columns) {
  if (k < c->n)
    return !by_parts(&c->factor[k], rows, columns);
  for (uint32_t i = 0; i < c->n; i++)
    if (c->factor[k].within >> i & 1 && by_parts(&c->factor[i], rows, columns))
      return true;
  return false;
}

double neo_contraction_functions(const neo_contraction *c, uint64_t rows, uint64_t columns) {
  double ops = 0;
  for (uint32_t k = 0; k < c->n; k++) {
    bool again = false;
    for (uint32_t i = 0; i < k; i++)
      again = again || c->factor[i].e.i == c->factor[k].e.i;
    ops += by_parts(&c->factor[k], rows, columns) && !again ? c->factor[k].ops : 0;
  }
  return ops;
}

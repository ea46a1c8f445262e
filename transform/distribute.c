/* Loop distribution: a product that does not depend on the recurrence moves out of its loop.
 *
 *     s[t, b, j] = tanh(sum[d] X[t, b, d]*W[d, j] + sum[k] s[t-1, b, k]*U[k, j])
 *     ->
 *     partial.s[t, b, j] = sum[d] X[t, b, d]*W[d, j]
 *     s[t, b, j] = tanh(partial.s[t, b, j] + sum[k] s[t-1, b, k]*U[k, j])
 *
 * Inside it would be a product of few rows in each iteration; outside it has the rows of all
 * iterations and reads W once. (R. Allen, K. Kennedy, "Automatic translation of Fortran programs to
 * vector form"; for recurrent networks J. Appleyard et al., "Optimizing performance of recurrent
 * neural networks on GPUs".) Its result is a tensor as large as the recurrence's, so sums that are
 * no products, or have few terms, stay inside. */
#include "ir/component.h"
#include "ir/define.h"
#include "ir/limits.h"
#include "ir/product.h"
#include "transform/transform.h"

enum { LEAST_TERMS = 4 };

typedef struct {
  neo_module *m;
  const uint32_t *number; /* recurrences, by definition */
  uint32_t own;
  bool needed, read;
} distribution;

static void look_read(void *ctx, neo_expr e) {
  distribution *x = ctx;
  const neo_node *n = neo_expr_node(x->m, e);
  if (!neo_node_is_load(n))
    return;
  x->read = true;
  neo_list pieces = neo_tensor_at(x->m, (neo_tensor){n->attr})->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    x->needed = x->needed || x->number[neo_list_at(x->m, pieces, k)] == x->own;
}

/* Does the reduction read its own recurrence? */
static bool needs(distribution *x, const neo_def_rec *d) {
  neo_module *m = x->m;
  x->needed = false;
  for (uint32_t k = d->n_out; k < d->axes.n; k++) {
    neo_expr_visit(m, neo_def_axis(m, d, k)->lo, look_read, x);
    neo_expr_visit(m, neo_def_axis(m, d, k)->hi, look_read, x);
  }
  if (d->where.i)
    neo_expr_visit(m, d->where, look_read, x);
  neo_expr_visit(m, neo_list_expr(m, d->body, 0), look_read, x);
  return x->needed;
}

/* Is it a sum of products of at least two factors that read tensors? */
static bool is_product(distribution *x, const neo_def_rec *d) {
  neo_expr factor[NEO_PRODUCT_FACTORS];
  uint32_t n = 0, reads = 0;
  if (!neo_product_factors(x->m, neo_list_expr(x->m, d->body, 0), factor, &n, NEO_PRODUCT_FACTORS))
    return false;
  for (uint32_t k = 0; k < n; k++) {
    x->read = false;
    neo_expr_visit(x->m, factor[k], look_read, x);
    reads += x->read;
  }
  return reads > 1;
}

static bool has_terms(const neo_module *m, const neo_def_rec *d) {
  int64_t terms = 1, lo, hi;
  for (uint32_t k = d->n_out; k < d->axes.n; k++) {
    const neo_axis_rec *axis = neo_def_axis(m, d, k);
    if (!neo_expr_is_int(m, axis->lo, &lo) || !neo_expr_is_int(m, axis->hi, &hi))
      return true;
    terms = terms < LEAST_TERMS ? terms * (hi - lo) : terms;
  }
  return terms >= LEAST_TERMS;
}

static void take_out(distribution *x, neo_def id) {
  neo_module *m = x->m;
  neo_def_rec d = *neo_def_at(m, id);
  neo_partial p = {.prefix = "partial", .of = id, .reducer = (neo_reducer)d.reducer};
  p.axes = d.axes;
  p.n_out = d.n_out;
  p.where = d.where;
  p.body = neo_list_expr(m, d.body, 0);
  neo_reduction_replace(m, id, neo_load_own(m, neo_partial_define(m, &p), d.span));
}

neo_status neo_pass_distribute(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  for (uint32_t k = 1; k < pass->n_defs; k++) {
    neo_def_rec d = *neo_def_at(m, (neo_def){k});
    distribution x = {.m = m, .number = pass->number, .own = pass->number[k]};
    if (pass->number[k] && d.reducer == NEO_RED_SUM && !needs(&x, &d) && is_product(&x, &d) &&
        has_terms(m, &d))
      take_out(&x, (neo_def){k});
  }
  return NEO_OK;
}

/* Consumers of a recurrence, which read one iteration at a time, run in its loops if that pays
 * (loop fusion for locality: K. McKinley, S. Carr, C. Tseng, "Improving data locality with loop
 * transformations").
 *
 *     h[t, i, n] = k[t, i, n]*h[t-1, i, n] + x[t, i]*b[t, n],   y[t, i] = sum[n] h[t, i, n]*c[t, n]
 *
 * Outside, h would be stacked over all iterations, written and read again. Inside it is read
 * from a cache, and a few slices are enough if nobody else needs it (fusion/recurrence/fold.c).
 * A product with an operand that all iterations share stays outside, where it has the rows of
 * all iterations. */
#include "fusion/search/search.h"
#include "ir/limits.h"
#include "ir/order.h"
#include "ir/product.h"

typedef struct {
  fuser *q;
  uint32_t number;     /* the recurrence */
  size_t first;        /* position of its first definition */
  neo_order_step loop; /* outermost loop */
  neo_def *own;        /* its definitions, with those that were taken */
  size_t n_own;
  int64_t axis; /* current definition's axis of iterations */
  neo_def_rec d;
  uint64_t along; /* axes that reads of the recurrence vary along */
  bool good;
  double saved_s, iterations;
} consumers;

/* ---- what is read */

static const fuse_def *maker_of(const consumers *c, neo_tensor t) {
  neo_list pieces = neo_tensor_at(c->q->m, t)->pieces;
  return pieces.n ? &c->q->def[neo_list_at(c->q->m, pieces, 0)] : NULL;
}

static bool is_own(const consumers *c, neo_tensor t) {
  const fuse_def *d = maker_of(c, t);
  return d && d->needed && d->recurrence == c->number;
}

/* Is the tensor computed before the recurrence begins? */
static bool is_before(const consumers *c, neo_tensor t) {
  neo_list pieces = neo_tensor_at(c->q->m, t)->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    if (c->q->def[neo_list_at(c->q->m, pieces, k)].at >= c->first)
      return false;
  return true;
}

static uint64_t axes_of(const consumers *c, const neo_node *n) {
  uint64_t axes = 0;
  for (uint32_t k = 0; k < n->arg.n; k++)
    axes |= neo_expr_axes(c->q->m, neo_list_expr(c->q->m, n->arg, k));
  return axes;
}

/* Additional seconds of reading the tensor when it is stacked. */
static double longer(consumers *c, neo_tensor t) {
  neo_module *m = c->q->m;
  double whole = neo_type_bytes(neo_tensor_type(m, t));
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++) {
    int64_t extent = neo_extent_most(m, neo_tensor_extent(m, t, k));
    whole *= extent > 1 ? (double)extent : 1;
  }
  return neo_profile_traffic(c->q->profile, whole, whole) -
         neo_profile_traffic(c->q->profile, whole, whole / c->iterations);
}

static void look(void *ctx, neo_expr e) {
  consumers *c = ctx;
  const neo_node *n = neo_expr_node(c->q->m, e);
  neo_tensor t = {n->attr};
  if (!neo_node_is_load(n))
    return;
  if (!is_own(c, t)) {
    c->good = c->good && is_before(c, t);
    return;
  }
  c->along |= axes_of(c, n);
  c->saved_s += longer(c, t);
}

/* ---- products */

static void look_used_again(void *ctx, neo_expr e) {
  consumers *c = ctx;
  const neo_node *n = neo_expr_node(c->q->m, e);
  if (!neo_node_is_load(n))
    return;
  uint64_t axes = axes_of(c, n), outs = ((uint64_t)1 << c->d.n_out) - 1;
  if (!(axes >> c->axis & 1) && (axes & outs & ~c->along))
    c->good = false;
}

/* Is it a sum of products with an operand that all iterations share and many elements use? */
static bool is_product(consumers *c) {
  neo_module *m = c->q->m;
  neo_expr factor[NEO_PRODUCT_FACTORS];
  uint32_t n = 0;
  c->good = true;
  if (c->d.reducer != NEO_RED_SUM || c->d.body.n != 1 ||
      !neo_product_factors(m, neo_list_expr(m, c->d.body, 0), factor, &n, NEO_PRODUCT_FACTORS))
    return false;
  for (uint32_t k = 0; k < n; k++)
    neo_expr_visit(m, factor[k], look_used_again, c);
  return !c->good;
}

/* ---- definitions */

static bool is_whole_temp(const consumers *c) {
  const neo_module *m = c->q->m;
  bool is = !c->d.out_map.n;
  for (uint32_t k = 0; k < c->d.out.n; k++) {
    const neo_tensor_rec *t = neo_tensor_at(m, neo_list_tensor(m, c->d.out, k));
    is = is && t->role == NEO_ROLE_TEMP && t->pieces.n == 1;
  }
  return is;
}

static bool can_join(consumers *c, neo_def d) {
  fuser *q = c->q;
  neo_order_step loop;
  c->own[c->n_own].i = d.i;
  neo_prover *p = neo_prover_new(q->m);
  bool can = neo_order_find(p, c->own, c->n_own + 1, q->a, &loop, NULL);
  neo_prover_free(p);
  return can;
}

static bool joins(consumers *c, neo_def d) {
  c->d = *neo_def_at(c->q->m, d);
  c->axis = neo_order_iteration_axis(c->q->m, &c->loop, d);
  if (c->axis < 0 || c->d.after.i || !is_whole_temp(c))
    return false;
  c->good = true;
  c->along = 0;
  c->saved_s = 0;
  neo_def_visit(c->q->m, d, look, c);
  bool pays = c->saved_s > c->iterations * c->q->profile->launch_s || c->q->consumers_join;
  return c->good && pays && !is_product(c) && can_join(c, d);
}

/* ---- recurrences */

static bool find_loop(consumers *c) {
  fuser *q = c->q;
  neo_expr first, end;
  int64_t lo, hi;
  c->n_own = 0;
  for (size_t k = 0; k < q->n_order; k++)
    if (q->def[q->order[k]].recurrence == c->number) {
      c->first = c->n_own ? c->first : k;
      c->own[c->n_own++].i = q->order[k];
    }
  neo_prover *p = neo_prover_new(q->m);
  bool found = c->n_own && neo_order_find(p, c->own, c->n_own, q->a, &c->loop, NULL);
  if (found) {
    neo_order_iterations(q->m, &c->loop, &first, &end);
    found = neo_interval(p, NULL, neo_op2(q->m, NEO_OP_SUB, end, first), &lo, &hi) && hi > 1;
    c->iterations = found ? (double)hi : 0;
  }
  neo_prover_free(p);
  return found;
}

void fuse_take_consumers(fuser *q) {
  uint32_t n = 0;
  for (size_t k = 0; k < q->n_order; k++)
    n = q->def[q->order[k]].recurrence > n ? q->def[q->order[k]].recurrence : n;
  if (q->profile->threads) /* each would be a launch in each iteration */
    return;
  for (uint32_t number = 1; number <= n; number++) {
    uint32_t *of = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n);
    consumers c = {.q = q, .number = number};
    c.own = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
    if (!find_loop(&c))
      continue;
    for (size_t k = c.first; k < q->n_order; k++) {
      neo_def d = {q->order[k]};
      if (q->def[d.i].recurrence || !joins(&c, d))
        continue;
      of[d.i] = number;
      c.n_own++;
    }
    fuse_take_into(q, of);
  }
}

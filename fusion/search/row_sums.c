/* Sums over rows that are made in blocks, without lazy batching (neo_loop_options).
 *
 *     c[p, i] = f(d[p, i]),   G[i, j] = sum[p] c[p, i]*x[p, j]        d: rows of a recurrence
 *
 * They become a part of the recurrence's group, with what they read that has an element for each row, but is no product:
 * in its loop they grow block by block (fusion/recurrence/sums.c). */
#include "fusion/recurrence.h"
#include "fusion/search/search.h"
#include "ir/product.h"

enum { MOST_FACTORS = 16 };

typedef struct {
  fuser *q;
  uint32_t number; /* of the recurrence */
  size_t first;    /* place of its first definition */
  neo_order_step loop;
  neo_def *own; /* its definitions, and those that could run in its loop */
  size_t n_own;
  bool *in, *sum;  /* by definition: it is among `own`; it is a sum over rows */
  bool good, ends; /* look at the ends of sums, which may read other sums */
} row_sums;

/* Is what is read there before the recurrence begins, or made in its loop? */
static void look(void *ctx, neo_expr e) {
  row_sums *x = ctx;
  const neo_module *m = x->q->m;
  const neo_node *n = neo_expr_node(m, e);
  if (!neo_node_is_load(n))
    return;
  neo_list pieces = neo_tensor_at(m, (neo_tensor){n->attr})->pieces;
  for (uint32_t k = 0; k < pieces.n; k++) {
    uint32_t made = neo_list_at(m, pieces, k);
    x->good =
        x->good && (x->in[made] || (x->ends && x->sum[made]) || x->q->def[made].at < x->first);
  }
}

static bool can_read(row_sums *x, neo_def d) {
  neo_list out = neo_def_at(x->q->m, d)->out;
  x->good = !x->q->def[d.i].recurrence && !neo_def_at(x->q->m, d)->after.i;
  for (uint32_t k = 0; k < out.n; k++)
    x->good =
        x->good && neo_tensor_at(x->q->m, neo_list_tensor(x->q->m, out, k))->role == NEO_ROLE_TEMP;
  neo_def_visit(x->q->m, d, look, x);
  return x->good;
}

/* The same of a sum. Its end may read sums before it. */
static bool can_sum(row_sums *x, neo_def d) {
  neo_module *m = x->q->m;
  neo_def_rec r = *neo_def_at(m, d);
  x->ends = true;
  bool can = can_read(x, d);
  x->ends = false;
  neo_expr_visit(m, neo_list_expr(m, r.body, 0), look, x);
  if (r.where.i)
    neo_expr_visit(m, r.where, look, x);
  for (uint32_t k = 0; k < r.axes.n; k++) {
    neo_expr_visit(m, neo_def_axis(m, &r, k)->lo, look, x);
    neo_expr_visit(m, neo_def_axis(m, &r, k)->hi, look, x);
  }
  return can && x->good;
}

/* ---- what has an element for each row */

/* Is it a sum of products one of whose factors is the same in all rows? */
static bool is_product(const row_sums *x, const neo_def_rec *d, int64_t row) {
  neo_module *m = x->q->m;
  neo_expr factor[MOST_FACTORS];
  uint32_t n = 0;
  bool is = false;
  if (d->reducer != NEO_RED_SUM || d->body.n != 1 ||
      !neo_product_factors(m, neo_list_expr(m, d->body, 0), factor, &n, MOST_FACTORS))
    return false;
  for (uint32_t k = 0; k < n; k++) {
    uint64_t axes = neo_expr_axes(m, factor[k]);
    is = is || (axes && !(axes >> row & 1));
  }
  return is;
}

static bool follows_rows(row_sums *x, neo_def d) {
  fuser *q = x->q;
  neo_order_step loop;
  int64_t row = neo_order_round_axis(q->m, &x->loop, d);
  neo_def_rec r = *neo_def_at(q->m, d);
  if (row < 0 || r.out_map.n || !can_read(x, d) || is_product(x, &r, row))
    return false;
  x->own[x->n_own].i = d.i;
  neo_prover *p = neo_prover_new(q->m);
  bool can = neo_order_find(p, x->own, x->n_own + 1, q->a, &loop, NULL) &&
             neo_recurrence_has_blocks(q->m, &loop);
  neo_prover_free(p);
  if (can)
    x->loop = loop;
  return can;
}

/* ---- recurrences */

static bool find_loop(row_sums *x) {
  fuser *q = x->q;
  x->in = NEO_NEW_ARRAY(q->a, bool, q->m->defs.n);
  x->sum = NEO_NEW_ARRAY(q->a, bool, q->m->defs.n);
  x->own = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  for (size_t k = 0; k < q->n_order; k++)
    if (q->def[q->order[k]].recurrence == x->number) {
      x->first = x->n_own ? x->first : k;
      x->in[q->order[k]] = true;
      x->own[x->n_own++].i = q->order[k];
    }
  neo_prover *p = neo_prover_new(q->m);
  bool found = x->n_own && neo_order_find(p, x->own, x->n_own, q->a, &x->loop, NULL) &&
               neo_recurrence_has_blocks(q->m, &x->loop);
  neo_prover_free(p);
  return found;
}

static void find_sums(row_sums *x) {
  fuser *q = x->q;
  for (size_t k = x->first; k < q->n_order; k++) {
    neo_def d = {q->order[k]};
    uint32_t axis;
    if (x->in[d.i])
      continue;
    if (neo_recurrence_sums(q->m, &x->loop, d, &axis)) {
      x->sum[d.i] = can_sum(x, d);
    } else if (follows_rows(x, d)) {
      x->in[d.i] = true;
      x->n_own++;
    }
  }
}

/* Takes the sums, and what these read of the rest. */
static void take(row_sums *x) {
  fuser *q = x->q;
  uint32_t *of = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n);
  bool *read = NEO_NEW_ARRAY(q->a, bool, q->m->tensors.n);
  for (size_t k = q->n_order; k-- > x->first;) {
    neo_def d = {q->order[k]};
    neo_list out = neo_def_at(q->m, d)->out;
    neo_tensor *in;
    bool taken = x->sum[d.i];
    for (uint32_t i = 0; i < out.n; i++)
      taken = taken || (x->in[d.i] && read[neo_list_at(q->m, out, i)]);
    if (!taken || q->def[d.i].recurrence)
      continue;
    of[d.i] = x->number;
    for (size_t n = neo_def_reads(q->m, d, q->a, &in); n-- > 0;)
      read[in[n].i] = true;
  }
  fuse_take_into(q, of);
}

void fuse_take_row_sums(fuser *q) {
  uint32_t n = 0;
  for (size_t k = 0; k < q->n_order; k++)
    n = q->def[q->order[k]].recurrence > n ? q->def[q->order[k]].recurrence : n;
  for (uint32_t number = 1; number <= n && q->recurrences.no_lazy_batching; number++) {
    row_sums x = {.q = q, .number = number};
    if (!find_loop(&x))
      continue;
    find_sums(&x);
    take(&x);
  }
}

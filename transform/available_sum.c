/* Available sums: finds a definition that already computes the sum of given factors, whatever the
 * names of its axes and the order of its factors.
 *
 *     W[b, i, e] = sum[j] exp(S[b, i, j]) * V[b, j, e]
 *     D[p, x] reads sum[y] exp(S[p, x, y]) * V[p, y, c]   ->   W[p, x, c]
 *
 * Factors are matched one by one. The first factor that has an axis maps it to an axis of the
 * reader, and all other factors have to agree. The points of both sums are the same if ranges and
 * conditions are equal, or if each side's follow from the other's: y < x + 1 is y <= x where x is
 * in its range. */
#include "transform/available_sum.h"
#include "ir/limits.h"
#include "ir/product.h"

enum { MOST_STEPS = 2000, NOT_BOUND = 255 };

typedef struct {
  neo_module *m;
  const neo_sum_query *q;
  const neo_def_rec *d;
  uint8_t to[NEO_PATTERN_AXES]; /* axis of the definition -> of the reader */
  neo_expr factor[NEO_PRODUCT_FACTORS];
  uint32_t n, steps;
} matcher;

static bool bind(matcher *c, uint32_t from, uint32_t to) {
  if (from >= c->d->axes.n || to >= NEO_DEF_AXES || (from >= c->d->n_out) != (c->q->in >> to & 1))
    return false;
  for (uint32_t k = 0; k < c->d->axes.n; k++)
    if (k != from && c->to[k] == to)
      return false;
  if (c->to[from] == NOT_BOUND)
    c->to[from] = (uint8_t)to;
  return c->to[from] == to;
}

static bool same(matcher *c, neo_expr a, neo_expr b) {
  if (!a.i || !b.i)
    return a.i == b.i;
  if (a.i == b.i && !neo_expr_axes(c->m, a))
    return true;
  const neo_node *x = neo_expr_node(c->m, a), *y = neo_expr_node(c->m, b);
  if (c->steps++ > MOST_STEPS || x->op != y->op || x->type != y->type || x->arg.n != y->arg.n)
    return false;
  if (x->op == NEO_OP_AXIS)
    return bind(c, x->attr, y->attr);
  if (x->attr != y->attr)
    return false;
  for (uint32_t k = 0; k < x->arg.n; k++)
    if (!same(c, neo_list_expr(c->m, x->arg, k), neo_list_expr(c->m, y->arg, k)))
      return false;
  return true;
}

/* Matches factors k and later, each with a factor of the reader that is not in `taken`. */
static bool same_factors(matcher *c, uint32_t k, uint32_t taken) {
  if (k == c->n)
    return true;
  matcher before = *c;
  for (uint32_t i = 0; i < c->q->n; i++) {
    if (!(taken >> i & 1) && same(c, c->factor[k], c->q->factor[i]) &&
        same_factors(c, k + 1, taken | 1u << i))
      return true;
    uint32_t steps = c->steps;
    *c = before;
    c->steps = steps;
  }
  return false;
}

/* Does every axis of the definition have an axis of the reader, output axes with the same range? */
static bool same_axes(matcher *c) {
  for (uint32_t k = 0; k < c->d->axes.n; k++) {
    const neo_axis_rec *x = neo_def_axis(c->m, c->d, k);
    if (c->to[k] == NOT_BOUND)
      return false;
    const neo_axis_rec *y = &c->q->axis[c->to[k]];
    if (k < c->d->n_out && (!same(c, x->lo, y->lo) || !same(c, x->hi, y->hi)))
      return false;
  }
  return true;
}

/* ---- the points that are summed over */

static neo_expr in_range(neo_module *m, const neo_axis_rec *x, uint32_t k) {
  neo_expr axis = neo_axis_ref(m, k);
  return neo_between(m, x->lo, axis, x->hi);
}

/* Can the reader's expression be written over the definition's axes? Writes it to *e. */
static bool to_definition(const matcher *c, neo_expr *e) {
  neo_expr by[NEO_DEF_AXES] = {{0}};
  uint64_t known = 0;
  if (!e->i)
    return true;
  for (uint32_t k = 0; k < c->d->axes.n; k++) {
    by[c->to[k]] = neo_axis_ref(c->m, k);
    known |= 1ULL << c->to[k];
  }
  if (neo_expr_axes(c->m, *e) & ~known)
    return false;
  *e = neo_expr_subst_axes(c->m, *e, by, NEO_DEF_AXES);
  return true;
}

/* Does `goal`, which one side asks of a point, follow from what the other assumes? Both are over
 * the definition's axes. */
static bool follows(matcher *c, const neo_axis_rec *axes, neo_expr assume, neo_expr goal) {
  neo_facts f = {axes, c->d->axes.n, &assume, assume.i != 0};
  return !goal.i || neo_proves(c->q->prover, &f, goal);
}

/* The range of the definition's axis k in the reader; false if it is not over earlier axes. */
static bool range_of(const matcher *c, uint32_t k, neo_axis_rec *out) {
  uint64_t after = ~((1ULL << k) - 1);
  out->lo = c->q->axis[c->to[k]].lo;
  out->hi = c->q->axis[c->to[k]].hi;
  return to_definition(c, &out->lo) && to_definition(c, &out->hi) &&
         !((neo_expr_axes(c->m, out->lo) | neo_expr_axes(c->m, out->hi)) & after);
}

static bool same_points(matcher *c) {
  neo_axis_rec own[NEO_PATTERN_AXES], theirs[NEO_PATTERN_AXES];
  neo_expr here = c->d->where, there = c->q->where;
  if (!to_definition(c, &there))
    return false;
  bool same = here.i == there.i;
  for (uint32_t k = 0; k < c->d->axes.n; k++) {
    own[k] = theirs[k] = *neo_def_axis(c->m, c->d, k);
    if (k < c->d->n_out)
      continue;
    if (!range_of(c, k, &theirs[k]))
      return false;
    same = same && own[k].lo.i == theirs[k].lo.i && own[k].hi.i == theirs[k].hi.i;
  }
  neo_expr say_here = here, say_there = there;
  for (uint32_t k = c->d->n_out; k < c->d->axes.n && !same; k++) {
    here = neo_both(c->m, here, in_range(c->m, &own[k], k));
    there = neo_both(c->m, there, in_range(c->m, &theirs[k], k));
  }
  return same || (follows(c, theirs, say_there, here) && follows(c, own, say_here, there));
}

static bool is_plain_sum(const neo_module *m, const neo_def_rec *d, uint32_t n_in) {
  if (d->reducer != NEO_RED_SUM || d->body.n != 1 || d->out.n != 1 || d->out_map.n ||
      d->axes.n > NEO_PATTERN_AXES || d->axes.n - d->n_out != n_in)
    return false;
  const neo_tensor_rec *t = neo_tensor_at(m, neo_list_tensor(m, d->out, 0));
  neo_expr e = neo_list_expr(m, d->finish, 0), body = neo_list_expr(m, d->body, 0);
  return t->role == NEO_ROLE_TEMP && t->pieces.n == 1 && neo_expr_node(m, e)->op == NEO_OP_ACC &&
         t->type == neo_expr_type(m, body);
}

/* Does the definition need the reader? */
static bool needs(const neo_module *m, neo_def d, neo_def reader) {
  neo_def *order;
  bool found = false;
  neo_arena scratch = neo_arena_scratch(m->arena);
  neo_tensor root = neo_def_out(m, d, 0);
  size_t n = neo_module_topo(m, &root, 1, &scratch, &order, NULL);
  for (size_t k = 0; k < n; k++)
    found = found || order[k].i == reader.i;
  neo_arena_free(&scratch);
  return found;
}

neo_expr neo_available_sum(neo_module *m, const neo_sum_query *q) {
  uint32_t n_in = (uint32_t)__builtin_popcountll(q->in);
  for (uint32_t i = 1; i < m->defs.n; i++) {
    neo_def d = {i};
    matcher c = {.m = m, .q = q, .d = neo_def_at(m, d)};
    neo_expr index[NEO_PATTERN_AXES];
    for (uint32_t k = 0; k < NEO_PATTERN_AXES; k++)
      c.to[k] = NOT_BOUND;
    if (i == q->reader.i || !is_plain_sum(m, c.d, n_in) ||
        !neo_product_factors(m, neo_list_expr(m, c.d->body, 0), c.factor, &c.n,
                             NEO_PRODUCT_FACTORS) ||
        c.n != q->n || !same_factors(&c, 0, 0) || !same_axes(&c) || !same_points(&c) ||
        needs(m, d, q->reader))
      continue;
    for (uint32_t k = 0; k < c.d->n_out; k++)
      index[k] = neo_axis_ref(m, c.to[k]);
    neo_tensor t = {neo_list_at(m, c.d->out, 0)};
    return neo_load(m, t, index, c.d->n_out, neo_def_at(m, q->reader)->span);
  }
  return (neo_expr){0};
}

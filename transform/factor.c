/* Factorisation by the distributive law: factors that do not change along a reduction axis leave
 * its sum, where that saves arithmetic.
 *
 *     D[b, i] = sum[e, j] G[b, i, e] * V[b, j, e] * exp(S[b, i, j])
 *     ->
 *     partial.D[b, i, j] = sum[e] G[b, i, e] * V[b, j, e]
 *     D[b, i]         = sum[j] exp(S[b, i, j]) * partial.D[b, i, j]
 *
 *     E[i, j] = sum[e] G[i, e] * V[j, e] * exp(S[i, j])
 *     ->
 *     partial.E[i, j] = sum[e] G[i, e] * V[j, e],   E[i, j] = partial.E[i, j] * exp(S[i, j])
 *
 * Gradients of products of more than two factors have these forms (attention's softmax has both,
 * with one common part). The part is a tensor, so it has to halve the arithmetic, its write and
 * read counted. A factor of output axes alone leaves first, if the sum is not empty (an empty sum
 * times infinity is not 0); finite constants, signs and divisors always leave. Sums that differ
 * only in such factors become equal, and fusion puts the product back after the sum. In the
 * program's own sums (not a gradient's) such a factor or divisor stays, since the sum without it
 * may leave the range of the type; only constants of moderate size leave. A condition on output
 * axes leaves too, if the remaining reads allow it:
 *
 *     E[i, j] = sum[e where j <= i] G[i, e] * V[j, e] * exp(S[i, j])
 *     ->
 *     E[i, j] = select(j <= i, partial.E[i, j] * exp(S[i, j]), 0)
 *
 * and a condition on data leaves alone (the gradient of a product with relu(X), where X > 0).
 *
 * A part that some definition already computes (available_sum.h) costs nothing: the first of these
 * sums over j is attention's result, if G is its gradient. Conditions on axes outside of the part
 * stay. Conditions on its axes must hold somewhere, since an empty sum is 0 and 0 times infinity is
 * not.
 *
 * A sum over an equation of data has one term for each point of its own axes. Its parts are read at
 * the key, which must be in range wherever it is read, and drop the equation:
 *
 *     F[v] = sum[e, j where dst[e] == v] p[e] * G[v, j] * H[e, j]
 *     ->
 *     partial.F[e] = sum[j] G[dst[e], j] * H[e, j]
 *     F[v] = sum[e where dst[e] == v] p[e] * partial.F[e]
 *
 * Every element that the new definitions read must have been read before: no range is empty,
 * conditions mention no inner axes, and both halves keep all of them. Recurrences are ordered by
 * their reads, so their definitions stay whole. */
#include "ir/comparison.h"
#include "ir/component.h"
#include "ir/define.h"
#include "ir/keyed_axes.h"
#include "ir/limits.h"
#include "ir/prove/prove.h"
#include "transform/available_sum.h"
#include "transform/embed.h"
#include "transform/transform.h"
#include <math.h>

enum {
  SETS_OF_FACTORS = 12, /* all sets of a product's factors are tried */
  MOST_REDUCED = 6,
  MOST_SCALE = 24
};

typedef struct {
  neo_module *m;
  neo_prover *prover;
  neo_def def;
  neo_def_rec r;
  neo_axis_rec axis[NEO_DEF_AXES];
  double extent[NEO_DEF_AXES];
  uint64_t outs, reds; /* output and reduction axes */
  neo_expr term;       /* product of the factors */
  neo_expr factor[SETS_OF_FACTORS];
  uint64_t uses[SETS_OF_FACTORS]; /* axes of a factor */
  double cost[SETS_OF_FACTORS];
  uint32_t inverse; /* factors that the others are divided by */
  uint32_t n;
  bool negative;
  neo_keyed_axes keys;
} product;

/* ---- matching the definition */

typedef struct {
  const neo_module *m;
  double sum;
} cost_ctx;

static void add_cost(void *ctx, neo_expr e) {
  cost_ctx *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  if (neo_type_is_float((neo_type)n->type) && neo_op_is_elementwise((neo_op)n->op))
    c->sum += neo_op_additions((neo_op)n->op);
}

static bool add_factor(product *p, neo_expr e, double cost) {
  if (p->n == SETS_OF_FACTORS)
    return false;
  cost_ctx c = {p->m, cost};
  neo_expr_visit(p->m, e, add_cost, &c);
  p->factor[p->n] = e;
  p->uses[p->n] = neo_expr_axes(p->m, e);
  p->cost[p->n++] = c.sum;
  return true;
}

static bool is_constant(const product *p, neo_expr e) {
  const neo_module *m = p->m;
  return !neo_expr_axes(m, e) && !neo_expr_has_loads(m, e) && !neo_expr_uses_op(m, e, NEO_OP_RAND);
}

static bool add_factors(product *p, neo_expr e) {
  const neo_node n = *neo_expr_node(p->m, e);
  if (n.op == NEO_OP_NEG) {
    p->negative = !p->negative;
    return add_factors(p, neo_list_expr(p->m, n.arg, 0));
  }
  if (n.op == NEO_OP_MUL)
    return add_factors(p, neo_list_expr(p->m, n.arg, 0)) &&
           add_factors(p, neo_list_expr(p->m, n.arg, 1));
  neo_expr by = n.op == NEO_OP_DIV ? neo_list_expr(p->m, n.arg, 1) : (neo_expr){0};
  if (by.i && !(neo_expr_axes(p->m, by) & p->reds) && (!p->r.as_written || is_constant(p, by))) {
    if (!add_factors(p, neo_list_expr(p->m, n.arg, 0)) || p->n == SETS_OF_FACTORS)
      return false;
    p->inverse |= 1u << p->n;
    return add_factor(p, by, neo_op_additions(NEO_OP_DIV));
  }
  return add_factor(p, e, 1);
}

/* The largest known number of iterations. */
static double extent_of(product *p, uint32_t k) {
  neo_facts f = {.axes = p->axis, .n_axes = k};
  int64_t lo, hi, unused;
  if (!neo_interval(p->prover, &f, p->axis[k].lo, &lo, &unused) ||
      !neo_interval(p->prover, &f, p->axis[k].hi, &unused, &hi))
    return 64; /* a guess for ranges from data */
  return hi > lo ? (double)(hi - lo) : 1;
}

/* x of select(c, x, 0); c, on output axes alone, becomes a condition of the sum. */
static neo_expr without_choice(product *p, neo_expr body) {
  const neo_node n = *neo_expr_node(p->m, body);
  if (n.op != NEO_OP_SELECT || neo_expr_axes(p->m, neo_list_expr(p->m, n.arg, 0)) & p->reds ||
      !neo_expr_is_zero(p->m, neo_list_expr(p->m, n.arg, 2)))
    return body;
  neo_expr c = neo_list_expr(p->m, n.arg, 0);
  p->r.where = p->r.where.i ? neo_op2(p->m, NEO_OP_AND, p->r.where, c) : c;
  return neo_list_expr(p->m, n.arg, 1);
}

static bool match(product *p, neo_def d) {
  neo_module *m = p->m;
  p->def = d;
  p->r = *neo_def_at(m, d);
  bool plain = p->r.reducer == NEO_RED_SUM && p->r.body.n == 1 && p->r.out.n == 1 &&
               !p->r.out_map.n && p->r.axes.n - p->r.n_out <= MOST_REDUCED &&
               p->r.axes.n <= NEO_PATTERN_AXES && p->r.axes.n > p->r.n_out;
  if (!plain)
    return false;
  p->outs = (1ull << p->r.n_out) - 1;
  p->reds = ((1ull << p->r.axes.n) - 1) & ~p->outs;
  neo_expr body = without_choice(p, neo_list_expr(m, p->r.body, 0));
  neo_type t = neo_expr_type(m, body);
  p->term = body;
  if ((t != NEO_F32_T && t != NEO_F64_T) || !add_factors(p, body) || p->n < 2)
    return false;
  for (uint32_t k = 0; k < p->r.axes.n; k++) {
    p->axis[k] = *neo_def_axis(m, &p->r, k);
    p->extent[k] = extent_of(p, k);
  }
  neo_keyed_axes_of(p->prover, p->axis, p->r.axes.n, p->r.n_out, p->r.where, &p->keys);
  return true;
}

/* ---- a part: the sum over the axes `in` of the factors in `chosen` */

typedef struct {
  uint64_t in, axes; /* reduced axes; axes of the part */
  uint32_t chosen;
  neo_expr known; /* its element in an available definition */
  bool at_keys;   /* factors are read at keys, where equations give axes */
} part;

/* The expression at the keys, if they are in range at every point. */
static neo_expr read_at_keys(const product *p, neo_expr e) {
  neo_expr by[NEO_KEYED_AXES] = {{0}};
  for (uint32_t k = 0; k < p->r.n_out; k++)
    by[k] = p->keys.within >> k & 1 ? p->keys.key[k] : (neo_expr){0};
  return neo_expr_subst_axes(p->m, e, by, p->r.axes.n);
}

static neo_expr factor_of(const product *p, const part *x, uint32_t k) {
  return x->at_keys ? read_at_keys(p, p->factor[k]) : p->factor[k];
}

static neo_expr where_of(const product *p, const part *x) {
  return x->at_keys ? p->keys.rest : p->r.where;
}

static uint64_t axes_of_part(const product *p, const part *x) {
  uint64_t axes = 0;
  for (uint32_t k = 0; k < p->n; k++)
    axes |= x->chosen >> k & 1 ? neo_expr_axes(p->m, factor_of(p, x, k)) : 0;
  return axes & ~x->in;
}

/* Points of a tensor: all axes multiplied. */
static double points(const product *p, uint64_t axes) {
  double n = 1;
  for (uint32_t k = 0; k < p->r.axes.n; k++)
    n *= axes >> k & 1 ? p->extent[k] : 1;
  return n;
}

/* Terms of a sum: an axis that an equation gives counts once. */
static double terms(const product *p, uint64_t axes) {
  return points(p, axes & ~p->keys.axes);
}

static double cost_of(const product *p, uint32_t chosen) {
  double c = 0;
  for (uint32_t k = 0; k < p->n; k++)
    c += chosen >> k & 1 ? p->cost[k] : 0;
  return c;
}

static uint64_t bound_axes(const product *p, uint32_t k) {
  return neo_expr_axes(p->m, p->axis[k].lo) | neo_expr_axes(p->m, p->axis[k].hi);
}

/* Can the part be a definition? Its axes run from 0 to a size, ranges of the reduced ones depend on
 * nothing else, and conditions are on its own axes alone. */
static bool stands(const product *p, const part *x) {
  uint64_t inside = x->axes | x->in;
  int64_t lo;
  neo_expr where = where_of(p, x);
  if (where.i && neo_expr_axes(p->m, where) & ~x->axes)
    return false;
  for (uint32_t k = 0; k < p->r.axes.n; k++) {
    if (x->axes >> k & 1 && (bound_axes(p, k) || !neo_expr_is_int(p->m, p->axis[k].lo, &lo) || lo))
      return false;
    if (x->in >> k & 1 && bound_axes(p, k) & ~inside)
      return false;
    if (!(x->in >> k & 1) && bound_axes(p, k) & x->in)
      return false;
  }
  return true;
}

/* Has every axis an iteration? */
static bool never_empty(const product *p) {
  for (uint32_t k = 0; k < p->r.axes.n; k++) {
    neo_facts f = {.axes = p->axis, .n_axes = k};
    neo_expr some = neo_op2(p->m, NEO_OP_LT, p->axis[k].lo, p->axis[k].hi);
    if (!neo_proves(p->prover, &f, some))
      return false;
  }
  return true;
}

/* ---- conditions */

enum { MOST_CONJUNCTS = 8 };

/* Splits the condition into what mentions these axes and the rest; 0: nothing. False: too many
 * parts. */
static bool split_condition(const product *p, uint64_t axes, neo_expr *about, neo_expr *rest) {
  neo_expr all[MOST_CONJUNCTS], of[2][MOST_CONJUNCTS];
  uint32_t n = 0, n_of[2] = {0};
  if (!neo_conjuncts_of(p->m, p->r.where, all, &n, MOST_CONJUNCTS))
    return false;
  for (uint32_t k = 0; k < n; k++) {
    bool asks = neo_expr_axes(p->m, all[k]) & axes;
    of[asks][n_of[asks]++] = all[k];
  }
  *about = neo_conjunction(p->m, of[1], n_of[1]);
  *rest = neo_conjunction(p->m, of[0], n_of[0]);
  return true;
}

/* Does the condition hold somewhere along these axes, given its parts on other axes? If not, the
 * sum is empty, and its part of 0 might be multiplied by infinity. */
static bool takes_some(const product *p, uint64_t in) {
  neo_expr about, rest, lo, hi, left;
  if (!split_condition(p, in, &about, &rest))
    return false;
  if (!about.i)
    return true;
  uint64_t asked = neo_expr_axes(p->m, about) & in;
  uint32_t k = (uint32_t)__builtin_ctzll(asked);
  neo_facts f = {p->axis, p->r.axes.n, &rest, rest.i != 0};
  if (asked & (asked - 1) || !neo_tighten(p->prover, &f, k, about, &lo, &hi, &left) || left.i)
    return false;
  return neo_proves(p->prover, &f, neo_op2(p->m, NEO_OP_LT, lo, hi));
}

/* ---- checking a part */

typedef struct {
  const product *p;
  bool safe;
} read_check;

static void check_read(void *ctx, neo_expr e) {
  read_check *c = ctx;
  neo_module *m = c->p->m;
  const neo_node n = *neo_expr_node(m, e);
  neo_facts f = {.axes = c->p->axis, .n_axes = c->p->r.axes.n};
  for (uint32_t k = 0; n.op == NEO_OP_LOAD && k < n.arg.n && c->safe; k++)
    c->safe = neo_proves_index(c->p->prover, &f, neo_list_expr(m, n.arg, k),
                               neo_tensor_extent(m, (neo_tensor){n.attr}, k));
}

/* May the part be computed without the condition? */
static bool part_stands(const product *p, const part *x) {
  read_check c = {p, true};
  for (uint32_t k = 0; p->r.where.i && k < p->n; k++)
    if (x->chosen >> k & 1)
      neo_expr_visit(p->m, factor_of(p, x, k), check_read, &c);
  return c.safe;
}

/* May these factors be computed without the condition? */
static bool reads_stand(const product *p, uint32_t chosen) {
  part x = {.chosen = chosen};
  return part_stands(p, &x);
}

/* May the remaining sum be computed without the condition, which goes with the part? */
static bool left_stands(const product *p, const part *x, uint32_t left) {
  for (uint32_t k = 0; k < p->r.axes.n; k++)
    if (!(x->in >> k & 1) && bound_axes(p, k) & x->in)
      return false;
  return reads_stand(p, left);
}

static neo_expr available_part(const product *p, const part *x, uint32_t candidates) {
  neo_expr factor[SETS_OF_FACTORS];
  neo_sum_query q = {.reader = p->def, .axis = p->axis, .in = x->in, .factor = factor};
  for (uint32_t k = 0; k < p->n; k++)
    if (x->chosen >> k & 1)
      factor[q.n++] = p->factor[k];
  q.where = p->r.where;
  q.prover = p->prover;
  if (q.n < 2 || !left_stands(p, x, candidates & ~x->chosen) || !takes_some(p, x->in))
    return (neo_expr){0};
  return neo_available_sum(p->m, &q);
}

enum { TENSOR_COST = 4 }; /* operations that an element costs, written and read */

/* Factors without a reduction axis in a sum of the program's own. They stay with the part, which
 * without them may leave the range of its type. */
static uint32_t along(const product *p, uint32_t candidates) {
  uint32_t free = 0;
  for (uint32_t k = 0; k < p->n && p->r.as_written; k++)
    if (candidates >> k & 1 && !(p->uses[k] & p->reds))
      free |= 1u << k;
  return free;
}

/* May the part be read at the keys? The remaining sum keeps the whole condition. */
static bool stands_at_keys(const product *p, const part *x) {
  return p->keys.within && !(neo_expr_axes(p->m, p->r.where) & x->in) && stands(p, x) &&
         part_stands(p, x);
}

/* The cost of the sum with the part; 0: the part is not possible. */
static double cost_with(const product *p, uint32_t candidates, part *x) {
  x->axes = axes_of_part(p, x);
  if (x->at_keys ? !stands_at_keys(p, x) : !x->known.i && !stands(p, x))
    return 0;
  double cost = terms(p, p->outs | (p->reds & ~x->in)) * (cost_of(p, candidates & ~x->chosen) + 2);
  if (!x->known.i)
    cost +=
        points(p, x->axes | x->in) * (cost_of(p, x->chosen) + 1) + points(p, x->axes) * TENSOR_COST;
  return cost;
}

/* The best part, if it halves the arithmetic. */
static bool find_part(const product *p, uint32_t candidates, part *best) {
  double all = terms(p, p->outs | p->reds) * (cost_of(p, candidates) + 1), least = all / 2;
  bool found = false, full = never_empty(p);
  for (uint64_t in = p->reds; in && full; in = (in - 1) & p->reds) {
    part x = {.in = in};
    for (uint32_t k = 0; k < p->n; k++)
      if (candidates >> k & 1 && p->uses[k] & in)
        x.chosen |= 1u << k;
    x.chosen |= x.chosen ? along(p, candidates) : 0;
    if (in == p->reds || x.chosen == candidates || !x.chosen)
      continue;
    x.axes = axes_of_part(p, &x);
    x.known = available_part(p, &x, candidates);
    for (int keys = x.known.i ? 1 : 0; keys < 2; keys++) {
      x.at_keys = !x.known.i && keys == 0;
      double cost = cost_with(p, candidates, &x);
      if (cost > 0 && cost < least) {
        least = cost;
        *best = x;
        found = true;
      }
    }
  }
  return found;
}

/* ---- writing the definitions */

static neo_expr times(neo_module *m, neo_expr a, neo_expr b) {
  return a.i && b.i ? neo_op2(m, NEO_OP_MUL, a, b) : a.i ? a : b;
}

/* first * the chosen factors * last; either may be missing. */
static neo_expr product_with(const product *p, neo_expr first, uint32_t chosen, neo_expr last) {
  neo_expr e = first;
  for (uint32_t k = 0; k < p->n; k++)
    if (chosen & ~p->inverse & 1u << k)
      e = times(p->m, e, p->factor[k]);
  e = times(p->m, e, last);
  for (uint32_t k = 0; k < p->n; k++)
    if (chosen & p->inverse & 1u << k)
      e = neo_op2(p->m, NEO_OP_DIV, e, p->factor[k]);
  return e;
}

static neo_expr product_of(const product *p, uint32_t chosen) {
  return product_with(p, (neo_expr){0}, chosen, (neo_expr){0});
}

static neo_expr signed_product(const product *p, neo_expr first, uint32_t chosen, neo_expr last) {
  neo_expr e = product_with(p, first, chosen, last);
  return p->negative ? neo_op1(p->m, NEO_OP_NEG, e) : e;
}

static neo_list axes_list(const product *p, uint64_t first, uint64_t then, neo_expr *by) {
  uint32_t ids[NEO_DEF_AXES], n = 0;
  for (int round = 0; round < 2; round++)
    for (uint32_t k = 0; k < p->r.axes.n; k++)
      if ((round ? then : first) >> k & 1) {
        by[k] = neo_axis_ref(p->m, n);
        ids[n++] = k;
      }
  for (uint32_t k = 0; k < n; k++) {
    neo_axis_rec x = p->axis[ids[k]];
    x.lo = neo_expr_subst_axes(p->m, x.lo, by, p->r.axes.n);
    x.hi = neo_expr_subst_axes(p->m, x.hi, by, p->r.axes.n);
    ids[k] = neo_axis_add(p->m, x).i;
  }
  return neo_list_new(p->m, ids, n);
}

/* Defines the part; returns its element over the axes of the current definition. */
static neo_expr define_part(const product *p, const part *x) {
  neo_module *m = p->m;
  neo_expr by[NEO_DEF_AXES] = {{0}}, index[NEO_DEF_AXES], body = product_of(p, x->chosen);
  if (x->at_keys)
    body = read_at_keys(p, body);
  neo_partial y = {.prefix = "partial", .of = p->def, .reducer = NEO_RED_SUM};
  uint32_t n = 0;
  y.axes = axes_list(p, x->axes, x->in, by);
  y.n_out = (uint32_t)__builtin_popcountll(x->axes);
  y.where = where_of(p, x);
  if (y.where.i)
    y.where = neo_expr_subst_axes(m, y.where, by, p->r.axes.n);
  y.body = neo_expr_subst_axes(m, body, by, p->r.axes.n);
  neo_tensor t = neo_partial_define(m, &y);
  for (uint32_t k = 0; k < p->r.axes.n; k++)
    if (x->axes >> k & 1)
      index[n++] = neo_axis_ref(m, k);
  return neo_load(m, t, index, n, p->r.span);
}

static neo_expr put_acc(void *ctx, neo_module *m, neo_expr e) {
  const neo_expr *value = ctx;
  return neo_expr_node(m, e)->op == NEO_OP_ACC ? *value : e;
}

/* Sets `finish`, with `value` in place of the accumulator. */
static void set_finish(product *p, neo_def_rec *r, neo_expr value) {
  neo_expr e = neo_expr_rewrite(p->m, neo_list_expr(p->m, r->finish, 0), put_acc, &value);
  r->finish = neo_list_one(p->m, e.i);
}

/* Makes the definition the sum of the factors `left` times the part. */
static void sum_of_part(product *p, uint32_t left, const part *x) {
  neo_expr t = x->known.i ? x->known : define_part(p, x), by[NEO_DEF_AXES] = {{0}};
  neo_def_rec r = p->r;
  uint64_t reds = p->reds & ~x->in;
  neo_expr asked;
  if (x->known.i && !split_condition(p, x->in, &asked, &r.where))
    return;
  neo_expr body = signed_product(p, (neo_expr){0}, left & ~x->chosen, t);
  r.axes = axes_list(p, p->outs, reds, by);
  if (r.where.i)
    r.where = neo_expr_subst_axes(p->m, r.where, by, p->r.axes.n);
  body = neo_expr_subst_axes(p->m, body, by, p->r.axes.n);
  r.body = neo_list_one(p->m, body.i);
  *neo_def_at(p->m, p->def) = r;
  neo_embed_def(p->prover, p->def);
}

/* ---- factors that leave the whole sum */

/* Is it an integer over sizes, from 1 to 2^24? */
static bool is_count(const product *p, neo_expr e) {
  int64_t lo, hi;
  const neo_node *n = neo_expr_node(p->m, e);
  if (n->op != NEO_OP_CAST || neo_expr_type(p->m, neo_expr_arg(p->m, e, 0)) != NEO_I64_T)
    return false;
  return neo_interval(p->prover, NULL, neo_expr_arg(p->m, e, 0), &lo, &hi) && lo >= 1 &&
         hi <= 1 << MOST_SCALE;
}

/* Is it a constant of moderate size, which even a sum of the program's own may be multiplied by? */
static bool is_scale(const product *p, neo_expr e) {
  double x;
  neo_op op = (neo_op)neo_expr_node(p->m, e)->op;
  if (op == NEO_OP_SQRT || op == NEO_OP_RSQRT)
    return is_scale(p, neo_expr_arg(p->m, e, 0));
  if (neo_expr_is_float(p->m, e, &x))
    return fabs(x) >= ldexp(1, -MOST_SCALE) && fabs(x) <= ldexp(1, MOST_SCALE);
  return is_count(p, e);
}

/* Is the factor finite, so that 0 times it is 0? */
static bool is_finite(const product *p, uint32_t k) {
  double x;
  return neo_expr_is_float(p->m, p->factor[k], &x) && isfinite(x) &&
         (!(p->inverse >> k & 1) || x != 0);
}

/* Is the condition on output axes alone, and do no reads need it? */
static bool where_leaves(const product *p) {
  return p->r.where.i && !(neo_expr_axes(p->m, p->r.where) & p->reds) &&
         reads_stand(p, (1u << p->n) - 1);
}

/* Does a condition on data leave, so that the sum is a matrix product? A condition on indices
 * stays: it may be a range that a kernel does not visit. */
static bool chooses_results(const product *p) {
  return where_leaves(p) && neo_expr_uses_op(p->m, p->r.where, NEO_OP_LOAD);
}

/* Factors that no reduction axis changes: constants, or others. In the program's own sums they
 * stay, since the sum without one may leave the range of the type: x/m in sum[i] (x[i]/m)^2. */
static uint32_t outside(const product *p, bool constants) {
  uint32_t chosen = 0;
  if (p->r.as_written && !constants)
    return 0;
  bool any = (!p->r.where.i || (!constants && where_leaves(p))) && never_empty(p);
  for (uint32_t k = 0; k < p->n; k++)
    if (!(p->uses[k] & p->reds) && is_constant(p, p->factor[k]) == constants &&
        (any || is_finite(p, k)) && (!p->r.as_written || is_scale(p, p->factor[k])))
      chosen |= 1u << k;
  return chosen;
}

/* Makes the definition elementwise over its whole sum. */
static void whole_as_part(product *p, uint32_t out, uint32_t left) {
  part x = {.in = p->reds, .axes = p->outs, .chosen = left};
  neo_expr where = p->r.where, by[NEO_DEF_AXES] = {{0}};
  p->r.where = (neo_expr){0};
  neo_def_rec r = p->r;
  neo_expr y = signed_product(p, define_part(p, &x), out, (neo_expr){0});
  if (where.i)
    y = neo_op3(p->m, NEO_OP_SELECT, where, y, neo_const_float(p->m, neo_expr_type(p->m, y), 0));
  set_finish(p, &r, y);
  r.axes = axes_list(p, p->outs, 0, by);
  r.reducer = NEO_RED_NONE;
  r.body = (neo_list){0};
  *neo_def_at(p->m, p->def) = r;
  neo_embed_def(p->prover, p->def);
}

static bool is_chosen(const product *p, neo_expr e, uint32_t chosen) {
  for (uint32_t k = 0; k < p->n; k++)
    if (chosen >> k & 1 && p->factor[k].i == e.i)
      return true;
  return false;
}

/* The term without signs and constant factors `out`, otherwise in its order; 0: nothing remains. */
static neo_expr without(const product *p, neo_expr e, uint32_t out) {
  const neo_node n = *neo_expr_node(p->m, e);
  if (n.op == NEO_OP_NEG)
    return without(p, neo_list_expr(p->m, n.arg, 0), out);
  if (n.op == NEO_OP_MUL)
    return times(p->m, without(p, neo_list_expr(p->m, n.arg, 0), out),
                 without(p, neo_list_expr(p->m, n.arg, 1), out));
  if (n.op == NEO_OP_DIV && is_constant(p, neo_list_expr(p->m, n.arg, 1))) {
    neo_expr by = neo_list_expr(p->m, n.arg, 1), x = without(p, neo_list_expr(p->m, n.arg, 0), out);
    if (is_chosen(p, by, out & p->inverse))
      return x;
    x = x.i ? x : neo_const_float(p->m, (neo_type)n.type, 1);
    return neo_op2(p->m, NEO_OP_DIV, x, by);
  }
  return is_chosen(p, e, out & ~p->inverse) ? (neo_expr){0} : e;
}

/* Moves constants after the sum, in place. */
static void constants_last(product *p, uint32_t out, uint32_t left) {
  neo_expr body = p->r.as_written ? without(p, p->term, out) : product_of(p, left);
  neo_expr acc = neo_acc_ref(p->m, neo_expr_type(p->m, body), 0);
  set_finish(p, &p->r, signed_product(p, acc, out, (neo_expr){0}));
  p->r.body = neo_list_one(p->m, body.i);
  p->negative = false;
  *neo_def_at(p->m, p->def) = p->r;
}

/* Factorises definition d; `whole`: it stays one definition. */
static void definition(neo_module *m, neo_prover *prover, neo_def d, bool whole) {
  product p = {.m = m, .prover = prover};
  part x;
  if (!match(&p, d))
    return;
  uint32_t all = (1u << p.n) - 1, out = outside(&p, true), left = all & ~out;
  if (!(left & ~p.inverse) || (__builtin_popcount(left) < 2 && !(out & p.inverse)))
    return;
  if (out || p.negative)
    constants_last(&p, out, left);
  if (whole || __builtin_popcount(left) < 2)
    return;
  out = outside(&p, false);
  left &= ~out;
  x = (part){.in = p.reds, .axes = p.outs};
  if ((out || chooses_results(&p)) && left & ~p.inverse && stands(&p, &x))
    whole_as_part(&p, out, left);
  else if (find_part(&p, left | out, &x))
    sum_of_part(&p, left | out, &x);
}

neo_status neo_pass_factor(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  for (uint32_t k = 1; k < m->defs.n; k++) { /* parts may have parts */
    neo_prover_at(pass->p, m->defs.at[k].span);
    definition(m, pass->p, (neo_def){k}, k < pass->n_defs && pass->number[k]);
  }
  return NEO_OK;
}

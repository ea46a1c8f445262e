/* Index-set splitting of sums of products (transform/sum_parts.h).
 *
 * A sum with terms only for some values of an output axis is computed for these, without the
 * condition:
 *
 *     G[i: 912, j] = sum[t] where i < 128; d[t, j]*h[t, i]
 *     ->
 *     split.G[i: 128, j] = sum[t] d[t, j]*h[t, i]
 *     G[i, j] = select(i < 128, split.G[i, j], 0)
 *
 * (The gradient of a matrix of which several products read a part is a sum of these.) A product's
 * tile has all rows, and would multiply where the condition fails.
 *
 * A sum over concatenated operands becomes one over each, if the sum is in a recurrence and one
 * operand is not, so that the latter's sum can leave the loops (transform/distribute.c):
 *
 *     v[t, k: 912] = select(k < 128, h[t-1, k], x[t, k - 128])
 *     z[t, j] = sum[k: 912] v[t, k]*W[k, j]
 *     ->
 *     split.z[t, j] = sum[k: 784] x[t, k]*W[k + 128, j]
 *     z[t, j] = split.z[t, j] + sum[k: 128] h[t-1, k]*W[k, j]
 *
 * Other sums stay: a condition costs once a term, and parts would be stored. */
#include "ir/comparison.h"
#include "ir/component.h"
#include "transform/sum_parts.h"
#include "transform/transform.h"

enum { MOST_CONDITIONS = 16, LEAST_LEFT_OUT = 8, LEAST_TERMS = 8, MOST_SPLITS = 8 };

typedef struct {
  neo_module *m;
  neo_prover *prover;
  const uint32_t *number; /* recurrences by definition, as before the pass */
  uint32_t n_defs;
} splitting;

static uint32_t recurrence_of(const splitting *x, uint32_t def) {
  return def < x->n_defs ? x->number[def] : 0;
}

/* ---- conditions on output axes */

/* Divides `where` into conditions on axis k alone, and the rest. */
static bool said_of(const neo_whole_sum *s, uint32_t k, neo_expr *own, neo_expr *others) {
  neo_module *m = s->m;
  neo_expr is[MOST_CONDITIONS], is_not[MOST_CONDITIONS];
  uint32_t n = 0;
  if (!neo_conjuncts_of(m, s->r.where, is, &n, MOST_CONDITIONS))
    return false;
  for (uint32_t i = 0; i < n; i++) {
    bool alone = neo_expr_axes(m, is[i]) == (uint64_t)1 << k && !neo_expr_has_loads(m, is[i]);
    is_not[i] = alone ? (neo_expr){0} : is[i];
    is[i] = alone ? is[i] : (neo_expr){0};
  }
  *own = neo_conjunction(m, is, n);
  *others = neo_conjunction(m, is_not, n);
  return own->i != 0;
}

/* Is it a nonempty range, much shorter than the axis? */
static bool is_restriction(const neo_whole_sum *s, uint32_t k, neo_expr lo, neo_expr hi) {
  neo_module *m = s->m;
  int64_t least, most, extent, end;
  neo_expr taken = neo_op2(m, NEO_OP_SUB, hi, lo);
  return !neo_expr_axes(m, taken) && neo_interval(s->prover, NULL, taken, &least, &most) &&
         neo_interval(s->prover, NULL, s->axis[k].hi, &extent, &end) && least > 0 &&
         most <= extent - extent / LEAST_LEFT_OUT && most < extent;
}

static bool restrict_axis(neo_whole_sum *s, uint32_t k) {
  neo_module *m = s->m;
  neo_expr own, others, lo = s->axis[k].lo, hi = s->axis[k].hi, rest;
  neo_facts f = {.axes = s->axis, .n_axes = k + 1};
  if (!neo_sum_is_plain_axis(s, k) || !said_of(s, k, &own, &others) ||
      !neo_tighten(s->prover, &f, k, own, &lo, &hi, &rest) || rest.i ||
      !is_restriction(s, k, lo, hi))
    return false;
  neo_expr body = neo_list_expr(m, s->r.body, 0);
  neo_type type = neo_expr_type(m, body);
  neo_expr zero = neo_const_int(m, type, 0);
  s->r.where = others;
  neo_sum_part part = neo_sum_part_of(s, k, lo, neo_op2(m, NEO_OP_SUB, hi, lo));
  neo_expr value = neo_sum_part_define(s, "split", &part, k, lo);
  neo_sum_become(s, NULL, neo_op3(m, NEO_OP_SELECT, own, value, zero));
  return true;
}

/* Defines the parts, which may have conditions on other axes. */
static void restrict_output(splitting *x, neo_def d) {
  neo_whole_sum s;
  if (!neo_whole_sum_of(x->m, x->prover, d, &s) || !s.r.where.i || s.r.out.n != 1 ||
      !neo_sum_is_product(&s) || !neo_sum_is_box(&s))
    return;
  for (uint32_t k = 0; k < s.r.n_out; k++)
    if (restrict_axis(&s, k))
      return;
}

/* ---- concatenated operands */

/* The value of a tensor that selects, element by element, which other one to read. */
static neo_expr choice_of(splitting *x, neo_expr e) {
  neo_module *m = x->m;
  neo_node n = *neo_expr_node(m, e);
  neo_expr index[NEO_SUM_AXES];
  const neo_tensor_rec *t = neo_tensor_at(m, (neo_tensor){n.attr});
  if (n.op != NEO_OP_LOAD || t->role != NEO_ROLE_TEMP || t->pieces.n != 1)
    return e;
  uint32_t id = neo_list_at(m, t->pieces, 0);
  const neo_def_rec *d = neo_def_at(m, (neo_def){id});
  if (!recurrence_of(x, id) || d->reducer != NEO_RED_NONE || d->out.n != 1 || d->out_map.n)
    return e;
  neo_expr value = neo_list_expr(m, d->finish, 0);
  if (neo_expr_node(m, value)->op != NEO_OP_SELECT ||
      neo_expr_uses_op(m, neo_expr_arg(m, value, 0), NEO_OP_LOAD))
    return e;
  for (uint32_t k = 0; k < n.arg.n; k++)
    index[k] = neo_list_expr(m, n.arg, k);
  return neo_expr_subst_axes(m, value, index, n.arg.n);
}

static neo_expr look_through(void *ctx, neo_module *m, neo_expr e) {
  (void)m;
  return choice_of(ctx, e);
}

typedef struct {
  const neo_whole_sum *s;
  uint32_t conditions; /* conditions of the body */
  uint32_t at;         /* an axis */
  neo_expr first;      /* first value with another answer of a condition; 0: none found */
} choice_look;

/* Has the range of axis k enough terms on both sides of the value? */
static bool divides(const choice_look *c, uint32_t k, neo_expr value) {
  const neo_whole_sum *s = c->s;
  neo_facts none = {0};
  int64_t least, most;
  neo_expr rest = neo_op2(s->m, NEO_OP_SUB, s->axis[k].hi, value);
  return neo_sum_is_plain_axis(s, k) && neo_interval(s->prover, &none, value, &least, &most) &&
         least >= LEAST_TERMS && neo_interval(s->prover, &none, rest, &least, &most) &&
         least >= LEAST_TERMS;
}

/* Looks at conditions on one axis with coefficient 1 or -1: f >= 0. */
static void look_comparison(choice_look *c, const neo_linear *f) {
  neo_module *m = c->s->m;
  neo_linear axis, rest;
  for (uint32_t i = 0; i < f->n; i++) {
    const neo_node *atom = neo_expr_node(m, f->term[i].atom);
    int64_t sign = f->term[i].coef;
    if (atom->op != NEO_OP_AXIS || (sign != 1 && sign != -1) || atom->attr >= c->s->n ||
        !neo_linear_of(m, f->term[i].atom, &axis) || !neo_linear_add(f, -sign, &axis, &rest))
      continue;
    neo_expr value = neo_linear_expr(m, &rest), zero = neo_const_i64(m, 0);
    value = sign > 0 ? neo_op2(m, NEO_OP_SUB, zero, value)
                     : neo_op2(m, NEO_OP_ADD, value, neo_const_i64(m, 1));
    if (neo_expr_axes(m, value) || neo_expr_uses_op(m, value, NEO_OP_LOAD) ||
        !divides(c, atom->attr, value))
      continue;
    c->at = atom->attr;
    c->first = value;
  }
}

static void look_choice(void *ctx, neo_expr e) {
  choice_look *c = ctx;
  neo_module *m = c->s->m;
  neo_linear f;
  if (neo_expr_node(m, e)->op != NEO_OP_SELECT)
    return;
  c->conditions++;
  if (neo_comparison_of(m, neo_expr_arg(m, e, 0), &f) == NEO_AT_LEAST_0)
    look_comparison(c, &f);
}

static choice_look choices_of(const neo_whole_sum *s, neo_expr body) {
  choice_look c = {.s = s};
  neo_expr_visit(s->m, body, look_choice, &c);
  return c;
}

typedef struct {
  const splitting *x;
  uint32_t own;
  bool read;
} recurrence_look;

static void look_recurrence(void *ctx, neo_expr e) {
  recurrence_look *r = ctx;
  const neo_module *m = r->x->m;
  const neo_node *n = neo_expr_node(m, e);
  if (!neo_node_is_load(n))
    return;
  neo_list pieces = neo_tensor_at(m, (neo_tensor){n->attr})->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    r->read = r->read || recurrence_of(r->x, neo_list_at(m, pieces, k)) == r->own;
}

static bool reads_recurrence(const splitting *x, uint32_t own, neo_expr e) {
  recurrence_look r = {.x = x, .own = own};
  neo_expr_visit(x->m, e, look_recurrence, &r);
  return r.read;
}

/* Both parts of an axis that a select divides. */
typedef struct {
  uint32_t at;
  neo_expr first; /* first value of the second part */
  neo_sum_part part[2];
} two_parts;

static bool divide(const neo_whole_sum *s, two_parts *y) {
  neo_module *m = s->m;
  choice_look c = choices_of(s, neo_list_expr(m, s->r.body, 0));
  if (!c.first.i)
    return false;
  y->at = c.at;
  y->first = c.first;
  y->part[0] = neo_sum_part_of(s, c.at, neo_const_i64(m, 0), c.first);
  y->part[1] = neo_sum_part_of(s, c.at, c.first, neo_op2(m, NEO_OP_SUB, s->axis[c.at].hi, c.first));
  for (int k = 0; k < 2; k++)
    if (choices_of(s, y->part[k].body).conditions >= c.conditions)
      return false;
  return true;
}

/* Splits the terms; the part that reads the recurrence stays. */
static bool divide_terms(splitting *x, neo_whole_sum *s, uint32_t own, const two_parts *y) {
  bool needs[2];
  for (int k = 0; k < 2; k++)
    needs[k] = reads_recurrence(x, own, y->part[k].body);
  if (!own || needs[0] == needs[1])
    return false;
  neo_expr none = {0};
  neo_expr rest = neo_sum_part_define(s, "split", &y->part[needs[0]], NEO_SUM_AXES, none);
  neo_sum_become(s, &y->part[needs[1]], rest);
  return true;
}

static bool divide_output(neo_whole_sum *s, const two_parts *y) {
  neo_module *m = s->m;
  neo_expr zero = neo_const_i64(m, 0);
  neo_expr a = neo_sum_part_define(s, "split", &y->part[0], y->at, zero);
  neo_expr b = neo_sum_part_define(s, "split", &y->part[1], y->at, y->first);
  neo_expr is_first = neo_op2(m, NEO_OP_LT, neo_axis_ref(m, y->at), y->first);
  neo_sum_become(s, NULL, neo_op3(m, NEO_OP_SELECT, is_first, a, b));
  return true;
}

/* Splits along a reduction axis in a recurrence, along an output axis outside. True: changed. */
static bool divide_operands(splitting *x, neo_def d) {
  neo_whole_sum s;
  two_parts y;
  uint32_t own = recurrence_of(x, d.i);
  if (!neo_whole_sum_of(x->m, x->prover, d, &s) || s.r.out.n != 1)
    return false;
  neo_expr body = neo_list_expr(x->m, s.r.body, 0);
  body = neo_expr_rewrite(x->m, body, look_through, x);
  s.r.body = neo_list_one(x->m, body.i);
  if (!neo_sum_is_product(&s) || !neo_sum_is_box(&s) || !divide(&s, &y))
    return false;
  if (y.at >= s.r.n_out)
    return divide_terms(x, &s, own, &y);
  return !own && divide_output(&s, &y);
}

neo_status neo_pass_split_sums(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  splitting x = {.m = m, .prover = pass->p, .number = pass->number, .n_defs = pass->n_defs};
  for (uint32_t k = 1; k < m->defs.n; k++) { /* parts too */
    neo_prover_at(x.prover, m->defs.at[k].span);
    for (int n = 0; n < MOST_SPLITS && divide_operands(&x, (neo_def){k}); n++)
      ;
    if (!recurrence_of(&x, k))
      restrict_output(&x, (neo_def){k});
  }
  return NEO_OK;
}

/* Mixed-radix digits: / and % by a positive n (a constant, a size, a product of sizes, any
 * polynomial that is proved positive).
 *
 * x = q*n + r by polynomial division. If 0 <= r < n is proved, x/n = q and x%n = r; this undoes
 * flattening, whatever the radixes. Otherwise x/n = q + r/n and x%n = r%n, which is exact for floor
 * division, and gives equal atoms for expressions that were written differently. But r may be
 * larger than x, and leave i64 where x does not. */
#include "ir/prove/scope.h"

/* ---- positive divisors */

bool neo_prover_unquotient(neo_prover_scope *s, neo_poly *g) {
  neo_poly x, c;
  int64_t k;
  bool alone = g->n == 1 && g->term[0].n == 1 && g->term[0].coef == 1;
  neo_expr v = {alone ? g->term[0].atom[0] : 0};
  if (!alone || neo_expr_node(s->m, v)->op != NEO_OP_DIV)
    return false;
  neo_prover_form(s, neo_expr_arg(s->m, v, 0), &x);
  neo_prover_form(s, neo_expr_arg(s->m, v, 1), &c);
  if (c.n || c.constant <= 0 || __builtin_mul_overflow(c.constant, g->constant, &k) ||
      __builtin_add_overflow(x.constant, k, &x.constant))
    return false;
  neo_poly_copy(g, &x);
  return true;
}

/* g >= 0 with g = n*q - c and c >= 1: n is not 0. */
static bool has_factor(neo_prover_scope *s, const neo_poly *g, const neo_poly *n) {
  neo_poly product, q, rest;
  neo_poly_copy(&product, g);
  while (neo_prover_unquotient(s, &product)) {
  }
  if (product.constant >= 0)
    return false;
  product.constant = 0;
  return product.n && neo_poly_divide(&product, n, &q, &rest) && rest.n == 0 && rest.constant == 0;
}

bool neo_prover_points_of_axis(neo_prover_scope *s, uint32_t axis, neo_poly *g) {
  neo_poly lo, hi;
  neo_prover_form(s, s->axes[axis].lo, &lo);
  neo_prover_form(s, s->axes[axis].hi, &hi);
  return neo_poly_add(&hi, -1, &lo, g) && !__builtin_sub_overflow(g->constant, 1, &g->constant);
}

/* The axes that e depends on, and the axes that their bounds depend on. All of them have points
 * wherever e has a value. */
static uint64_t axes_around(const neo_prover_scope *s, neo_expr e) {
  uint64_t axes = neo_expr_axes(s->m, e);
  for (uint32_t k = s->n_axes; k-- > 0;)
    if (axes >> k & 1)
      axes |= neo_expr_axes(s->m, s->axes[k].lo) | neo_expr_axes(s->m, s->axes[k].hi);
  return axes;
}

static bool divides_element(neo_prover_scope *s, const neo_poly *n, neo_expr e);

/* Whether n is a factor of the bound of an element v, or of an element that v is a digit of.
 * Elements are in [0, bound). */
static bool has_factor_of_bound(neo_prover_scope *s, const neo_poly *n, neo_expr v) {
  const neo_node *node = neo_expr_node(s->m, v);
  neo_poly g;
  if (node->op == NEO_OP_DIV || node->op == NEO_OP_MOD)
    return divides_element(s, n, v);
  if (node->op != NEO_OP_LOAD)
    return false;
  neo_expr bound = neo_tensor_at(s->m, (neo_tensor){node->attr})->bound;
  if (!bound.i)
    return false;
  neo_prover_form(s, bound, &g);
  return !__builtin_sub_overflow(g.constant, 1, &g.constant) && has_factor(s, &g, n);
}

/* Whether n is a factor of the bound of an element in the dividend of e. */
static bool divides_element(neo_prover_scope *s, const neo_poly *n, neo_expr e) {
  neo_poly x;
  neo_prover_form(s, neo_expr_arg(s->m, e, 0), &x);
  for (uint32_t k = 0; k < x.n; k++)
    for (uint32_t j = 0; j < x.term[k].n; j++)
      if (has_factor_of_bound(s, n, neo_prover_peel(s, (neo_expr){x.term[k].atom[j]})))
        return true;
  return false;
}

bool neo_prover_divisor(neo_prover_scope *s, const neo_poly *n, neo_expr e) {
  neo_poly g;
  if (neo_prover_at_least(s, n, -1))
    return true;
  if (n->n == 0 || !neo_prover_nonneg(s, n))
    return false;
  for (size_t k = 0; k < s->facts.n; k++)
    if (has_factor(s, s->facts.at[k].g, n))
      return true;
  uint64_t axes = axes_around(s, e);
  for (uint32_t k = 0; k < s->n_axes; k++)
    if (axes >> k & 1 && neo_prover_points_of_axis(s, k, &g) && has_factor(s, &g, n))
      return true;
  return divides_element(s, n, e);
}

/* ---- division */

/* Moves a multiple k*n from r to q if r - k*n is then in [0, n). */
static bool settle(neo_prover_scope *s, const neo_poly *n, neo_poly *q, neo_poly *r) {
  neo_poly a, b;
  if (n->n == 0) {
    neo_range x = neo_prover_bounds(s, r);
    if (x.lo == INT64_MIN || x.hi == INT64_MAX)
      return false;
    int64_t k = neo_div_floor(x.lo, n->constant), whole;
    if (k != neo_div_floor(x.hi, n->constant) || __builtin_mul_overflow(k, n->constant, &whole) ||
        __builtin_sub_overflow(r->constant, whole, &r->constant))
      return false;
    return !__builtin_add_overflow(q->constant, k, &q->constant);
  }
  for (int64_t k = 0; k >= -1; k--) { /* r itself, r + n */
    if (!neo_poly_add(r, -k, n, &a) || !neo_poly_add(n, -1, &a, &b))
      return false;
    if (!neo_prover_nonneg(s, &a) || !neo_prover_at_least(s, &b, -1))
      continue;
    neo_poly_copy(r, &a);
    return !__builtin_add_overflow(q->constant, k, &q->constant);
  }
  return false;
}

static bool is_atom(const neo_poly *g) {
  return g->n == 1 && g->constant == 0 && g->term[0].n == 1 && g->term[0].coef == 1;
}

/* (y/c)/n -> y/(c*n);  (y%c)%n -> y%n where n divides c. Changes r and n. */
static bool unnest(neo_prover_scope *s, neo_op op, neo_poly *n, neo_poly *r) {
  neo_poly c, q, rest;
  if (!is_atom(r))
    return false;
  neo_expr inner = {r->term[0].atom[0]};
  if (neo_expr_node(s->m, inner)->op != op)
    return false;
  neo_prover_form(s, neo_expr_arg(s->m, inner, 1), &c);
  if (op == NEO_OP_DIV) {
    if (!neo_prover_at_least(s, &c, -1) || !neo_poly_mul(&c, n, &q))
      return false;
    neo_poly_copy(n, &q);
  } else if (!neo_prover_at_least(s, &c, -1) || !neo_poly_divide(&c, n, &q, &rest) || rest.n ||
             rest.constant) {
    return false;
  }
  neo_prover_form(s, neo_expr_arg(s->m, inner, 0), r);
  return true;
}

/* Whether g, written as an expression, has its exact value. It has not if an operation leaves
 * i64. */
static bool prover_is_exact(neo_prover_scope *s, const neo_poly *g) {
  bool atom = g->n == 1 && g->constant == 0 && g->term[0].n == 1 && g->term[0].coef == 1;
  return atom || neo_range_fits(neo_prover_box(s, g), NEO_I64_T);
}

/* r/n or r%n as an expression; false: one of them may leave i64, and would wrap there. */
static bool quotient_atom(neo_prover_scope *s, neo_op op, const neo_poly *r, const neo_poly *n,
                          neo_poly *out) {
  if (!prover_is_exact(s, r) || !prover_is_exact(s, n))
    return false;
  neo_expr x = neo_poly_expr(s->m, r), y = neo_poly_expr(s->m, n);
  neo_expr e = neo_op2(s->m, op, x, y);
  int64_t c;
  if (neo_expr_is_int(s->m, e, &c))
    neo_poly_set(out, c);
  else
    neo_poly_atom(out, e);
  return true;
}

static bool divide(neo_prover_scope *s, neo_op op, const neo_poly *x, neo_poly *n, neo_poly *out) {
  neo_poly q, r, atom;
  if (!neo_poly_divide(x, n, &q, &r))
    return false;
  if (settle(s, n, &q, &r)) {
    neo_poly_copy(out, op == NEO_OP_DIV ? &q : &r);
    return true;
  }
  if (unnest(s, op, n, &r)) {
    neo_poly inner;
    if (!divide(s, op, &r, n, &inner))
      return false;
    if (op == NEO_OP_DIV)
      return neo_poly_add(&q, 1, &inner, out);
    neo_poly_copy(out, &inner);
    return true;
  }
  if (!quotient_atom(s, op, &r, n, &atom))
    return false;
  if (op == NEO_OP_DIV)
    return neo_poly_add(&q, 1, &atom, out);
  neo_poly_copy(out, &atom);
  return true;
}

/* x/-c = (-x)/c and x%-c = -((-x)%c) */
static bool negative(neo_prover_scope *s, neo_op op, const neo_poly *x, int64_t n, neo_poly *out) {
  neo_poly minus, c, y;
  if (n == INT64_MIN || !neo_poly_scale(x, -1, &minus))
    return false;
  neo_poly_set(&c, -n);
  return divide(s, op, &minus, &c, &y) && neo_poly_scale(&y, op == NEO_OP_DIV ? 1 : -1, out);
}

bool neo_digits_form(neo_prover_scope *s, neo_expr e, neo_poly *out) {
  neo_poly x, n;
  neo_op op = (neo_op)neo_expr_node(s->m, e)->op;
  neo_prover_form(s, neo_expr_arg(s->m, e, 0), &x);
  neo_prover_form(s, neo_expr_arg(s->m, e, 1), &n);
  if (n.n == 0 && n.constant == 0) {
    neo_poly_set(out, 0);
    return true;
  }
  if (n.n == 0 && n.constant < 0)
    return negative(s, op, &x, n.constant, out);
  return neo_prover_divisor(s, &n, e) && divide(s, op, &x, &n, out);
}

/* ---- putting together */

/* p = a*v + b with v = x % n: if b = a*n*(x/n) + c, then p is a*x + c. */
static bool merge_quotient(neo_prover_scope *s, neo_expr v, const neo_poly *a, const neo_poly *b,
                           neo_poly *p) {
  neo_poly x, n, an, have, c;
  neo_expr xe = neo_expr_arg(s->m, v, 0), ne = neo_expr_arg(s->m, v, 1);
  neo_expr w = neo_op2(s->m, NEO_OP_DIV, xe, ne);
  if (!neo_poly_uses(b, w.i) || !neo_poly_split(b, w.i, &have, &c))
    return false;
  neo_prover_form(s, ne, &n);
  if (!neo_poly_mul(a, &n, &an) || !neo_poly_equal(&an, &have))
    return false;
  neo_prover_form(s, xe, &x);
  neo_poly y;
  if (!neo_poly_fma(a, &x, &c, &y))
    return false;
  neo_poly_copy(p, &y);
  return true;
}

/* p = a*v + b with v = x % n: if b = a*n*((x/n) % k) + c, then p is a*(x % (n*k)) + c. */
static bool merge_digit(neo_prover_scope *s, neo_expr v, neo_expr w, const neo_poly *a,
                        const neo_poly *b, neo_poly *p) {
  neo_poly n, k, nk, have, c, y;
  neo_expr xe = neo_expr_arg(s->m, v, 0), ne = neo_expr_arg(s->m, v, 1);
  if (neo_expr_node(s->m, w)->op != NEO_OP_MOD)
    return false;
  neo_expr q = neo_op2(s->m, NEO_OP_DIV, xe, ne);
  if (neo_expr_arg(s->m, w, 0).i != q.i || !neo_poly_split(b, w.i, &have, &c))
    return false;
  neo_prover_form(s, ne, &n);
  if (!neo_poly_mul(a, &n, &y) || !neo_poly_equal(&y, &have))
    return false;
  neo_prover_form(s, neo_expr_arg(s->m, w, 1), &k);
  if (!neo_prover_at_least(s, &k, -1) || !neo_poly_mul(&n, &k, &nk) || !prover_is_exact(s, &nk))
    return false;
  neo_expr whole = neo_op2(s->m, NEO_OP_MOD, xe, neo_poly_expr(s->m, &nk));
  neo_poly_atom(&nk, whole);
  if (!neo_poly_fma(a, &nk, &c, &y))
    return false;
  neo_poly_copy(p, &y);
  return true;
}

static bool merge_at(neo_prover_scope *s, neo_expr v, neo_poly *p) {
  neo_poly a, b, n;
  neo_prover_form(s, neo_expr_arg(s->m, v, 1), &n);
  if (!neo_prover_divisor(s, &n, v) || !neo_poly_split(p, v.i, &a, &b))
    return false;
  if (merge_quotient(s, v, &a, &b, p))
    return true;
  for (uint32_t k = 0; k < b.n; k++)
    for (uint32_t j = 0; j < b.term[k].n; j++)
      if (merge_digit(s, v, (neo_expr){b.term[k].atom[j]}, &a, &b, p))
        return true;
  return false;
}

static bool merge_once(neo_prover_scope *s, neo_poly *p) {
  for (uint32_t k = 0; k < p->n; k++)
    for (uint32_t j = 0; j < p->term[k].n; j++) {
      neo_expr v = {p->term[k].atom[j]};
      if (neo_expr_node(s->m, v)->op == NEO_OP_MOD && merge_at(s, v, p))
        return true;
    }
  return false;
}

void neo_digits_merge(neo_prover_scope *s, neo_poly *p) {
  for (int left = 8; p->n > 1 && left > 0 && merge_once(s, p); left--) {
  }
}

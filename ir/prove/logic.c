/* Conditions: the facts that an assumption gives, and whether a goal follows, by polynomials alone.
 *
 * A fact is a polynomial that is not negative. A fact with an axis on top gives weaker ones without
 * it (its shadow on the outer axes), so that i + j < N and 0 <= j also bound i. */
#include "ir/prove/scope.h"

enum { SHADOWS = 3, MAX_FACTS = 64 };

bool neo_prover_compare(neo_prover_scope *s, neo_expr e, neo_poly *g) {
  neo_poly a, b;
  neo_op op = (neo_op)neo_expr_node(s->m, e)->op;
  if (op != NEO_OP_EQ && op != NEO_OP_NE && op != NEO_OP_LT && op != NEO_OP_LE)
    return false;
  neo_expr x = neo_expr_arg(s->m, e, 0), y = neo_expr_arg(s->m, e, 1);
  if (!neo_expr_is_integer(s->m, x))
    return false;
  neo_prover_form(s, x, &a);
  neo_prover_form(s, y, &b);
  if (!neo_poly_add(&b, -1, &a, g))
    return false;
  neo_digits_merge(s, g);
  return op != NEO_OP_LT || !__builtin_sub_overflow(g->constant, 1, &g->constant);
}

/* -g + c */
static bool opposite(const neo_poly *g, int64_t c, neo_poly *out) {
  return neo_poly_scale(g, -1, out) && !__builtin_add_overflow(out->constant, c, &out->constant);
}

/* ---- assumptions */

static bool is_known_fact(const neo_prover_scope *s, const neo_poly *g) {
  for (size_t k = 0; k < s->facts.n; k++)
    if (neo_poly_equal(s->facts.at[k].g, g))
      return true;
  return false;
}

static void add_fact(neo_prover_scope *s, const neo_poly *fact, int shadows);

/* Adds a fact that follows from g >= 0 and lacks its axis `top`: the axis is replaced by the end of
 * its range at which g is largest, hi - 1 or lo. */
static void add_shadow(neo_prover_scope *s, const neo_poly *g, uint32_t top, int shadows) {
  neo_poly a, b, bound, y;
  const neo_node *n = neo_expr_node(s->m, (neo_expr){top});
  if (n->op != NEO_OP_AXIS || n->attr >= s->n_axes)
    return;
  const neo_axis_rec *axis = &s->axes[n->attr];
  if (!neo_poly_split(g, top, &a, &b) || a.n)
    return;
  neo_prover_form(s, a.constant > 0 ? axis->hi : axis->lo, &bound);
  if (a.constant > 0 && __builtin_sub_overflow(bound.constant, 1, &bound.constant))
    return;
  if (neo_poly_fma(&a, &bound, &b, &y))
    add_fact(s, &y, shadows);
}

/* From v*q - c >= 0 with c >= 1 and v >= 0, where q is no number, adds the facts v >= 1 and q >=
 * 1. */
static void add_factors(neo_prover_scope *s, const neo_poly *g) {
  neo_poly product, v, q, rest;
  if (g->constant >= 0)
    return;
  neo_poly_copy(&product, g);
  product.constant = 0;
  for (uint32_t j = 0; j < g->term[0].n; j++) {
    neo_poly_atom(&v, (neo_expr){g->term[0].atom[j]});
    if (!neo_poly_divide(&product, &v, &q, &rest) || q.n == 0 || rest.n || rest.constant ||
        !neo_prover_nonneg(s, &v))
      continue;
    v.constant = -1;
    add_fact(s, &v, 0);
    if (!__builtin_sub_overflow(q.constant, 1, &q.constant))
      add_fact(s, &q, 0);
    return;
  }
}

static void add_fact(neo_prover_scope *s, const neo_poly *fact, int shadows) {
  neo_poly minus, *g;
  if (s->facts.n >= MAX_FACTS)
    return;
  g = neo_poly_new(s->m->arena, fact);
  neo_poly_tighten(g);
  if (g->n == 0 && g->constant < 0)
    s->never = true;
  if (g->n == 0 || is_known_fact(s, g))
    return;
  if (opposite(g, -1, &minus) && neo_prover_nonneg(s, &minus))
    s->never = true;
  uint32_t top = neo_prover_top(s, g);
  NEO_PUSH(s->m->arena, &s->facts, (neo_fact){g, top});
  add_factors(s, g);
  neo_poly_copy(&minus, g);
  if (neo_prover_unquotient(s, &minus))
    add_fact(s, &minus, 0);
  if (shadows > 0)
    add_shadow(s, g, top, shadows - 1);
}

static void add_opposite(neo_prover_scope *s, const neo_poly *g, int64_t c) {
  neo_poly y;
  if (opposite(g, c, &y))
    add_fact(s, &y, SHADOWS);
}

/* Adds a fact from g != 0, if the sign of g is known. */
static void add_unequal(neo_prover_scope *s, const neo_poly *g) {
  neo_poly y;
  if (neo_prover_nonneg(s, g)) {
    neo_poly_copy(&y, g);
    if (!__builtin_sub_overflow(y.constant, 1, &y.constant))
      add_fact(s, &y, SHADOWS);
  } else if (opposite(g, 0, &y) && neo_prover_nonneg(s, &y)) {
    add_opposite(s, g, -1);
  }
}

static void assume_compare(neo_prover_scope *s, neo_expr e, bool value) {
  neo_poly g;
  neo_op op = (neo_op)neo_expr_node(s->m, e)->op;
  if (!neo_prover_compare(s, e, &g))
    return;
  if (op == NEO_OP_EQ || op == NEO_OP_NE) {
    if (value == (op == NEO_OP_NE)) {
      add_unequal(s, &g);
    } else {
      add_fact(s, &g, SHADOWS);
      add_opposite(s, &g, 0);
    }
  } else if (value) {
    add_fact(s, &g, SHADOWS);
  } else {
    add_opposite(s, &g, -1);
  }
}

static void assume_pair(neo_prover_scope *s, neo_expr e, bool value) {
  neo_expr a = neo_expr_arg(s->m, e, 0), b = neo_expr_arg(s->m, e, 1);
  if (value == (neo_expr_node(s->m, e)->op == NEO_OP_AND)) {
    neo_prover_assume(s, a, value);
    neo_prover_assume(s, b, value);
  } else if (neo_prover_decide(s, a, !value)) {
    neo_prover_assume(s, b, value);
  } else if (neo_prover_decide(s, b, !value)) {
    neo_prover_assume(s, a, value);
  }
}

void neo_prover_assume(neo_prover_scope *s, neo_expr e, bool value) {
  int64_t c;
  if (neo_expr_is_int(s->m, e, &c)) {
    s->never = s->never || (c != 0) != value;
    return;
  }
  NEO_PUSH(s->m->arena, &s->known, (neo_literal){e.i, value});
  switch (neo_expr_node(s->m, e)->op) {
  case NEO_OP_NOT:
    neo_prover_assume(s, neo_expr_arg(s->m, e, 0), !value);
    break;
  case NEO_OP_AND:
  case NEO_OP_OR:
    assume_pair(s, e, value);
    break;
  default:
    assume_compare(s, e, value);
    break;
  }
}

neo_mark neo_prover_push(neo_prover_scope *s, neo_expr e, bool value) {
  neo_mark mark = {s->facts.n, s->known.n, s->never};
  s->pushed++;
  neo_prover_assume(s, e, value);
  return mark;
}

/* The axes that are not known to have points. */
static uint64_t maybe_empty(neo_prover_scope *s) {
  neo_poly g;
  if (s->knows_empty)
    return s->maybe_empty;
  for (uint32_t k = 0; k < s->n_axes; k++)
    if (neo_prover_points_of_axis(s, k, &g) && !neo_prover_nonneg(s, &g))
      s->maybe_empty |= 1ULL << k;
  s->knows_empty = true;
  return s->maybe_empty;
}

bool neo_prover_push_points(neo_prover_scope *s, neo_expr e, neo_mark *mark) {
  neo_poly g;
  uint64_t axes = neo_expr_axes(s->m, e) & maybe_empty(s);
  *mark = (neo_mark){s->facts.n, s->known.n, s->never};
  s->pushed++;
  for (uint32_t k = 0; k < s->n_axes; k++)
    if (axes >> k & 1 && neo_prover_points_of_axis(s, k, &g))
      add_fact(s, &g, SHADOWS);
  return s->facts.n > mark->facts || s->never;
}

void neo_prover_pop(neo_prover_scope *s, neo_mark mark) {
  s->facts.n = mark.facts;
  s->known.n = mark.known;
  s->never = mark.never;
  s->pushed--;
}

/* ---- goals */

/* g is never 0: the common divisor of its coefficients does not divide the constant. */
static bool indivisible(const neo_poly *g) {
  neo_poly h;
  neo_poly_copy(&h, g);
  neo_poly_tighten(&h);
  if (g->n == 0)
    return g->constant != 0;
  int64_t whole;
  return __builtin_mul_overflow(h.constant, g->term[0].coef / h.term[0].coef, &whole) ||
         whole != g->constant;
}

static bool decide_equal(neo_prover_scope *s, const neo_poly *g, bool equal) {
  neo_poly minus;
  if (!opposite(g, 0, &minus))
    return false;
  if (equal)
    return neo_prover_nonneg(s, g) && neo_prover_nonneg(s, &minus);
  return indivisible(g) || neo_prover_at_least(s, g, -1) || neo_prover_at_least(s, &minus, -1);
}

static bool decide_compare(neo_prover_scope *s, neo_expr e, bool value) {
  neo_poly g, minus;
  neo_op op = (neo_op)neo_expr_node(s->m, e)->op;
  if (!neo_prover_compare(s, e, &g))
    return false;
  if (op == NEO_OP_EQ || op == NEO_OP_NE)
    return decide_equal(s, &g, value == (op == NEO_OP_EQ));
  if (value)
    return neo_prover_nonneg(s, &g);
  return opposite(&g, -1, &minus) && neo_prover_nonneg(s, &minus);
}

/* Decides b with a known to be a_value. */
static bool decide_when(neo_prover_scope *s, neo_expr a, bool a_value, neo_expr b, bool value) {
  neo_mark mark = neo_prover_push(s, a, a_value);
  bool yes = s->never || neo_prover_decide(s, b, value);
  neo_prover_pop(s, mark);
  return yes;
}

static bool decide_pair(neo_prover_scope *s, neo_expr e, bool value) {
  neo_expr a = neo_expr_arg(s->m, e, 0), b = neo_expr_arg(s->m, e, 1);
  if (value == (neo_expr_node(s->m, e)->op == NEO_OP_AND))
    return neo_prover_decide(s, a, value) && neo_prover_decide(s, b, value);
  return neo_prover_decide(s, a, value) || neo_prover_decide(s, b, value) ||
         decide_when(s, a, !value, b, value);
}

static bool decide_select(neo_prover_scope *s, neo_expr e, bool value) {
  neo_expr c = neo_expr_arg(s->m, e, 0);
  return decide_when(s, c, true, neo_expr_arg(s->m, e, 1), value) &&
         decide_when(s, c, false, neo_expr_arg(s->m, e, 2), value);
}

static bool is_known(const neo_prover_scope *s, neo_expr e, bool value) {
  for (size_t k = 0; k < s->known.n; k++)
    if (s->known.at[k].e == e.i && s->known.at[k].value == value)
      return true;
  return false;
}

bool neo_prover_decide(neo_prover_scope *s, neo_expr e, bool value) {
  int64_t c;
  if (s->never)
    return true;
  if (neo_expr_is_int(s->m, e, &c))
    return (c != 0) == value;
  if (is_known(s, e, value))
    return true;
  switch (neo_expr_node(s->m, e)->op) {
  case NEO_OP_NOT:
    return neo_prover_decide(s, neo_expr_arg(s->m, e, 0), !value);
  case NEO_OP_AND:
  case NEO_OP_OR:
    return decide_pair(s, e, value);
  case NEO_OP_SELECT:
    return decide_select(s, e, value);
  default:
    return decide_compare(s, e, value);
  }
}

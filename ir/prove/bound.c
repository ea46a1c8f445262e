/* Lower bounds of polynomials.
 *
 * The atom that comes last in the order (the innermost axis; an opaque atom before its operands) is
 * replaced by a bound that makes the polynomial smaller: g = a*v + b and a >= 0 give g >= a*low(v)
 * + b, where low(v) is again a polynomial in atoms further out. So k < i+1 and i < N give k < N,
 * and t < T, b < B give b*T + t < B*T, without numbers. Bounds come from the axis' range, from the
 * operator (0 <= x % n < n; n*(x/n) <= x; min <= both), from facts, and at last from the numeric
 * range. For affine g over a box this is exact; nested bounds and facts are Fourier-Motzkin steps,
 * exact over the rationals when one bound matters. Every step costs fuel. */
#include "ir/element.h"
#include "ir/prove/scope.h"

enum { MAX_ELIMINATIONS = 48 };
static const int64_t none = INT64_MIN;

/* ---- order */

uint32_t neo_prover_level(const neo_prover_scope *s, uint32_t atom) {
  const neo_node *n = neo_expr_node(s->m, (neo_expr){atom});
  if (n->op == NEO_OP_AXIS)
    return 2 * n->attr + 3;
  uint64_t axes = neo_expr_axes(s->m, (neo_expr){atom});
  if (axes)
    return 2 * (63 - (uint32_t)__builtin_clzll(axes)) + 4;
  bool plain =
      n->op == NEO_OP_SIZE && neo_size_at(s->m, (neo_size){n->attr})->kind == NEO_SIZE_RUNTIME;
  return plain ? 1 : 2;
}

uint32_t neo_prover_top(neo_prover_scope *s, const neo_poly *g) {
  uint32_t top = 0, level = 0;
  for (uint32_t k = 0; k < g->n; k++)
    for (uint32_t j = 0; j < g->term[k].n; j++) {
      uint32_t v = g->term[k].atom[j], l = neo_prover_level(s, v);
      if (l > level || (l == level && v > top))
        top = v, level = l;
    }
  return top;
}

/* ---- one elimination: g = a*v + b, a of known sign */

typedef struct {
  neo_prover_scope *s;
  const neo_poly *g, *a, *b;
  uint32_t v;
  int sign; /* sign of a */
  int64_t goal, best;
} step;

static bool done(const step *t) {
  return t->best >= t->goal;
}

static void offer(step *t, int64_t x) {
  if (x > t->best)
    t->best = x;
}

static int64_t lower_bound(neo_prover_scope *s, const neo_poly *g, int64_t goal);

static int64_t with(step *t, const neo_poly *bound) {
  neo_poly y;
  return neo_poly_fma(t->a, bound, t->b, &y) ? lower_bound(t->s, &y, t->goal) : none;
}

static void try_bound(step *t, const neo_poly *bound) {
  if (!done(t))
    offer(t, with(t, bound));
}

/* Tries e + c as a bound. */
static void try_expr(step *t, neo_expr e, int64_t c) {
  neo_poly bound;
  neo_prover_form(t->s, e, &bound);
  if (!__builtin_add_overflow(bound.constant, c, &bound.constant))
    try_bound(t, &bound);
}

static void try_const(step *t, int64_t c) {
  neo_poly bound;
  neo_poly_set(&bound, c);
  try_bound(t, &bound);
}

/* v is bounded by x + c or by y, whichever is worse: the bound is the worse of both. */
static void try_worse(step *t, neo_expr x, int64_t c, neo_expr y) {
  neo_poly bound;
  neo_prover_form(t->s, x, &bound);
  if (__builtin_add_overflow(bound.constant, c, &bound.constant))
    return;
  int64_t one = with(t, &bound);
  if (one == none || (t->goal != INT64_MAX && one < t->goal))
    return;
  neo_prover_form(t->s, y, &bound);
  int64_t other = with(t, &bound);
  offer(t, one < other ? one : other);
}

/* Tries both values of v, the minimum or maximum of x and y: the worse of the two bounds holds. */
static void try_both(step *t, neo_expr x, neo_expr y) {
  try_worse(t, x, 0, y);
}

static int64_t with_when(step *t, neo_expr c, bool value, neo_expr e) {
  neo_poly bound;
  neo_mark mark = neo_prover_push(t->s, c, value);
  int64_t y = INT64_MAX;
  if (!t->s->never) {
    neo_prover_form(t->s, e, &bound);
    y = with(t, &bound);
  }
  neo_prover_pop(t->s, mark);
  return y;
}

static void try_select(step *t, neo_expr e) {
  neo_expr c = neo_expr_arg(t->s->m, e, 0);
  int64_t one = with_when(t, c, true, neo_expr_arg(t->s->m, e, 1));
  if (one == none || (t->goal != INT64_MAX && one < t->goal))
    return;
  int64_t other = with_when(t, c, false, neo_expr_arg(t->s->m, e, 2));
  offer(t, one < other ? one : other);
}

/* A lower bound of k*g that implies g >= goal: try_scaled divides the bound by k and rounds up. */
static int64_t scaled_goal(int64_t goal, int64_t k) {
  int64_t y;
  if (goal == INT64_MAX || __builtin_mul_overflow(goal, k, &y))
    return INT64_MAX;
  return __builtin_sub_overflow(y, k - 1, &y) ? INT64_MAX : y;
}

static void try_scaled(step *t, const neo_poly *kg, int64_t k) {
  if (done(t))
    return;
  int64_t x = lower_bound(t->s, kg, scaled_goal(t->goal, k));
  if (x != none)
    offer(t, x == INT64_MAX ? x : neo_div_ceil(x, k));
}

/* v = x/n, so n*v is in [x - n + 1, x]: *end is the end that makes a*(n*v) smaller. */
static bool quotient_end(step *t, const neo_poly *x, const neo_poly *n, neo_poly *end) {
  neo_poly y;
  neo_poly_copy(end, x);
  if (t->sign < 0)
    return true;
  return neo_poly_add(x, -1, n, &y) && !__builtin_add_overflow(y.constant, 1, &y.constant) &&
         (neo_poly_copy(end, &y), true);
}

/* Bounds g = a*v + b with v = x/n, a number a with |a| > 1, and b >= c. As v is an integer, a < 0
 * allows v up to c/-a, which follows from x < n*(c/-a + 1); a > 0 requires v >= ceil(-c/a). So
 * 2*(x/n) + y % 2 < 2*k where x < n*k. */
static void try_steps_of_quotient(step *t, const neo_poly *x, const neo_poly *n) {
  neo_poly b, nk, y;
  int64_t a = t->a->constant, c, k;
  neo_poly_copy(&b, t->b);
  if (done(t) || t->goal == INT64_MAX || t->a->n || a == INT64_MIN || (a >= -1 && a <= 1))
    return;
  if (__builtin_sub_overflow(b.constant, t->goal, &b.constant))
    return;
  c = lower_bound(t->s, &b, INT64_MAX);
  if (c == none || c == INT64_MAX)
    return;
  k = a < 0 ? neo_div_floor(c, -a) : -neo_div_floor(c, a);
  if (!neo_poly_scale(n, a < 0 ? k + 1 : -k, &nk))
    return;
  if (neo_poly_add(&nk, a < 0 ? -1 : 1, x, &y) &&
      !__builtin_sub_overflow(y.constant, a < 0, &y.constant) && neo_prover_nonneg(t->s, &y))
    offer(t, t->goal);
}

/* Bounds g = a*v + b through n*g = a*(n*v) + n*b, for a symbolic n: n*(g - goal) > -n implies g >=
 * goal. */
static void try_symbolic_quotient(step *t, const neo_poly *end, const neo_poly *n) {
  neo_poly b, nb, y, a2, rest;
  if (neo_poly_divide(t->a, n, &a2, &rest) && rest.n == 0 && rest.constant == 0 &&
      neo_poly_fma(&a2, end, t->b, &y))
    offer(t, lower_bound(t->s, &y, t->goal)); /* a = a2*n */
  if (done(t) || t->goal == INT64_MAX)
    return;
  neo_poly_copy(&b, t->b);
  if (__builtin_sub_overflow(b.constant, t->goal, &b.constant))
    return;
  if (!neo_poly_fma(n, &b, n, &nb) || !neo_poly_fma(t->a, end, &nb, &y))
    return;
  if (!__builtin_sub_overflow(y.constant, 1, &y.constant) && neo_prover_nonneg(t->s, &y))
    offer(t, t->goal);
}

static void try_quotient(step *t, neo_expr e) {
  neo_poly x, n, end, nb, y;
  neo_prover_form(t->s, neo_expr_arg(t->s->m, e, 0), &x);
  neo_prover_form(t->s, neo_expr_arg(t->s->m, e, 1), &n);
  if (!neo_prover_divisor(t->s, &n, e) || !quotient_end(t, &x, &n, &end))
    return;
  if (n.n) {
    try_symbolic_quotient(t, &end, &n);
    try_steps_of_quotient(t, &x, &n);
  } else if (neo_poly_scale(t->b, n.constant, &nb) && neo_poly_fma(t->a, &end, &nb, &y)) {
    try_scaled(t, &y, n.constant);
  }
}

static void try_remainder(step *t, neo_expr e) {
  neo_poly x, n;
  neo_prover_form(t->s, neo_expr_arg(t->s->m, e, 1), &n);
  if (!neo_prover_divisor(t->s, &n, e))
    return;
  if (t->sign > 0) {
    try_const(t, 0);
    return;
  }
  try_expr(t, neo_expr_arg(t->s->m, e, 1), -1);
  if (done(t))
    return;
  neo_prover_form(t->s, neo_expr_arg(t->s->m, e, 0), &x);
  if (neo_prover_nonneg(t->s, &x))
    try_bound(t, &x);
}

static void try_axis(step *t, uint32_t k) {
  if (k >= t->s->n_axes)
    return;
  const neo_axis_rec *axis = &t->s->axes[k];
  try_expr(t, t->sign > 0 ? axis->lo : axis->hi, t->sign > 0 ? 0 : -1);
}

static void try_size(step *t, neo_size id) {
  const neo_size_rec *size = neo_size_at(t->s->m, id);
  if (size->kind == NEO_SIZE_DERIVED)
    try_expr(t, size->value, 0);
}

static void try_load(step *t, neo_expr e, neo_tensor tensor) {
  neo_expr bound = neo_tensor_at(t->s->m, tensor)->bound;
  neo_element_ends ends = neo_element_ends_of(t->s->m, e);
  neo_expr end = t->sign > 0 ? ends.least : ends.below;
  if (end.i)
    try_expr(t, end, t->sign > 0 ? 0 : -1);
  if (ends.limit.i && ends.limit.i != end.i && t->sign < 0)
    try_expr(t, ends.limit, -1);
  if (!bound.i)
    return;
  if (t->sign > 0)
    try_const(t, 0);
  else
    try_expr(t, bound, -1);
}

/* Bounds an element, or the other value where there is no element. */
static void try_load_else(step *t, neo_expr e, const neo_node *n) {
  neo_expr bound = neo_tensor_at(t->s->m, (neo_tensor){n->attr})->bound;
  neo_expr other = neo_list_expr(t->s->m, n->arg, n->arg.n - 1);
  neo_element_ends ends = neo_element_ends_of(t->s->m, e);
  bool low = t->sign > 0;
  neo_expr end[3] = {low ? ends.least : ends.below, low ? (neo_expr){0} : ends.limit, bound};
  if (low && bound.i)
    end[2] = neo_const_i64(t->s->m, 0);
  for (uint32_t k = 0; k < 3 && !done(t); k++)
    if (end[k].i)
      try_worse(t, end[k], low ? 0 : -1, other);
}

static void try_kind(step *t) {
  neo_expr e = neo_prover_peel(t->s, (neo_expr){t->v});
  neo_node n = *neo_expr_node(t->s->m, e);
  bool low = t->sign > 0, both = n.op == (low ? NEO_OP_MIN : NEO_OP_MAX);
  switch (n.op) {
  case NEO_OP_AXIS:
    try_axis(t, n.attr);
    break;
  case NEO_OP_SIZE:
    try_size(t, (neo_size){n.attr});
    break;
  case NEO_OP_LOAD:
    try_load(t, e, (neo_tensor){n.attr});
    break;
  case NEO_OP_LOAD_ELSE:
    try_load_else(t, e, &n);
    break;
  case NEO_OP_DIV:
    try_quotient(t, e);
    break;
  case NEO_OP_MOD:
    try_remainder(t, e);
    break;
  case NEO_OP_SELECT:
    try_select(t, e);
    break;
  case NEO_OP_MIN:
  case NEO_OP_MAX:
    if (both) {
      try_both(t, neo_expr_arg(t->s->m, e, 0), neo_expr_arg(t->s->m, e, 1));
    } else {
      try_expr(t, neo_expr_arg(t->s->m, e, 0), 0);
      try_expr(t, neo_expr_arg(t->s->m, e, 1), 0);
    }
    break;
  default:
    break;
  }
}

/* Uses a fact c*v + rest >= 0 with a = k*c and k >= 0: g - k*fact is free of v, and not above g. So
 * N*M >= 4 implies N*M - 3 > 0, which follows from no bound of N and M alone. */
static void try_multiple(step *t, const neo_poly *fact, const neo_poly *c) {
  neo_poly k, rest, minus, y;
  if (!neo_poly_divide(t->a, c, &k, &rest) || rest.n || rest.constant ||
      !neo_prover_nonneg(t->s, &k))
    return;
  if (neo_poly_scale(&k, -1, &minus) && neo_poly_fma(&minus, fact, t->g, &y))
    offer(t, lower_bound(t->s, &y, t->goal));
}

/* A fact c*v + rest >= 0 with c of the sign of a: |c|*g - |a|*fact is free of v and not above
 * |c|*g. */
static void try_fact(step *t, const neo_poly *fact) {
  neo_poly c, rest, ag, minus, y;
  if (!neo_poly_split(fact, t->v, &c, &rest))
    return;
  if (c.n)
    try_multiple(t, fact, &c);
  if (c.n || c.constant == 0)
    return;
  if ((c.constant > 0) != (t->sign > 0) || c.constant == INT64_MIN)
    return;
  int64_t k = c.constant < 0 ? -c.constant : c.constant;
  if (neo_poly_scale(t->g, k, &ag) && neo_poly_scale(t->a, t->sign > 0 ? -1 : 1, &minus) &&
      neo_poly_fma(&minus, fact, &ag, &y))
    try_scaled(t, &y, k);
}

static void try_facts(step *t) {
  for (size_t k = t->s->facts.n; k-- > 0 && !done(t);)
    if (t->s->facts.at[k].top == t->v)
      try_fact(t, t->s->facts.at[k].g);
}

static void try_range(step *t) {
  neo_range r = neo_prover_range(t->s, t->v);
  int64_t end = t->sign > 0 ? r.lo : r.hi;
  if (end != INT64_MIN && end != INT64_MAX)
    try_const(t, end);
}

/* ---- lower bounds */

static int sign_of(neo_prover_scope *s, const neo_poly *a) {
  neo_poly minus;
  if (a->n == 0)
    return a->constant > 0 ? 1 : -1;
  if (lower_bound(s, a, 0) >= 0)
    return 1;
  return neo_poly_scale(a, -1, &minus) && lower_bound(s, &minus, 0) >= 0 ? -1 : 0;
}

/* The sign of a is not known: a*v is replaced by the numeric lower end of its range. */
static int64_t lower_by_box(step *t) {
  neo_range a = neo_prover_bounds(t->s, t->a), v = neo_prover_range(t->s, t->v);
  int64_t low = neo_range_mul(a, v).lo, y;
  neo_poly b;
  if (low == INT64_MIN)
    return none;
  neo_poly_copy(&b, t->b);
  if (__builtin_add_overflow(b.constant, low, &b.constant))
    return none;
  y = lower_bound(t->s, &b, t->goal);
  return y;
}

static int64_t eliminate(neo_prover_scope *s, const neo_poly *g, int64_t goal) {
  neo_poly a, b;
  step t = {s, g, &a, &b, neo_prover_top(s, g), 0, goal, none};
  if (!neo_poly_split(g, t.v, &a, &b))
    return neo_prover_box(s, g).lo;
  t.sign = sign_of(s, &a);
  if (t.sign == 0)
    return lower_by_box(&t);
  try_kind(&t);
  if (!done(&t))
    try_facts(&t);
  if (!done(&t))
    try_range(&t);
  return t.best;
}

/* A lower bound of g, INT64_MIN if none is known. The search stops at `goal`. */
static int64_t lower_bound(neo_prover_scope *s, const neo_poly *g, int64_t goal) {
  if (g->n == 0)
    return g->constant;
  if (s->fuel <= 0)
    return none;
  s->fuel = s->eliminations >= MAX_ELIMINATIONS ? 0 : s->fuel - 1;
  s->eliminations++;
  int64_t y = eliminate(s, g, goal);
  s->eliminations--;
  return y;
}

neo_range neo_prover_bounds(neo_prover_scope *s, const neo_poly *g) {
  neo_poly minus;
  neo_range r = {lower_bound(s, g, INT64_MAX), INT64_MAX};
  if (neo_poly_scale(g, -1, &minus)) {
    int64_t x = lower_bound(s, &minus, INT64_MAX);
    if (x != none)
      r.hi = -x;
  }
  return neo_range_of(r.lo, r.hi);
}

bool neo_prover_at_least(neo_prover_scope *s, const neo_poly *g, int64_t c) {
  neo_poly y;
  neo_poly_copy(&y, g);
  return !__builtin_add_overflow(y.constant, c, &y.constant) && neo_prover_nonneg(s, &y);
}

bool neo_prover_nonneg(neo_prover_scope *s, const neo_poly *g) {
  neo_poly y;
  neo_poly_copy(&y, g);
  neo_poly_tighten(&y);
  return lower_bound(s, &y, 0) >= 0;
}

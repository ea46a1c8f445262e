/* Loop bounds from conditions. A conjunct is a polynomial a*x + b >= 0 in the axis x: x >=
 * ceil(-b/a) or x <= floor(b/-a). (An equation is two of them, and d*y <= e becomes y <= e/d
 * exactly.)
 *
 * Bounds are values of the outer loops: they are compared in a scope of the outer axes only,
 * because a fact that holds at every point proves nothing where the axis is empty. A read in a
 * bound is no longer under the conditions that were around it, so it gets a guard unless it is in
 * range everywhere; the guard's value does not matter, since the conditions still apply inside of
 * the loop. */
#include "ir/prove/scope.h"
#include <assert.h>

enum { MAX_BOUNDS = 16 };

typedef struct {
  neo_prover_scope *all, *here; /* all axes; with all assumptions, with those on outer axes */
  neo_prover_scope *outer;      /* outer axes only */
  neo_module *m;
  neo_prover *p;
  const neo_facts *facts;
  uint32_t axis;
  uint64_t inner; /* the axis and later ones */
  uint32_t n_lo, n_hi;
  neo_expr lo[MAX_BOUNDS], hi[MAX_BOUNDS]; /* hi inclusive */
  bool changed, never;
  neo_expr rest;
} job;

static bool is_outer(const job *j, neo_expr e) {
  return !(neo_expr_axes(j->m, e) & j->inner);
}

/* ---- sets of bounds */

/* e + c; sums are added up, everything else stays as it is written. */
static neo_expr plus(neo_module *m, neo_expr e, int64_t c) {
  neo_linear l;
  neo_poly g;
  bool linear = neo_linear_of(m, e, &l) && l.n <= NEO_POLY_TERMS;
  if (!linear || __builtin_add_overflow(l.constant, c, &l.constant))
    return neo_op2(m, NEO_OP_ADD, e, neo_const_i64(m, c));
  neo_poly_set(&g, l.constant);
  for (; g.n < l.n; g.n++) /* highest first, as polynomials are */
    g.term[g.n] = (neo_mono){l.term[l.n - 1 - g.n].coef, 1, {l.term[l.n - 1 - g.n].atom.i}};
  return neo_poly_expr(m, &g);
}

static bool at_most(job *j, neo_expr a, neo_expr b) {
  return neo_prover_prove(j->outer, neo_op2(j->m, NEO_OP_LE, a, b))->proof == NEO_PROVED;
}

/* Whether the bound a follows from the bound b. */
static bool implied(job *j, bool low, neo_expr a, neo_expr b) {
  return low ? at_most(j, a, b) : at_most(j, b, a);
}

/* Adds a bound to one of the sets, without those that another makes redundant. */
static void keep(job *j, bool low, neo_expr e) {
  neo_expr *at = low ? j->lo : j->hi;
  uint32_t *n = low ? &j->n_lo : &j->n_hi, left = 0;
  for (uint32_t k = 0; k < *n; k++)
    if (implied(j, low, e, at[k]))
      return;
  for (uint32_t k = 0; k < *n; k++)
    if (!implied(j, low, at[k], e))
      at[left++] = at[k];
  if (left < MAX_BOUNDS)
    at[left++] = e;
  else
    at[left - 1] = neo_op2(j->m, low ? NEO_OP_MAX : NEO_OP_MIN, at[left - 1], e);
  *n = left;
}

static void keep_all(job *j, bool low, neo_expr e, neo_op op, bool minus) {
  while (neo_expr_node(j->m, e)->op == op) {
    keep_all(j, low, neo_expr_arg(j->m, e, 1), op, minus);
    e = neo_expr_arg(j->m, e, 0);
  }
  keep(j, low, minus ? plus(j->m, e, -1) : e);
}

/* ---- one conjunct */

static bool allowed(const job *j, const neo_poly *g) {
  for (uint32_t k = 0; k < g->n; k++)
    for (uint32_t i = 0; i < g->term[k].n; i++)
      if (!is_outer(j, (neo_expr){g->term[k].atom[i]}))
        return false;
  return true;
}

/* Removes a division by a constant d > 0: y/d + b >= 0 becomes y + d*b >= 0, and b - y/d >= 0
 * becomes d*b + d - 1 - y >= 0. */
static bool undivide(job *j, neo_poly *g) {
  neo_poly a, b, y, d, db, out;
  for (uint32_t k = 0; k < g->n; k++) {
    neo_expr v = {g->term[k].atom[0]};
    if (g->term[k].n != 1 || neo_expr_node(j->m, v)->op != NEO_OP_DIV || is_outer(j, v))
      continue;
    if (!neo_poly_split(g, v.i, &a, &b) || a.n || (a.constant != 1 && a.constant != -1))
      continue;
    neo_prover_form(j->here, neo_expr_arg(j->m, v, 0), &y);
    neo_prover_form(j->here, neo_expr_arg(j->m, v, 1), &d);
    if (d.n || d.constant <= 0 || !neo_poly_scale(&b, d.constant, &db))
      continue;
    int64_t up = a.constant < 0 ? d.constant - 1 : 0;
    if (__builtin_add_overflow(db.constant, up, &db.constant))
      continue;
    if (!neo_poly_add(&db, a.constant, &y, &out))
      continue;
    neo_poly_copy(g, &out);
    return true;
  }
  return false;
}

static neo_expr guard_read(void *ctx, neo_module *m, neo_expr e) {
  job *j = ctx;
  neo_node n = *neo_expr_node(m, e);
  bool inside = true;
  if (n.op != NEO_OP_LOAD)
    return e;
  for (uint32_t k = 0; k < n.arg.n; k++) {
    neo_expr index = neo_list_expr(m, n.arg, k);
    neo_expr high = neo_op2(m, NEO_OP_LT, index, neo_tensor_extent(m, (neo_tensor){n.attr}, k));
    inside = inside && at_most(j, neo_const_i64(m, 0), index) &&
             neo_prover_prove(j->outer, high)->proof == NEO_PROVED;
  }
  return inside ? e : neo_load_else_zero(m, e);
}

/* floor(x/d), in the shorter of two ways. */
static neo_expr quotient(job *j, const neo_poly *x, const neo_poly *d) {
  neo_poly g;
  neo_expr e = neo_op2(j->m, NEO_OP_DIV, neo_poly_expr(j->m, x), neo_poly_expr(j->m, d));
  neo_prover_form(j->here, e, &g);
  neo_expr y = neo_poly_expr(j->m, &g);
  return neo_expr_uses_op(j->m, y, NEO_OP_DIV) ? e : y;
}

/* ---- bounds beyond i64
 *
 * An unbounded i64 element may be so large that a sum with it wraps. A bound far outside the axis'
 * range need not be exact, so the element is clamped first:
 *
 *     p + 5 < k[]   ->   p < min(max(k[], -FAR), FAR) - 5 */

static const int64_t FAR = (int64_t)1 << 61, NEAR = (int64_t)1 << 59, SMALL = (int64_t)1 << 20;

static bool is_between(neo_range r, int64_t end) {
  return r.lo >= -end && r.hi <= end;
}

/* The only atom without bounds; 0: there are none, or several. */
static uint32_t unbounded(job *j, const neo_poly *x) {
  uint32_t found = 0;
  for (uint32_t k = 0; k < x->n; k++) {
    if (neo_prover_box_term(j->outer, &x->term[k]).lo > INT64_MIN &&
        neo_prover_box_term(j->outer, &x->term[k]).hi < INT64_MAX)
      continue;
    if (found || x->term[k].n != 1)
      return 0;
    found = x->term[k].atom[0];
  }
  return found;
}

/* floor(x/d) if it is near the axis' range, else some number on the same side of the range. */
static bool cut_quotient(job *j, const neo_poly *x, const neo_poly *d, neo_expr *out) {
  neo_poly c, rest;
  neo_module *m = j->m;
  neo_range axis = neo_prover_range(j->here, neo_axis_ref(m, j->axis).i);
  uint32_t atom = unbounded(j, x);
  if (!atom || d->n || d->constant > SMALL || !is_between(axis, NEAR / SMALL) ||
      !neo_poly_split(x, atom, &c, &rest) || c.n || c.constant > SMALL || c.constant < -SMALL ||
      !is_between(neo_prover_box(j->outer, &rest), NEAR))
    return false;
  int64_t end = FAR / (c.constant < 0 ? -c.constant : c.constant);
  neo_expr v = neo_op2(m, NEO_OP_MAX, (neo_expr){atom}, neo_const_i64(m, -end));
  v = neo_op2(m, NEO_OP_MIN, v, neo_const_i64(m, end));
  v = neo_op2(m, NEO_OP_MUL, v, neo_const_i64(m, c.constant));
  v = neo_op2(m, NEO_OP_ADD, v, neo_poly_expr(m, &rest));
  *out = neo_op2(m, NEO_OP_DIV, v, neo_const_i64(m, d->constant));
  return true;
}

/* x + c is an atom, which is exact however x wraps. */
static bool is_atom_less(const neo_poly *x, int64_t c) {
  return x->n == 1 && x->term[0].n == 1 && x->term[0].coef == 1 && x->constant == -c;
}

/* Adds floor(x/d) as a bound of the axis. An upper bound is inclusive here: the end of the range is
 * one more. */
static bool keep_quotient(job *j, bool low, const neo_poly *x, const neo_poly *d) {
  neo_expr e;
  neo_range r = neo_prover_box(j->outer, x);
  bool whole = d->n == 0 && d->constant == 1 && is_atom_less(x, low ? 0 : 1);
  if (whole || (r.lo > INT64_MIN && r.hi < INT64_MAX))
    e = quotient(j, x, d);
  else if (!cut_quotient(j, x, d, &e))
    return false;
  keep(j, low, neo_expr_rewrite(j->m, e, guard_read, j));
  return true;
}

/* a*x + b >= 0, a >= 1: x >= ceil(-b/a) = floor((a - 1 - b)/a). */
static bool keep_low(job *j, const neo_poly *a, const neo_poly *b) {
  neo_poly x;
  if (!neo_poly_add(a, -1, b, &x))
    return false;
  if (__builtin_sub_overflow(x.constant, 1, &x.constant))
    return false;
  return keep_quotient(j, true, &x, a);
}

/* b - a*x >= 0, a >= 1 */
static bool keep_high(job *j, const neo_poly *a, const neo_poly *b) {
  return keep_quotient(j, false, b, a);
}

/* g >= 0 as a bound of the axis. */
static bool take_bound(job *j, const neo_poly *from) {
  neo_poly a, b, minus, g;
  neo_poly_copy(&g, from);
  uint32_t x = neo_axis_ref(j->m, j->axis).i;
  while (undivide(j, &g)) {
  }
  neo_poly_tighten(&g);
  if (!neo_poly_uses(&g, x) || !neo_poly_split(&g, x, &a, &b))
    return false;
  if (!allowed(j, &a) || !allowed(j, &b) || !neo_poly_scale(&a, -1, &minus))
    return false;
  if (neo_prover_at_least(j->here, &a, -1))
    return keep_low(j, &a, &b);
  return neo_prover_at_least(j->here, &minus, -1) && keep_high(j, &minus, &b);
}

static bool opposite(const neo_poly *g, int64_t c, neo_poly *out) {
  return neo_poly_scale(g, -1, out) && !__builtin_add_overflow(out->constant, c, &out->constant);
}

static bool take_compare(job *j, neo_expr e, bool value) {
  neo_poly g, minus;
  neo_op op = (neo_op)neo_expr_node(j->m, e)->op;
  j->here->fuel = NEO_PROVE_FUEL;
  if (!neo_prover_compare(j->here, e, &g))
    return false;
  if (op == NEO_OP_LT || op == NEO_OP_LE) {
    if (value)
      return take_bound(j, &g);
    return opposite(&g, -1, &minus) && take_bound(j, &minus);
  }
  if (value != (op == NEO_OP_EQ))
    return false;
  job before = *j; /* restored if one of both fails */
  if (take_bound(j, &g) && opposite(&g, 0, &minus) && take_bound(j, &minus))
    return true;
  *j = before;
  return false;
}

/* max(a, b) <= c is a <= c and b <= c; c <= min(a, b) likewise; 0 if e is neither. */
static neo_expr both_sides(neo_module *m, neo_expr e) {
  neo_node n = *neo_expr_node(m, e);
  if (n.op != NEO_OP_LT && n.op != NEO_OP_LE)
    return (neo_expr){0};
  neo_expr a = neo_list_expr(m, n.arg, 0), b = neo_list_expr(m, n.arg, 1);
  if (neo_expr_node(m, a)->op == NEO_OP_MAX && neo_expr_is_integer(m, a))
    return neo_op2(m, NEO_OP_AND, neo_op2(m, (neo_op)n.op, neo_expr_arg(m, a, 0), b),
                   neo_op2(m, (neo_op)n.op, neo_expr_arg(m, a, 1), b));
  if (neo_expr_node(m, b)->op == NEO_OP_MIN && neo_expr_is_integer(m, b))
    return neo_op2(m, NEO_OP_AND, neo_op2(m, (neo_op)n.op, a, neo_expr_arg(m, b, 0)),
                   neo_op2(m, (neo_op)n.op, a, neo_expr_arg(m, b, 1)));
  return (neo_expr){0};
}

static neo_prover_scope *outer_scope(neo_prover *p, const neo_facts *facts, uint64_t inner,
                                     uint32_t n) {
  neo_expr *assume = NEO_NEW_ARRAY(p->m->arena, neo_expr, facts->n_assume + 1);
  neo_facts f = {facts->axes, n, assume, 0};
  for (uint32_t k = 0; k < facts->n_assume; k++)
    if (!(neo_expr_axes(p->m, facts->assume[k]) & inner))
      assume[f.n_assume++] = facts->assume[k];
  return neo_prover_of(p, &f);
}

/* The scope for a conjunct: the axes up to the innermost one that it uses. Ranges of axes further
 * in may rely on the conjunct (a read in a bound), and an empty range would prove anything. */
static neo_prover_scope *scope_for(job *j, neo_expr e) {
  uint64_t axes = neo_expr_axes(j->m, e);
  uint32_t n = axes ? 64 - (uint32_t)__builtin_clzll(axes) : 0;
  if (n >= j->facts->n_axes)
    return j->all;
  return outer_scope(j->p, j->facts, ~0ULL << n, n);
}

static void conjunct(job *j, neo_expr e, bool value) {
  neo_op op = (neo_op)neo_expr_node(j->m, e)->op;
  neo_expr both = value ? both_sides(j->m, e) : (neo_expr){0};
  if (both.i) {
    conjunct(j, both, true);
    return;
  }
  neo_expr is = value ? e : neo_op1(j->m, NEO_OP_NOT, e);
  if (op == NEO_OP_NOT) {
    conjunct(j, neo_expr_arg(j->m, e, 0), !value);
  } else if (op == (value ? NEO_OP_AND : NEO_OP_OR)) {
    conjunct(j, neo_expr_arg(j->m, e, 0), value);
    conjunct(j, neo_expr_arg(j->m, e, 1), value);
  } else if (neo_prover_prove(scope_for(j, e), is)->proof == NEO_PROVED ||
             take_compare(j, e, value)) {
    j->changed = true;
  } else {
    neo_prover_scope *s = scope_for(j, e);
    s->fuel = NEO_PROVE_FUEL;
    j->never = j->never || neo_prover_decide(s, e, !value);
    j->rest = j->rest.i ? neo_op2(j->m, NEO_OP_AND, j->rest, is) : is;
  }
}

/* ---- the whole */

static neo_expr fold_bounds(neo_module *m, neo_op op, const neo_expr *at, uint32_t n) {
  neo_expr e = at[0];
  for (uint32_t k = 1; k < n; k++)
    e = neo_op2(m, op, e, at[k]);
  return e;
}

bool neo_tighten(neo_prover *p, const neo_facts *facts, uint32_t axis, neo_expr cond, neo_expr *lo,
                 neo_expr *hi, neo_expr *rest) {
  assert(axis < facts->n_axes && axis < 63);
  const neo_axis_rec *own = &facts->axes[axis];
  uint64_t inner = ~0ULL << axis;
  job j = {.m = p->m, .p = p, .facts = facts, .axis = axis, .inner = inner};
  *lo = own->lo;
  *hi = own->hi;
  *rest = cond;
  if (!cond.i)
    return false;
  j.all = neo_prover_of(p, facts);
  j.here = outer_scope(p, facts, inner, facts->n_axes);
  j.outer = outer_scope(p, facts, inner, axis);
  keep_all(&j, true, own->lo, NEO_OP_MAX, false);
  keep_all(&j, false, own->hi, NEO_OP_MIN, true);
  conjunct(&j, cond, true);
  if (j.never) {
    *rest = neo_const_bool(p->m, false);
    *hi = *lo; /* bounds further in are never evaluated */
    return rest->i != cond.i || hi->i != own->hi.i;
  }
  if (!j.changed)
    return false;
  *rest = j.rest;
  *lo = fold_bounds(p->m, NEO_OP_MAX, j.lo, j.n_lo);
  for (uint32_t k = 0; k < j.n_hi; k++)
    j.hi[k] = plus(p->m, j.hi[k], 1);
  *hi = fold_bounds(p->m, NEO_OP_MIN, j.hi, j.n_hi);
  return true;
}

/* Solving the index system of a read: for which points (x, r) of a definition is f(x, r) = z?
 *
 * All expressions move to one numbering: AXIS 0 .. R are the output position z, AXIS R + k the
 * definition's k-th axis. Then, until no equation is left, the first rule that applies:
 *   pair      e / K = z1 and e % K = z2 become e = z1*K + z2 (a reshape read backwards; chains of
 *             them too; K > 0)
 *   known     no unsolved axis in it: a condition
 *   unit      one unsolved axis, coefficient +-1: substitute
 *   wrap      e % K = v where e takes at most K values from lo on: e = lo + (v - lo) % K (rolled
 *             images, shifted windows; K > 0)
 *   radix     a quotient or remainder of +-a + c by K: a becomes two axes, the digits of +-a + c
 *   digits    c*a + rest with 0 <= rest < c (proved): a = v / c, rest = v % c (mixed radix; c may
 *             be a run-time size)
 *   isolate   several unsolved axes: the longest of coefficient +-1 is substituted, the others stay
 *             free
 *   lattice   no unit coefficient: a = v / c where v % c == 0
 *   define    an axis of coefficient +-1 that nothing else in the equation uses: substitute, and
 *             whatever else there is (lookups, min, ...) stays free
 *   remainder e % K, K > 0: a new axis q stands for e / K, so that e % K = e - K*q; what q may be,
 *             0 <= e - K*q < K, is a condition
 *   interval  e / K = v: the condition v*K <= e < v*K + K, a loop bound; v*K is within i64, or no
 *             e satisfies it
 *   leave     anything else (lookups, e % K, min, ...): the condition f(x, r) == z
 * A substituted axis brings its range as a condition; a range that it stood in is loosened to one
 * over earlier axes, and is a condition too. Every rule is an equivalence, so the result is
 * exact. Equations among the read's conditions (e % K == 0 beside e / K = z) are equations of the
 * system. */
#include "autodiff/solve.h"
#include <stdlib.h>

static neo_expr op2(ad_system *s, neo_op op, neo_expr a, neo_expr b) {
  return neo_op2(s->m, op, a, b);
}
static neo_expr int_of(ad_system *s, int64_t x) {
  return neo_const_i64(s->m, x);
}

/* ---- equations as sums of coefficient * axis */

typedef struct {
  uint32_t axis;
  int64_t coef;
  neo_expr size; /* factor without axes; 0: 1 */
} part;

typedef struct {
  part part[32];
  uint32_t n;
  neo_expr value; /* the required sum of the parts: rhs minus everything else */
  bool linear;    /* no unsolved axis outside the parts */
} sum_form;

static bool is_unsolved_axis(ad_system *s, neo_expr e, uint32_t *k) {
  const neo_node *n = neo_expr_node(s->m, e);
  if (n->op != NEO_OP_AXIS || n->attr < s->n_out || n->attr >= s->n || s->solved[n->attr])
    return false;
  *k = n->attr;
  return true;
}

/* axis, or axis times a factor without unsolved axes. */
static bool part_of(ad_system *s, neo_expr atom, part *p) {
  p->size = (neo_expr){0};
  if (is_unsolved_axis(s, atom, &p->axis))
    return true;
  if (neo_expr_node(s->m, atom)->op != NEO_OP_MUL)
    return false;
  neo_expr a = neo_expr_arg(s->m, atom, 0), b = neo_expr_arg(s->m, atom, 1);
  p->size = is_unsolved_axis(s, a, &p->axis) ? b : a;
  if (p->size.i == a.i && !is_unsolved_axis(s, b, &p->axis))
    return false;
  return neo_expr_axes(s->m, p->size) == 0;
}

static sum_form form_of(ad_system *s, const ad_equation *q) {
  sum_form f = {.linear = true};
  neo_linear l, rest = {0};
  neo_expr diff = q->lhs;
  if (!neo_linear_of(s->m, diff, &l))
    return (sum_form){0};
  rest.constant = l.constant;
  for (uint32_t i = 0; i < l.n; i++) {
    part p;
    if (part_of(s, l.term[i].atom, &p)) {
      p.coef = l.term[i].coef;
      f.part[f.n++] = p;
    } else if (ad_system_is_open(s, l.term[i].atom)) {
      f.linear = false;
    } else {
      rest.term[rest.n++] = l.term[i];
    }
  }
  for (uint32_t i = 0; i < f.n; i++) /* an axis must occur once */
    for (uint32_t j = 0; j < i; j++)
      if (f.part[i].axis == f.part[j].axis)
        f.linear = false;
  f.value = op2(s, NEO_OP_SUB, q->rhs, neo_linear_expr(s->m, &rest));
  return f;
}

static neo_expr part_expr(ad_system *s, const part *p, int64_t sign) {
  neo_expr e = op2(s, NEO_OP_MUL, neo_axis_ref(s->m, p->axis), int_of(s, sign * p->coef));
  return p->size.i ? op2(s, NEO_OP_MUL, e, p->size) : e;
}

/* value minus all parts but `but`. */
static neo_expr without(ad_system *s, const sum_form *f, uint32_t but) {
  neo_expr v = f->value;
  for (uint32_t i = 0; i < f->n; i++)
    if (i != but)
      v = op2(s, NEO_OP_SUB, v, part_expr(s, &f->part[i], 1));
  return v;
}

static bool is_unit(const part *p) {
  return !p->size.i && (p->coef == 1 || p->coef == -1);
}

static int64_t length_of(ad_system *s, uint32_t k) {
  neo_facts f = ad_system_facts(s);
  int64_t lo, hi;
  neo_expr len = op2(s, NEO_OP_SUB, s->axis[k].hi, s->axis[k].lo);
  return neo_interval(s->env->prover, &f, len, &lo, &hi) ? hi : INT64_MAX;
}

/* ---- the rules; each returns true if it took the equation away */

static bool rule_known(ad_system *s, ad_equation *q) {
  if (ad_system_is_open(s, q->lhs))
    return false;
  s->where = neo_both(s->m, s->where, op2(s, NEO_OP_EQ, q->lhs, q->rhs));
  q->done = true;
  return true;
}

static void solve_part(ad_system *s, ad_equation *q, const sum_form *f, uint32_t i) {
  q->done = true;
  neo_expr v = without(s, f, i);
  if (f->part[i].coef == -1)
    v = op2(s, NEO_OP_SUB, int_of(s, 0), v);
  ad_system_substitute(s, f->part[i].axis, v);
}

static bool rule_unit(ad_system *s, ad_equation *q) {
  sum_form f = form_of(s, q);
  if (!f.linear || f.n != 1 || !is_unit(&f.part[0]))
    return false;
  solve_part(s, q, &f, 0);
  return true;
}

/* The part whose coefficient exceeds everything that the other parts can add up to. */
static bool rule_digits(ad_system *s, ad_equation *q) {
  sum_form f = form_of(s, q);
  if (!f.linear || f.n == 0 || (f.n == 1 && !f.part[0].size.i))
    return false;
  for (uint32_t i = 0; i < f.n; i++) {
    if (f.part[i].coef <= 1 && !f.part[i].size.i)
      continue;
    if (f.part[i].coef < 1)
      continue;
    neo_expr c = int_of(s, f.part[i].coef);
    if (f.part[i].size.i)
      c = op2(s, NEO_OP_MUL, c, f.part[i].size);
    neo_expr rest = int_of(s, 0);
    for (uint32_t j = 0; j < f.n; j++)
      if (j != i)
        rest = op2(s, NEO_OP_ADD, rest, part_expr(s, &f.part[j], 1));
    neo_facts facts = ad_system_facts(s);
    if (!neo_proves_index(s->env->prover, &facts, rest, c))
      continue;
    q->done = true;
    ad_system_equate(s, rest, op2(s, NEO_OP_MOD, f.value, c));
    ad_system_substitute(s, f.part[i].axis, op2(s, NEO_OP_DIV, f.value, c));
    return true;
  }
  return false;
}

/* e % K = v where e takes at most K values: v determines e, so no unknown quotient remains. */
static bool rule_wrap(ad_system *s, ad_equation *q) {
  neo_facts f = ad_system_facts(s);
  neo_expr lo, hi;
  if (neo_expr_node(s->m, q->lhs)->op != NEO_OP_MOD)
    return false;
  neo_expr e = neo_expr_arg(s->m, q->lhs, 0), by = neo_expr_arg(s->m, q->lhs, 1);
  if (neo_expr_axes(s->m, by) || !ad_system_is_positive(s, by) ||
      !ad_system_hull(s, e, 0, -1, &lo) || !ad_system_hull(s, e, 0, 1, &hi) ||
      neo_prove(s->env->prover, &f, op2(s, NEO_OP_LT, op2(s, NEO_OP_SUB, hi, lo), by), NULL) !=
          NEO_PROVED)
    return false;
  ad_system_require(s, neo_between(s->m, int_of(s, 0), q->rhs, by));
  neo_expr past = op2(s, NEO_OP_MOD, op2(s, NEO_OP_SUB, q->rhs, lo), by);
  q->done = true;
  ad_system_equate(s, e, op2(s, NEO_OP_ADD, lo, past));
  return true;
}

/* ---- radix */

typedef struct {
  ad_system *s;
  neo_expr node; /* the quotient or remainder; 0: none found */
  uint32_t axis;
  int64_t sign, by; /* sign and divisor of (sign*axis + rest) / by */
  neo_expr rest;    /* over sizes */
} radix;

static void find_radix(void *ctx, neo_expr e) {
  radix *r = ctx;
  neo_module *m = r->s->m;
  const neo_node n = *neo_expr_node(m, e);
  neo_linear l, rest = {0};
  int64_t by;
  uint32_t axis = 0, axes = 0;
  if (r->node.i || (n.op != NEO_OP_DIV && n.op != NEO_OP_MOD) || n.type != NEO_I64_T)
    return;
  neo_expr x = neo_list_expr(m, n.arg, 0);
  if (!neo_expr_is_int(m, neo_list_expr(m, n.arg, 1), &by) || by <= 1 || !neo_linear_of(m, x, &l))
    return;
  rest.constant = l.constant;
  for (uint32_t k = 0; k < l.n; k++) {
    neo_expr atom = l.term[k].atom;
    if (is_unsolved_axis(r->s, atom, &axis) && (l.term[k].coef == 1 || l.term[k].coef == -1)) {
      r->sign = l.term[k].coef;
      axes++;
    } else if (neo_expr_axes(m, atom) || !ad_is_plain_index(m, atom)) {
      return;
    } else {
      rest.term[rest.n++] = l.term[k];
    }
  }
  if (axes != 1)
    return;
  r->node = e;
  r->axis = axis;
  r->by = by;
  r->rest = neo_linear_expr(m, &rest);
}

static uint32_t new_axis(ad_system *s, uint32_t like, neo_expr lo, neo_expr hi) {
  s->axis[s->n] = s->axis[like];
  s->axis[s->n].lo = lo;
  s->axis[s->n].hi = hi;
  return s->n++;
}

/* With x = sign*axis + rest: axis = sign*(by*u + v - rest), v < by. */
static void split_axis(ad_system *s, const radix *r) {
  neo_module *m = s->m;
  neo_expr one = int_of(s, 1), by = int_of(s, r->by);
  neo_expr first = s->axis[r->axis].lo, last = op2(s, NEO_OP_SUB, s->axis[r->axis].hi, one);
  if (r->sign < 0) {
    neo_expr t = op2(s, NEO_OP_SUB, int_of(s, 0), last);
    last = op2(s, NEO_OP_SUB, int_of(s, 0), first);
    first = t;
  }
  first = op2(s, NEO_OP_DIV, op2(s, NEO_OP_ADD, first, r->rest), by);
  last = op2(s, NEO_OP_DIV, op2(s, NEO_OP_ADD, last, r->rest), by);
  uint32_t u = new_axis(s, r->axis, first, op2(s, NEO_OP_ADD, last, one));
  uint32_t v = new_axis(s, r->axis, int_of(s, 0), by);
  neo_expr x = op2(s, NEO_OP_MUL, neo_axis_ref(m, u), by);
  x = op2(s, NEO_OP_SUB, op2(s, NEO_OP_ADD, x, neo_axis_ref(m, v)), r->rest);
  ad_system_substitute(s, r->axis, r->sign < 0 ? op2(s, NEO_OP_SUB, int_of(s, 0), x) : x);
  neo_facts f = ad_system_facts(s);
  for (uint32_t i = 0; i < s->n_eq; i++)
    s->eq[i].lhs = ad_system_simpler(s, &f, s->eq[i].lhs);
}

static bool rule_radix(ad_system *s, ad_equation *q) {
  radix r = {.s = s};
  if (s->n_radix == AD_MAX_RADIX || s->n + 2 >= 62)
    return false;
  neo_expr_visit(s->m, q->lhs, find_radix, &r);
  if (!r.node.i)
    return false;
  s->n_radix++;
  split_axis(s, &r);
  return true;
}

static bool rule_isolate(ad_system *s, ad_equation *q) {
  sum_form f = form_of(s, q);
  uint32_t best = f.n;
  for (uint32_t i = 0; f.linear && i < f.n; i++)
    if (is_unit(&f.part[i]) &&
        (best == f.n || length_of(s, f.part[i].axis) > length_of(s, f.part[best].axis)))
      best = i;
  if (best == f.n)
    return false;
  solve_part(s, q, &f, best);
  return true;
}

static bool rule_lattice(ad_system *s, ad_equation *q) {
  sum_form f = form_of(s, q);
  uint32_t best = f.n;
  for (uint32_t i = 0; f.linear && i < f.n; i++)
    if (!f.part[i].size.i && (best == f.n || llabs(f.part[i].coef) < llabs(f.part[best].coef)))
      best = i;
  if (best == f.n)
    return false;
  q->done = true;
  neo_expr v = without(s, &f, best), c = int_of(s, llabs(f.part[best].coef));
  if (f.part[best].coef < 0)
    v = op2(s, NEO_OP_SUB, int_of(s, 0), v);
  ad_system_substitute(s, f.part[best].axis, op2(s, NEO_OP_DIV, v, c));
  ad_system_require(s, op2(s, NEO_OP_EQ, op2(s, NEO_OP_MOD, v, c), int_of(s, 0)));
  return true;
}

static bool rule_define(ad_system *s, ad_equation *q) {
  neo_linear l, rest;
  uint32_t axis, best = UINT32_MAX;
  int64_t sign = 0;
  if (!neo_linear_of(s->m, q->lhs, &l))
    return false;
  for (uint32_t i = 0; i < l.n; i++) {
    uint64_t others = 0;
    if ((l.term[i].coef != 1 && l.term[i].coef != -1) ||
        !is_unsolved_axis(s, l.term[i].atom, &axis))
      continue;
    for (uint32_t j = 0; j < l.n; j++)
      others |= j == i ? 0 : neo_expr_axes(s->m, l.term[j].atom);
    if ((others >> axis & 1) || (best != UINT32_MAX && length_of(s, axis) <= length_of(s, best)))
      continue;
    best = axis;
    sign = l.term[i].coef;
    rest = l;
    rest.term[i] = rest.term[rest.n - 1];
    rest.n--;
  }
  if (best == UINT32_MAX)
    return false;
  q->done = true;
  neo_expr v = op2(s, NEO_OP_SUB, q->rhs, neo_linear_expr(s->m, &rest));
  ad_system_substitute(s, best, sign < 0 ? op2(s, NEO_OP_SUB, int_of(s, 0), v) : v);
  return true;
}

typedef struct {
  ad_system *s;
  neo_expr node; /* the remainder; 0: none found */
} remainder_search;

/* Finds a remainder of a sum with an axis that can be solved for, as it occurs in no other term. */
static void find_remainder(void *ctx, neo_expr e) {
  remainder_search *r = ctx;
  neo_module *m = r->s->m;
  const neo_node n = *neo_expr_node(m, e);
  neo_linear l;
  uint32_t axis;
  bool solvable = false;
  if (r->node.i || n.op != NEO_OP_MOD || n.type != NEO_I64_T ||
      neo_expr_axes(m, neo_list_expr(m, n.arg, 1)) ||
      !neo_linear_of(m, neo_list_expr(m, n.arg, 0), &l))
    return;
  for (uint32_t k = 0; k < l.n; k++)
    solvable = solvable || is_unsolved_axis(r->s, l.term[k].atom, &axis);
  if (solvable && ad_system_is_positive(r->s, neo_list_expr(m, n.arg, 1)))
    r->node = e;
}

typedef struct {
  neo_expr quotient, quotient_by, remainder, remainder_by;
} renaming;

static neo_expr rename_node(void *ctx, neo_module *m, neo_expr e) {
  (void)m;
  const renaming *r = ctx;
  if (e.i == r->quotient.i)
    return r->quotient_by;
  return e.i == r->remainder.i ? r->remainder_by : e;
}

static bool rule_remainder(ad_system *s, ad_equation *q) {
  neo_module *m = s->m;
  remainder_search found = {.s = s};
  if (s->n_radix == AD_MAX_RADIX || s->n + 1 >= 62)
    return false;
  neo_expr_visit(m, q->lhs, find_remainder, &found);
  if (!found.node.i)
    return false;
  neo_expr x = neo_expr_arg(m, found.node, 0), by = neo_expr_arg(m, found.node, 1), lo, hi;
  if (!ad_system_hull(s, x, 0, -1, &lo) || !ad_system_hull(s, x, 0, 1, &hi))
    return false;
  hi = op2(s, NEO_OP_ADD, op2(s, NEO_OP_DIV, hi, by), int_of(s, 1));
  uint32_t k = new_axis(s, s->n_out, op2(s, NEO_OP_DIV, lo, by), hi);
  neo_expr axis = neo_axis_ref(m, k), rest = op2(s, NEO_OP_SUB, x, op2(s, NEO_OP_MUL, axis, by));
  neo_expr in = neo_between(m, int_of(s, 0), rest, by);
  renaming r = {op2(s, NEO_OP_DIV, x, by), axis, found.node, rest};
  for (uint32_t i = 0; i < s->n_eq; i++)
    s->eq[i].lhs = neo_expr_rewrite(m, s->eq[i].lhs, rename_node, &r);
  ad_system_require(s, in);
  s->n_radix++;
  return true;
}

/* v*k, k > 0, where a quotient by k is v: of a v so large that the product leaves i64 there is
 * none, which is a condition unless it is known. A v of data may be anything. */
static neo_expr times(ad_system *s, neo_expr v, neo_expr k) {
  neo_facts f = ad_system_facts(s);
  neo_expr one = int_of(s, 1),
           most = op2(s, NEO_OP_SUB, op2(s, NEO_OP_DIV, int_of(s, INT64_MAX), k), one);
  neo_expr in[] = {op2(s, NEO_OP_LE, op2(s, NEO_OP_SUB, int_of(s, 0), most), v),
                   op2(s, NEO_OP_LE, v, most)};
  for (int end = 0; end < 2; end++)
    if (!neo_proves(s->env->prover, &f, in[end]))
      s->where = neo_both(s->m, s->where, in[end]);
  return op2(s, NEO_OP_MUL, v, k);
}

static bool rule_interval(ad_system *s, ad_equation *q) {
  const neo_node *n = neo_expr_node(s->m, q->lhs);
  int64_t k;
  if (n->op != NEO_OP_DIV || !neo_expr_is_int(s->m, neo_expr_arg(s->m, q->lhs, 1), &k) || k <= 0)
    return false;
  neo_expr e = neo_expr_arg(s->m, q->lhs, 0), lo = times(s, q->rhs, int_of(s, k));
  neo_expr in = neo_both(s->m, op2(s, NEO_OP_LE, lo, e),
                         op2(s, NEO_OP_LT, e, op2(s, NEO_OP_ADD, lo, int_of(s, k))));
  s->where = neo_both(s->m, s->where, in);
  q->done = true;
  return true;
}

static bool rule_leave(ad_system *s, ad_equation *q) {
  s->where = neo_both(s->m, s->where, op2(s, NEO_OP_EQ, q->lhs, q->rhs));
  q->done = true;
  return true;
}

/* x = q / d * d' ...: is e the quotient of x by a constant? e itself is x / 1. */
static void split_div(ad_system *s, neo_expr e, neo_expr *x, int64_t *by) {
  *x = e;
  *by = 1;
  int64_t k;
  while (neo_expr_node(s->m, *x)->op == NEO_OP_DIV &&
         neo_expr_is_int(s->m, neo_expr_arg(s->m, *x, 1), &k) && k > 0) {
    *by *= k;
    *x = neo_expr_arg(s->m, *x, 0);
  }
}

/* base / (c*K) = z1 and (base / c) % K = z2 give base / c = z1*K + z2 with 0 <= z2 < K. */
static bool pair(ad_system *s, ad_equation *a, ad_equation *b) {
  const neo_node *mod = neo_expr_node(s->m, b->lhs), *div = neo_expr_node(s->m, a->lhs);
  if (a->done || b->done || mod->op != NEO_OP_MOD || div->op != NEO_OP_DIV)
    return false;
  neo_expr low = neo_expr_arg(s->m, b->lhs, 0), k = neo_expr_arg(s->m, b->lhs, 1), x, y;
  int64_t kc, c, ck;
  if (neo_expr_is_int(s->m, k, &kc)) {
    split_div(s, low, &x, &c);
    split_div(s, a->lhs, &y, &ck);
    if (x.i != y.i || kc <= 0 || ck != c * kc)
      return false;
  } else if (neo_expr_arg(s->m, a->lhs, 0).i != low.i || neo_expr_arg(s->m, a->lhs, 1).i != k.i ||
             !ad_system_is_positive(s, k)) {
    return false;
  }
  neo_expr digit = b->rhs;
  neo_expr in = neo_both(s->m, op2(s, NEO_OP_LE, int_of(s, 0), digit), op2(s, NEO_OP_LT, digit, k));
  ad_system_require(s, in);
  a->done = b->done = true;
  ad_system_equate(s, low, op2(s, NEO_OP_ADD, times(s, a->rhs, k), digit));
  return true;
}

static bool pair_any(ad_system *s) {
  for (uint32_t i = 0; i < s->n_eq; i++)
    for (uint32_t j = 0; j < s->n_eq; j++)
      if (i != j && pair(s, &s->eq[i], &s->eq[j]))
        return true;
  return false;
}

/* Moves conjuncts that are equations between indices into the system and returns the others. The
 * reads of the equations get guards, since conditions before them may now come after them. */
static neo_expr take_equations(ad_system *s, neo_expr where) {
  neo_module *m = s->m;
  const neo_node n = *neo_expr_node(m, where);
  if (n.op == NEO_OP_AND) {
    neo_expr a = take_equations(s, neo_list_expr(m, n.arg, 0));
    return neo_both(m, a, take_equations(s, neo_list_expr(m, n.arg, 1)));
  }
  if (n.op != NEO_OP_EQ || s->n_eq + 8 > AD_MAX_EQ)
    return where;
  neo_expr a = neo_list_expr(m, n.arg, 0), b = neo_list_expr(m, n.arg, 1);
  if (neo_expr_type(m, a) != NEO_I64_T || !ad_system_is_open(s, where))
    return where;
  a = ad_guard_reads(m, a);
  b = ad_guard_reads(m, b);
  if (neo_expr_axes(m, a) == 0) {
    neo_expr t = a;
    a = b;
    b = t;
  }
  if (neo_expr_axes(m, b)) {
    a = op2(s, NEO_OP_SUB, a, b);
    b = int_of(s, 0);
  }
  ad_system_equate(s, a, b);
  return (neo_expr){0};
}

/* ---- equations of data */

/* The axis that e is, maybe converted to i32; false: it is another expression, or the axis is
 * determined already, or does not fit. */
static bool is_open_axis(ad_system *s, neo_expr e, uint32_t *axis) {
  const neo_node *n = neo_expr_node(s->m, e);
  bool narrow = n->op == NEO_OP_CAST && n->type == NEO_I32_T;
  neo_expr x = narrow ? neo_list_expr(s->m, n->arg, 0) : e;
  neo_facts f = ad_system_facts(s);
  int64_t lo, hi;
  n = neo_expr_node(s->m, x);
  if (n->op != NEO_OP_AXIS || n->attr < s->n_out || s->solved[n->attr])
    return false;
  *axis = n->attr;
  return !narrow ||
         (neo_interval(s->env->prover, &f, x, &lo, &hi) && lo >= INT32_MIN && hi <= INT32_MAX);
}

/* The conjuncts of `where` without the first one that equates an axis with an element of data. */
static neo_expr take_data(ad_system *s, neo_expr where, uint32_t *axis, neo_expr *value) {
  neo_module *m = s->m;
  const neo_node n = *neo_expr_node(m, where);
  if (n.op == NEO_OP_AND) {
    neo_expr a = neo_list_expr(m, n.arg, 0), b = neo_list_expr(m, n.arg, 1);
    neo_expr before = take_data(s, a, axis, value);
    return neo_both(m, before, value->i ? b : take_data(s, b, axis, value));
  }
  for (uint32_t side = 0; side < 2 && n.op == NEO_OP_EQ; side++) {
    neo_expr x = neo_list_expr(m, n.arg, side), e = neo_list_expr(m, n.arg, 1 - side);
    bool integer = neo_expr_type(m, x) == NEO_I32_T || neo_expr_type(m, x) == NEO_I64_T;
    if (!integer || !is_open_axis(s, x, axis) || neo_expr_axes(m, e) >> *axis & 1 ||
        !neo_expr_uses_op(m, e, NEO_OP_LOAD))
      continue;
    *value = neo_cast(m, NEO_I64_T, e);
    return (neo_expr){0};
  }
  return where;
}

/* A condition may determine an axis that the indices leave open: sum[v where key[p] == v] x[v] is
 * x[key[p]]. */
static void solve_data(ad_system *s) {
  bool again = !s->left;
  while (again && s->where.i && !s->failed) {
    uint32_t axis = 0;
    neo_expr value = {0}, rest = take_data(s, s->where, &axis, &value);
    again = value.i != 0;
    if (!again)
      return;
    s->where = ad_guard_reads(s->m, rest); /* guards that stood after the equation */
    ad_system_substitute(s, axis, ad_guard_reads(s->m, value));
  }
}

void ad_system_solve(ad_system *s) {
  uint32_t n_eq = s->n_eq;
  if (s->where.i)
    s->where = take_equations(s, s->where);
  if (s->where.i && s->n_eq > n_eq) /* an equation may have come before the remaining conditions */
    s->where = ad_guard_reads(s->m, s->where);
  static bool (*const rules[])(ad_system *, ad_equation *) = {
      rule_known,   rule_unit,   rule_wrap,      rule_radix,    rule_digits, rule_isolate,
      rule_lattice, rule_define, rule_remainder, rule_interval, rule_leave};
  bool again = true;
  for (uint32_t i = 0; s->left && i < s->n_eq; i++)
    (void)rule_leave(s, &s->eq[i]);
  while (again && !s->failed) {
    again = pair_any(s);
    for (size_t r = 0; r < sizeof rules / sizeof *rules && !again; r++)
      for (uint32_t i = 0; i < s->n_eq && !again; i++)
        if (!s->eq[i].done)
          again = rules[r](s, &s->eq[i]);
  }
  solve_data(s);
}

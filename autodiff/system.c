/* The index system of a read, while it is solved: its equations, substitutions, and the ranges of
 * the remaining axes.
 *
 * A substituted axis adds its range as a condition. A range that used the axis is loosened to one
 * over earlier axes, and becomes a condition too. */
#include "autodiff/solve.h"

static neo_expr guard_load(void *ctx, neo_module *m, neo_expr e) {
  (void)ctx;
  return neo_expr_node(m, e)->op == NEO_OP_LOAD ? neo_load_else_zero(m, e) : e;
}

neo_expr ad_guard_reads(neo_module *m, neo_expr e) {
  return neo_expr_rewrite(m, e, guard_load, NULL);
}

static neo_expr op2(ad_system *s, neo_op op, neo_expr a, neo_expr b) {
  return neo_op2(s->m, op, a, b);
}
static neo_expr int_of(ad_system *s, int64_t x) {
  return neo_const_i64(s->m, x);
}

neo_facts ad_system_facts(ad_system *s) {
  return (neo_facts){.axes = s->axis, .n_axes = s->n};
}

bool ad_system_is_open(ad_system *s, neo_expr e) {
  uint64_t used = neo_expr_axes(s->m, e);
  for (uint32_t k = s->n_out; k < s->n; k++)
    if ((used >> k & 1) && !s->solved[k])
      return true;
  return false;
}

neo_expr ad_system_apply(ad_system *s, neo_expr e) {
  return neo_expr_subst_axes(s->m, e, s->by, s->n);
}

bool ad_system_is_positive(ad_system *s, neo_expr k) {
  neo_facts f = ad_system_facts(s);
  neo_expr above = op2(s, NEO_OP_LT, int_of(s, 0), k);
  return !ad_system_is_open(s, k) && neo_proves(s->env->prover, &f, above);
}

/* ---- bounds */

/* The hull of an atom: an axis, a function that is monotone in its arguments (min, max, a
 * quotient by a positive factor), or a remainder. */
static bool hull_atom(ad_system *s, neo_expr e, uint64_t allowed, int sign, neo_expr *out) {
  neo_node n = *neo_expr_node(s->m, e);
  if (n.op == NEO_OP_AXIS) {
    uint64_t bit = 1ull << n.attr;
    if (s->in_hull & bit) /* bounds that depend on each other */
      return false;
    neo_expr end = s->axis[n.attr].lo;
    if (sign > 0)
      end = op2(s, NEO_OP_SUB, s->axis[n.attr].hi, int_of(s, 1));
    s->in_hull |= bit;
    bool good = ad_system_hull(s, end, allowed & ~bit, sign, out);
    s->in_hull &= ~bit;
    return good;
  }
  if (n.op == NEO_OP_MOD && neo_expr_axes(s->m, neo_list_expr(s->m, n.arg, 1)) == 0 &&
      ad_system_is_positive(s, neo_list_expr(s->m, n.arg, 1))) {
    neo_expr last = op2(s, NEO_OP_SUB, neo_list_expr(s->m, n.arg, 1), int_of(s, 1));
    *out = sign > 0 ? last : int_of(s, 0);
    return true;
  }
  bool rises = n.op == NEO_OP_MIN || n.op == NEO_OP_MAX;
  if (n.op == NEO_OP_DIV)
    rises = neo_expr_axes(s->m, neo_list_expr(s->m, n.arg, 1)) == 0 &&
            ad_system_is_positive(s, neo_list_expr(s->m, n.arg, 1));
  neo_expr x, y;
  if (!rises || !ad_system_hull(s, neo_list_expr(s->m, n.arg, 0), allowed, sign, &x) ||
      !ad_system_hull(s, neo_list_expr(s->m, n.arg, 1), allowed, sign, &y))
    return false;
  *out = op2(s, (neo_op)n.op, x, y);
  return true;
}

/* Whether the ends of the form may leave i64 although all values of the program stay inside:
 * substitutions widen the ranges. */
static bool may_wrap(ad_system *s, neo_expr e, const neo_linear *l) {
  const int64_t large = (int64_t)1 << 31;
  bool modest = l->constant > -large * large / 4 && l->constant < large * large / 4;
  for (uint32_t k = 0; k < l->n; k++)
    modest = modest && l->term[k].coef > -large && l->term[k].coef < large;
  neo_facts f = ad_system_facts(s);
  int64_t lo, hi;
  return !modest && !neo_interval(s->env->prover, &f, e, &lo, &hi);
}

/* Upper (sign 1) or lower (-1) hull of a bound over the axes that may not be used there. False: not
 * of that form. */
bool ad_system_hull(ad_system *s, neo_expr e, uint64_t allowed, int sign, neo_expr *out) {
  neo_linear l;
  if ((neo_expr_axes(s->m, e) & ~allowed) == 0) {
    *out = e;
    return true;
  }
  if (!neo_linear_of(s->m, e, &l) || may_wrap(s, e, &l))
    return false;
  neo_expr sum = int_of(s, l.constant);
  for (uint32_t i = 0; i < l.n; i++) {
    neo_expr atom = l.term[i].atom;
    if ((neo_expr_axes(s->m, atom) & ~allowed) &&
        !hull_atom(s, atom, allowed, l.term[i].coef > 0 ? sign : -sign, &atom))
      return false;
    sum = op2(s, NEO_OP_ADD, sum, op2(s, NEO_OP_MUL, atom, int_of(s, l.term[i].coef)));
  }
  *out = sum;
  return true;
}

/* The bound without axis `gone`: its hull, or else a number. */
static bool loosen(ad_system *s, neo_expr bound, uint64_t allowed, bool upper, neo_expr *out) {
  neo_facts f = ad_system_facts(s);
  int64_t lo, hi;
  if (ad_system_hull(s, bound, allowed, upper ? 1 : -1, out))
    return true;
  if (!neo_interval(s->env->prover, &f, bound, &lo, &hi))
    return false;
  *out = int_of(s, upper ? hi : lo);
  return true;
}

/* A new condition comes before the older ones, whose reads are proved with it. */
void ad_system_require(ad_system *s, neo_expr cond) {
  s->range = neo_both(s->m, cond, s->range);
}

/* An end of axis k after axis `gone` was substituted. If it would use axes from k on, it is
 * loosened and becomes a condition, which is returned. */
static neo_expr rebound(ad_system *s, uint32_t k, uint32_t gone, bool upper) {
  neo_expr *end = upper ? &s->axis[k].hi : &s->axis[k].lo;
  neo_expr now = ad_system_apply(s, *end), self = neo_axis_ref(s->m, k);
  uint64_t before = (1ull << k) - 1;
  if ((neo_expr_axes(s->m, now) & ~before) == 0) {
    *end = now;
    return (neo_expr){0};
  }
  for (uint32_t i = s->n_out; i < k; i++)
    if (s->solved[i])
      before &= ~(1ull << i);
  s->failed = s->failed || !loosen(s, *end, before & ~(1ull << gone), upper, end);
  return upper ? op2(s, NEO_OP_LT, self, now) : op2(s, NEO_OP_LE, now, self);
}

static void reapply(ad_system *s, uint32_t gone) {
  for (uint32_t i = 0; i < s->n_eq; i++) {
    s->eq[i].lhs = ad_system_apply(s, s->eq[i].lhs);
    s->eq[i].rhs = ad_system_apply(s, s->eq[i].rhs);
  }
  s->range = ad_system_apply(s, s->range);
  s->where = ad_system_apply(s, s->where);
  neo_expr loosened = {0};
  for (uint32_t k = s->n_out; k < s->n; k++) {
    if (s->solved[k]) {
      s->by[k] = ad_system_apply(s, s->by[k]);
      continue;
    }
    loosened = neo_both(s->m, loosened, rebound(s, k, gone, false));
    loosened = neo_both(s->m, loosened, rebound(s, k, gone, true));
  }
  ad_system_require(s, loosened);
}

/* Reads stay guarded until all conditions are known: a range that proves one today may be a
 * condition tomorrow. */
neo_expr ad_system_simpler(ad_system *s, const neo_facts *f, neo_expr e) {
  return ad_guard_reads(s->m, neo_simplify_under(s->env->prover, f, e));
}

/* AXIS k := value, with k's range as a condition. */
void ad_system_substitute(ad_system *s, uint32_t k, neo_expr value) {
  neo_facts f = ad_system_facts(s);
  value = ad_system_simpler(s, &f, value);
  neo_expr in = neo_both(s->m, op2(s, NEO_OP_LE, s->axis[k].lo, value),
                         op2(s, NEO_OP_LT, value, s->axis[k].hi));
  s->solved[k] = true;
  s->by[k] = value;
  ad_system_require(s, in);
  reapply(s, k);
}

void ad_system_equate(ad_system *s, neo_expr lhs, neo_expr rhs) {
  if (s->n_eq == AD_MAX_EQ) {
    s->failed = true;
    return;
  }
  s->eq[s->n_eq++] = (ad_equation){lhs, rhs, false};
}

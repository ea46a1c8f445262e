/* Matches reductions whose domain grows with an output axis.
 *
 * Among the bounds of own axes and the conjuncts of the condition, one must relate an own axis k to
 * a shared axis u, in linear form:
 *
 *   k < edge (prefix) or edge <= k (suffix),   edge = c*u + d,   c not 0
 *
 * Everything else (bodies, the rest of the condition, other ranges) must be free of u. */
#include "schedule/scan/scan.h"
#include "ir/prove/prove.h"
#include "schedule/match.h"
#include "schedule/model.h"

typedef struct {
  neo_module *m;
  const neo_form *f;
  const neo_stage *s;
  uint64_t shared, own; /* axes as bits */
  neo_scan *out;
} finder;

/* Reads a condition g >= 0 as k < edge or edge <= k, for some own axis k and shared axis u. */
static bool relation(finder *x, const neo_linear *g) {
  int own = -1, axis = -1;
  int64_t k = 0, u = 0;
  for (uint32_t i = 0; i < g->n; i++) {
    const neo_node *n = neo_expr_node(x->m, g->term[i].atom);
    uint64_t axes = neo_form_axes(x->m, x->f, g->term[i].atom);
    if (axes & x->own) {
      if (own >= 0 || n->op != NEO_OP_AXIS)
        return false;
      own = (int)(n->attr - x->f->axes.n);
      k = g->term[i].coef;
    } else if (axes) {
      if (axis >= 0 || n->op != NEO_OP_AXIS)
        return false;
      axis = (int)n->attr;
      u = g->term[i].coef;
    }
  }
  if (own < 0 || axis < 0 || (k != 1 && k != -1) || u < -4096 || u > 4096)
    return false;
  /* k = 1: -rest <= k; k = -1: k < rest + 1 */
  neo_linear edge = *g, self = {.n = 1};
  self.term[0].atom = neo_axis_ref(x->m, (uint32_t)x->f->axes.n + (uint32_t)own);
  self.term[0].coef = 1;
  neo_linear rest, zero = {0};
  if (!neo_linear_add(&edge, -k, &self, &rest) || !neo_linear_add(&zero, -k, &rest, &edge))
    return false;
  edge.constant += k < 0;
  if (!neo_linear_is_modest(x->m, &edge))
    return false;
  neo_scan *r = x->out;
  r->own = (uint32_t)own;
  r->axis = (uint32_t)axis;
  r->suffix = k > 0;
  int64_t slope = k > 0 ? -u : u; /* slope of the edge */
  r->down = r->suffix == (slope > 0);
  r->step = slope > 0 ? slope : -slope;
  r->edge = neo_linear_expr(x->m, &edge);
  return true;
}

/* Reads a < b (strict) or a <= b as a relation. */
static bool compare(finder *x, neo_expr a, neo_expr b, bool strict) {
  neo_linear p, q, g;
  if (neo_expr_type(x->m, a) != NEO_I64_T || neo_expr_type(x->m, b) != NEO_I64_T)
    return false;
  if (!neo_linear_of(x->m, a, &p) || !neo_linear_of(x->m, b, &q) || !neo_linear_add(&q, -1, &p, &g))
    return false;
  g.constant -= strict;
  return relation(x, &g);
}

/* Splits off the conjunct that relates k to u; r->where gets the others. False: there is none, or
 * it restricts u in other ways too. */
static bool from_condition(finder *x, neo_expr where) {
  neo_node n = *neo_expr_node(x->m, where);
  neo_scan *r = x->out;
  if (n.op == NEO_OP_LT || n.op == NEO_OP_LE)
    return compare(x, neo_list_expr(x->m, n.arg, 0), neo_list_expr(x->m, n.arg, 1),
                   n.op == NEO_OP_LT);
  if (n.op != NEO_OP_AND)
    return false;
  for (uint32_t side = 0; side < 2; side++) {
    neo_expr part = neo_list_expr(x->m, n.arg, side), other = neo_list_expr(x->m, n.arg, 1 - side);
    r->where = (neo_expr){0};
    if (!from_condition(x, part))
      continue;
    r->where = r->where.i ? neo_op2(x->m, NEO_OP_AND, r->where, other) : other;
    return true;
  }
  return false;
}

/* Reads an end of own axis k's range: a bound, or the minimum (maximum) of several. *left gets the
 * other bounds; 0: there are none. */
static bool from_end(finder *x, neo_expr k, neo_expr end, bool upper, neo_expr *left) {
  neo_node n = *neo_expr_node(x->m, end);
  *left = (neo_expr){0};
  if (n.op != (upper ? NEO_OP_MIN : NEO_OP_MAX))
    return upper ? compare(x, k, end, true) : compare(x, end, k, false);
  for (uint32_t side = 0; side < 2; side++) {
    neo_expr other = neo_list_expr(x->m, n.arg, 1 - side), rest;
    if (!from_end(x, k, neo_list_expr(x->m, n.arg, side), upper, &rest))
      continue;
    *left = rest.i ? neo_op2(x->m, (neo_op)n.op, rest, other) : other;
    return true;
  }
  return false;
}

/* A bound of the edge that is free of u and of own axes. */
static neo_expr hull(finder *x, neo_expr edge, bool upper) {
  neo_axis_rec axes[NEO_FORM_MAX_AXES];
  neo_facts facts = {axes, neo_stage_axes(x->f, x->s, axes), NULL, 0};
  int64_t lo, hi;
  neo_prover *p = neo_prover_new(x->m);
  bool bounded = neo_interval(p, &facts, edge, &lo, &hi);
  neo_prover_free(p);
  return bounded ? neo_const_i64(x->m, upper ? hi : lo) : (neo_expr){0};
}

static bool from_ranges(finder *x) {
  neo_scan *r = x->out;
  for (uint32_t i = 0; i < x->s->axes.n; i++) {
    const neo_axis_rec *a = &x->s->axes.at[i];
    neo_expr k = neo_axis_ref(x->m, (uint32_t)x->f->axes.n + i), left;
    for (int upper = 0; upper < 2; upper++) {
      neo_expr end = upper ? a->hi : a->lo;
      if (!(neo_form_axes(x->m, x->f, end) & x->shared) || !from_end(x, k, end, upper, &left))
        continue;
      if (r->own != i || r->suffix == upper)
        return false;
      if (!left.i)
        left = hull(x, r->edge, upper);
      r->lo = upper ? a->lo : left;
      r->hi = upper ? left : a->hi;
      r->where = x->s->where;
      return left.i != 0;
    }
  }
  return false;
}

/* An argmax takes the first of equal values, so points have to come in order. */
static bool order_fits(const finder *x) {
  for (size_t k = 0; k < x->s->accs.n; k++)
    if (x->s->accs.at[k].kind == NEO_RED_NONE && (x->out->suffix || x->out->own))
      return false;
  return true;
}

/* Does the edge alone use u, and does no earlier axis depend on k? */
static bool nothing_else(const finder *x) {
  const neo_scan *r = x->out;
  const neo_module *m = x->m;
  const neo_form *f = x->f;
  uint64_t u = 1ULL << r->axis, used = 0;
  for (uint32_t i = 0; i < x->s->axes.n; i++) {
    const neo_axis_rec *a = &x->s->axes.at[i];
    if (i != r->own)
      used |= neo_form_axes(m, f, a->lo) | neo_form_axes(m, f, a->hi);
    if (i < r->own &&
        (neo_form_axes(m, f, a->lo) | neo_form_axes(m, f, a->hi)) >> (x->f->axes.n + r->own) & 1)
      return false;
  }
  for (size_t i = 0; i < x->s->accs.n; i++)
    used |= neo_form_axes(m, f, x->s->accs.at[i].body);
  if (r->where.i)
    used |= neo_form_axes(m, f, r->where);
  used |= neo_form_axes(m, f, r->lo) | neo_form_axes(m, f, r->hi);
  return !(used & u) && !((neo_form_axes(m, f, r->lo) | neo_form_axes(m, f, r->hi)) & x->own);
}

/* Does a result share memory with an operand? The scan could overwrite elements before it reads
 * them. */
static bool in_operand(const neo_module *m, const neo_group *g) {
  for (size_t i = 0; i < g->roots.n; i++) {
    neo_tensor root = g->roots.at[i], old = neo_tensor_at(m, root)->updates;
    for (size_t k = 0; k < g->reads.n; k++)
      if (g->reads.at[k].i == root.i || (old.i && g->reads.at[k].i == old.i))
        return true;
  }
  return false;
}

static bool shape_fits(const neo_form *f) {
  if (f->stages.n < 2 || !f->axes.n || !f->stages.at[0].accs.n || !f->stages.at[0].axes.n)
    return false;
  for (size_t k = 1; k < f->stages.n; k++)
    if (f->stages.at[k].accs.n || f->stages.at[k].axes.n)
      return false;
  return f->axes.n + f->stages.at[0].axes.n < 64;
}

bool neo_match_scan(neo_module *m, const neo_group *g, neo_scan *out) {
  const neo_form *f = neo_group_form(m, g);
  *out = (neo_scan){0};
  if (!shape_fits(f) || in_operand(m, g) || neo_form_row_block(f))
    return false;
  finder x = {m, f, &f->stages.at[0], (1ULL << f->axes.n) - 1, 0, out};
  for (size_t k = 0; k < x.s->axes.n; k++)
    x.own |= 1ULL << (f->axes.n + k);
  if (from_ranges(&x))
    return nothing_else(&x) && order_fits(&x);
  *out = (neo_scan){0};
  if (!x.s->where.i || !from_condition(&x, x.s->where))
    return false;
  out->lo = x.s->axes.at[out->own].lo;
  out->hi = x.s->axes.at[out->own].hi;
  return nothing_else(&x) && order_fits(&x);
}

uint64_t neo_scan_fixed(const neo_module *m, const neo_form *f, const neo_scan *x) {
  const neo_stage *s = &f->stages.at[0];
  uint64_t axes =
      neo_form_axes(m, f, x->edge) | neo_form_axes(m, f, x->lo) | neo_form_axes(m, f, x->hi);
  for (uint32_t k = 0; k < s->axes.n; k++)
    if (k != x->own)
      axes |= neo_form_axes(m, f, s->axes.at[k].lo) | neo_form_axes(m, f, s->axes.at[k].hi);
  return axes & ((1ULL << f->axes.n) - 1);
}

/* ---- the model's choice: lanes over a contiguous shared axis, the others as units */

enum { LEAST_STEPS = 8, UNIT_STEPS = 4096 };

static int64_t lanes_of(neo_module *m, const neo_form *f, const neo_machine *machine) {
  int64_t lanes = machine->vector_bytes / neo_form_widest(m, f);
  return lanes < 1 ? 1 : lanes;
}

static bool contiguous(neo_module *m, const neo_form *f, uint32_t axis) {
  int64_t stride;
  for (size_t k = 1; k < f->stages.n; k++)
    for (size_t i = 0; i < f->stages.at[k].outs.n; i++)
      if (!neo_flat_stride(m, f, f->stages.at[k].outs.at[i].offset, axis, &stride) || stride != 1)
        return false;
  return true;
}

bool neo_model_scan(neo_module *m, const neo_group *g, const neo_machine *machine,
                    neo_schedule *out) {
  const neo_form *f = neo_group_form(m, g);
  neo_scan x;
  if (!neo_scan_of(m, g, &x))
    return false;
  neo_schedule s = neo_schedule_plain();
  int64_t steps = neo_axis_most(m, &f->axes.at[x.axis]);
  uint64_t fixed = neo_scan_fixed(m, f, &x);
  s.strategy = NEO_STRATEGY_SCAN;
  s.loops.axis_m = x.axis;
  for (uint32_t k = 0; k < f->axes.n; k++) {
    int64_t n = neo_axis_most(m, &f->axes.at[k]), width = lanes_of(m, f, machine);
    while (width > 1 && width > n)
      width /= 2;
    if (k == x.axis || fixed >> k & 1 || width < 2 || !contiguous(m, f, k))
      continue;
    s.loops.vector_axis = k;
    s.loops.vector_width = width;
    s.loops.block_n = n > 8 * width ? 4 * width : n > 2 * width ? 2 * width : 0;
  }
  s.loops.unit_axes = neo_schedule_loops(f, &s);
  if (s.loops.unit_axes && steps < UNIT_STEPS)
    s.loops.unit_size = UNIT_STEPS / steps;
  *out = s;
  return true;
}

bool neo_scan_pays(neo_module *m, const neo_group *g, const neo_schedule *s) {
  const neo_form *f = neo_group_form(m, g);
  return neo_axis_most(m, &f->axes.at[s->loops.axis_m]) >= LEAST_STEPS;
}

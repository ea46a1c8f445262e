/* The condition of a segmented reduction, split into the conjuncts before the keys, the keys, and
 * the rest (segment.h). */
#include "schedule/segment/condition.h"
#include "ir/comparison.h"
#include "ir/prove/prove.h"
#include "schedule/gpu_tile/conditions.h"

enum { MOST_CONJUNCTS = 16 };

typedef struct {
  neo_module *m;
  const neo_form *f;
  neo_segment_pass *out;
  neo_expr part[MOST_CONJUNCTS];
  bool taken[MOST_CONJUNCTS];
  bool before[MOST_CONJUNCTS];   /* by conjunct: tested before the keys */
  uint32_t of[NEO_SEGMENT_KEYS]; /* the conjunct of each key; n: it is of two */
  uint32_t n, now;               /* now: the current conjunct */
} splitter;

static uint64_t axes_of(const splitter *x, neo_expr e) {
  return e.i ? neo_form_axes(x->m, x->f, e) : 0;
}

static bool is_key(const splitter *x, uint32_t axis) {
  for (uint32_t k = 0; k < x->out->n_keys; k++)
    if (x->out->key[k].axis == axis)
      return true;
  return false;
}

/* May `e` say where the shared axis is: from data, without the axis? */
static bool says(const splitter *x, uint32_t axis, neo_expr e) {
  return neo_expr_uses_op(x->m, e, NEO_OP_LOAD) && !(axes_of(x, e) >> axis & 1);
}

static uint64_t axes_of_key(const splitter *x, const neo_segment_key *k) {
  return axes_of(x, k->from) | axes_of(x, k->last) | axes_of(x, k->end);
}

/* Keys are evaluated one after the other: none uses the axis of itself or of a later one. */
static bool add_key(splitter *x, neo_segment_key key) {
  bool fits = x->out->n_keys < NEO_SEGMENT_KEYS && !is_key(x, key.axis) &&
              !(axes_of_key(x, &key) >> key.axis & 1);
  for (uint32_t k = 0; k < x->out->n_keys && fits; k++)
    fits = !(axes_of_key(x, &x->out->key[k]) >> key.axis & 1);
  if (fits) {
    x->of[x->out->n_keys] = x->now;
    x->out->key[x->out->n_keys++] = key;
  }
  return fits;
}

/* ---- equations */

/* AXIS v == key, or key == AXIS v */
static bool take_plain(splitter *x, neo_expr e) {
  if (neo_expr_node(x->m, e)->op != NEO_OP_EQ)
    return false;
  for (uint32_t side = 0; side < 2; side++) {
    neo_expr key = neo_expr_arg(x->m, e, 1 - side);
    neo_node v = *neo_expr_node(x->m, neo_expr_arg(x->m, e, side));
    if (v.op == NEO_OP_AXIS && v.attr < x->f->axes.n && says(x, v.attr, key) &&
        add_key(x, (neo_segment_key){.axis = v.attr, .from = key}))
      return true;
  }
  return false;
}

/* The form without a term of the axis, times `sign`. */
static neo_expr without(neo_module *m, const neo_linear *f, neo_expr axis, int64_t sign) {
  neo_linear zero = {0}, y = {0};
  for (uint32_t k = 0; k < f->n; k++)
    if (f->term[k].atom.i != axis.i)
      zero.term[zero.n++] = f->term[k];
  zero.constant = f->constant;
  neo_linear none = {0};
  return neo_linear_add(&none, sign, &zero, &y) ? neo_linear_expr(m, &y) : (neo_expr){0};
}

/* c*v + r == 0 for data r: v is -r/c, and where c does not divide r the equation itself is
 * tested afterwards (*whole says whether the key alone decides). */
static bool take_linear(splitter *x, neo_expr e, bool *whole) {
  neo_linear f;
  if (neo_comparison_of(x->m, e, &f) != NEO_EQUALS_0 || !neo_linear_is_modest(x->m, &f))
    return false;
  for (uint32_t k = 0; k < f.n; k++) {
    neo_node v = *neo_expr_node(x->m, f.term[k].atom);
    int64_t c = f.term[k].coef;
    if (v.op != NEO_OP_AXIS || v.attr >= x->f->axes.n || c == INT64_MIN)
      continue;
    neo_expr key = without(x->m, &f, f.term[k].atom, c > 0 ? -1 : 1);
    if (!key.i || !says(x, v.attr, key))
      continue;
    int64_t n = c > 0 ? c : -c;
    if (n > 1)
      key = neo_op2(x->m, NEO_OP_DIV, key, neo_const_i64(x->m, n));
    *whole = n == 1;
    if (add_key(x, (neo_segment_key){.axis = v.attr, .from = key}))
      return true;
  }
  return false;
}

/* ---- intervals */

typedef struct { /* an end of an interval of axis v; 0 where it is no such */
  neo_expr from, last, end;
} side;

/* The bound that a <= b or a < b sets for AXIS v, which is a or b. */
static side side_of(splitter *x, neo_expr e, uint32_t axis) {
  neo_node n = *neo_expr_node(x->m, e);
  side y = {0};
  if (n.op != NEO_OP_LE && n.op != NEO_OP_LT)
    return y;
  neo_expr a = neo_list_expr(x->m, n.arg, 0), b = neo_list_expr(x->m, n.arg, 1);
  neo_expr v = neo_axis_ref(x->m, axis), one = neo_const_i64(x->m, 1);
  if (a.i == v.i && says(x, axis, b))
    *(n.op == NEO_OP_LE ? &y.last : &y.end) = b;
  else if (b.i == v.i && says(x, axis, a))
    y.from = n.op == NEO_OP_LE
                 ? a
                 : neo_op2(x->m, NEO_OP_ADD, one, /* -1 and what is less are one */
                           neo_op2(x->m, NEO_OP_MAX, a, neo_op1(x->m, NEO_OP_NEG, one)));
  return y;
}

/* Both ends of an interval of the axis. */
static bool take_interval(splitter *x, uint32_t axis) {
  neo_segment_key key = {.axis = axis};
  uint32_t low = x->n, high = x->n;
  for (uint32_t k = 0; k < x->n; k++) {
    side y = x->taken[k] ? (side){0} : side_of(x, x->part[k], axis);
    if (y.from.i && low == x->n) {
      key.from = y.from;
      low = k;
    } else if ((y.last.i || y.end.i) && high == x->n) {
      key.last = y.last;
      key.end = y.end;
      high = k;
    }
  }
  if (low == x->n || high == x->n || !add_key(x, key))
    return false;
  x->taken[low] = x->taken[high] = true;
  return true;
}

/* ---- the others */

/* Conjuncts that neither use keys' axes nor read tensors go to `before`, the others to `rest`. */
static void add_rest(splitter *x, uint32_t k, uint64_t keys) {
  neo_expr e = x->part[k];
  x->before[k] = !(axes_of(x, e) & keys) && !neo_form_reads(x->m, e);
  neo_expr *to = x->before[k] ? &x->out->before : &x->out->rest;
  *to = neo_both(x->m, *to, e);
}

static bool guards(const neo_condition_context *c, neo_expr e, neo_expr cond) {
  return !e.i || neo_condition_guards(c, e, cond);
}

/* Does the condition itself evaluate the key at all points where a pass does? It does if the key's
 * conjunct comes after nothing but the conjuncts of `before` and the equations of earlier keys. The
 * condition is evaluated at points of rows: without rows, the pass is skipped. */
static bool comes_first(const splitter *x, uint32_t key) {
  bool first = x->of[key] < x->n;
  for (uint32_t k = 0; first && k < x->of[key]; k++) {
    bool met = x->before[k];
    for (uint32_t i = 0; i < key && !met; i++)
      met = x->of[i] == k && x->taken[k];
    first = met;
  }
  return first;
}

static bool key_safe(const neo_condition_context *c, const neo_segment_key *y, neo_expr before) {
  neo_prover_at(c->p, neo_expr_node(c->m, y->from)->span);
  return guards(c, y->from, before) && guards(c, y->last, before) && guards(c, y->end, before);
}

/* May the keys be evaluated at every point at which `before` holds? */
static bool keys_safe(const splitter *x, const neo_stage *s) {
  neo_axis_rec axes[NEO_FORM_MAX_AXES];
  uint32_t n = neo_stage_axes(x->f, s, axes);
  neo_condition_context c = {x->m, neo_prover_new(x->m), x->f, {axes, n, NULL, 0}};
  bool safe = true;
  for (uint32_t k = 0; k < x->out->n_keys && safe; k++)
    if (!key_safe(&c, &x->out->key[k], x->out->before)) {
      safe = comes_first(x, k);
      x->out->of_rows = true;
    }
  neo_prover_free(c.p);
  return safe;
}

bool neo_segment_split(neo_module *m, const neo_form *f, const neo_stage *s, bool intervals,
                       neo_segment_pass *out) {
  splitter x = {.m = m, .f = f, .out = out};
  uint64_t keys = 0;
  *out = (neo_segment_pass){0};
  if (!s->where.i || !neo_conjuncts_of(m, s->where, x.part, &x.n, MOST_CONJUNCTS))
    return false;
  for (x.now = 0; x.now < x.n; x.now++)
    x.taken[x.now] = take_plain(&x, x.part[x.now]);
  for (x.now = 0; x.now < x.n; x.now++) {
    uint32_t k = x.now;
    bool whole = false;
    x.taken[k] = x.taken[k] || (take_linear(&x, x.part[k], &whole) && whole);
  }
  for (uint32_t k = 0; k < f->axes.n && intervals; k++)
    take_interval(&x, k);
  for (uint32_t k = 0; k < out->n_keys; k++)
    keys |= (uint64_t)1 << out->key[k].axis;
  for (uint32_t k = 0; k < x.n; k++)
    if (!x.taken[k])
      add_rest(&x, k, keys);
  return out->n_keys && keys_safe(&x, s);
}

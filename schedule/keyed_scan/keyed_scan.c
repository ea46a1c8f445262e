/* Matches running reductions by keys (keyed_scan.h). */
#include "schedule/keyed_scan/keyed_scan.h"
#include "ir/comparison.h"
#include "ir/element.h"
#include "ir/prove/prove.h"
#include "schedule/gpu_tile/conditions.h"
#include "schedule/match.h"
#include "schedule/model.h"

enum { MOST_CONJUNCTS = 16, MOST_KEYS = 1 << 24, MOST_EQUATIONS = 4 };

typedef struct {
  neo_module *m;
  const neo_form *f;
  neo_condition_context at_u; /* facts of shared axes */
  uint32_t own;               /* axis k */
  neo_keyed_scan *out;
  neo_expr part[MOST_CONJUNCTS];
  uint32_t n;
  neo_expr key[MOST_EQUATIONS];
  uint32_t n_keys;
  bool declared; /* the ranges of keys are those of their tensors, and no key is negative */
} matcher;

/* The expression of the own axis at the shared one. */
static neo_expr at_shared(const matcher *x, neo_expr e) {
  neo_expr by[NEO_FORM_MAX_AXES + 1] = {{0}};
  by[x->own] = neo_axis_ref(x->m, x->out->axis);
  return neo_expr_subst_axes(x->m, e, by, x->own + 1);
}

static uint64_t axes_of(const matcher *x, neo_expr e) {
  return neo_form_axes(x->m, x->f, e);
}

static bool is_axis(const neo_module *m, neo_expr e, uint32_t axis) {
  const neo_node *n = neo_expr_node(m, e);
  return n->op == NEO_OP_AXIS && n->attr == axis;
}

/* own < shared, or shared < own */
static bool take_order(matcher *x, neo_expr e) {
  neo_node n = *neo_expr_node(x->m, e);
  for (uint32_t down = 0; n.op == NEO_OP_LT && down < 2; down++) {
    const neo_node *u = neo_expr_node(x->m, neo_list_expr(x->m, n.arg, 1 - down));
    if (!is_axis(x->m, neo_list_expr(x->m, n.arg, down), x->own) || u->op != NEO_OP_AXIS ||
        u->attr >= x->own)
      continue;
    x->out->axis = u->attr;
    x->out->down = down;
    return true;
  }
  return false;
}

/* key(own) == key(shared) */
static bool take_key(matcher *x, neo_expr e) {
  neo_node n = *neo_expr_node(x->m, e);
  for (uint32_t side = 0; n.op == NEO_OP_EQ && side < 2; side++) {
    neo_expr own = neo_list_expr(x->m, n.arg, side), shared = neo_list_expr(x->m, n.arg, 1 - side);
    if (!(axes_of(x, own) >> x->own & 1) || axes_of(x, own) >> x->out->axis & 1 ||
        at_shared(x, own).i != shared.i || x->n_keys == MOST_EQUATIONS ||
        neo_type_is_float(neo_expr_type(x->m, shared)))
      continue;
    x->key[x->n_keys++] = shared;
    return true;
  }
  return false;
}

/* Splits the condition: one conjunct orders the positions, others compare keys, and each of the
 * rest depends on one of the two positions alone. */
static bool take_condition(matcher *x, neo_expr where) {
  neo_expr adds[MOST_CONJUNCTS], asks[MOST_CONJUNCTS];
  uint32_t order = 0, n_adds = 0, n_asks = 0;
  if (!where.i || !neo_conjuncts_of(x->m, where, x->part, &x->n, MOST_CONJUNCTS))
    return false;
  while (order < x->n && !take_order(x, x->part[order]))
    order++;
  for (uint32_t k = 0; k < x->n && order < x->n; k++) {
    uint64_t axes = axes_of(x, x->part[k]);
    if (k == order || take_key(x, x->part[k]))
      continue;
    if (axes >> x->own & 1 && axes >> x->out->axis & 1)
      return false;
    if (axes >> x->own & 1)
      adds[n_adds++] = at_shared(x, x->part[k]);
    else
      asks[n_asks++] = x->part[k];
  }
  x->out->adds = neo_conjunction(x->m, adds, n_adds);
  x->out->asks = neo_conjunction(x->m, asks, n_asks);
  return order < x->n && x->n_keys;
}

/* ---- how many keys there are */

/* The element of the key, without conversions that preserve its number; a conversion to a narrower
 * type may change it, and make it negative. */
static neo_expr element_of(neo_module *m, neo_expr key) {
  if (neo_expr_node(m, key)->op != NEO_OP_CAST)
    return key;
  neo_expr x = neo_expr_arg(m, key, 0);
  neo_type to = neo_expr_type(m, key);
  bool same = to == NEO_I64_T || (to == NEO_I32_T && neo_type_bytes(neo_expr_type(m, x)) <= 4);
  return same ? x : key;
}

/* The keys below the bound of a tensor's elements, over sizes; 0: it has none. */
static neo_expr declared_keys(matcher *x, neo_expr key) {
  neo_expr load = element_of(x->m, key), none = {0};
  if (neo_expr_node(x->m, load)->op != NEO_OP_LOAD)
    return none;
  const neo_tensor_rec *r = neo_tensor_at(x->m, (neo_tensor){neo_expr_node(x->m, load)->attr});
  neo_expr below = r->bound.i ? r->bound : neo_element_ends_of(x->m, load).below;
  x->declared = x->declared && r->bound.i;
  if (below.i && neo_expr_node(x->m, below)->op == NEO_OP_AXIS) /* its own index */
    return x->f->axes.at[x->out->axis].hi;
  return below.i && !axes_of(x, below) ? below : none;
}

/* The conjunct key < N, with *n = N; low: the conjunct 0 <= key. 0: there is none. */
static neo_expr asked(const matcher *x, neo_expr key, bool low, neo_expr *n) {
  for (uint32_t k = 0; k < x->n; k++) {
    neo_node c = *neo_expr_node(x->m, x->part[k]);
    int64_t zero;
    if (c.op != (low ? NEO_OP_LE : NEO_OP_LT))
      continue;
    neo_expr of = neo_list_expr(x->m, c.arg, low), other = neo_list_expr(x->m, c.arg, !low);
    bool same = neo_cast(x->m, NEO_I64_T, of).i == key.i;
    if (same && low && neo_expr_is_int(x->m, other, &zero) && zero == 0)
      return x->part[k];
    if (same && !low && !axes_of(x, other) && !neo_form_reads(x->m, other)) {
      *n = neo_cast(x->m, NEO_I64_T, other);
      return x->part[k];
    }
  }
  return (neo_expr){0};
}

/* Combines the key of an equation with the earlier ones into one number: earlier * (number of its
 * keys) + key. False: the number of keys is unbounded. */
static bool add_keys(matcher *x, neo_expr shared) {
  neo_module *m = x->m;
  neo_expr key = neo_cast(m, NEO_I64_T, shared), n = declared_keys(x, shared), high = {0};
  int64_t lo, hi;
  bool bounded = neo_interval(x->at_u.p, &x->at_u.facts, key, &lo, &hi);
  neo_expr low = asked(x, key, true, NULL);
  if (!n.i)
    high = asked(x, key, false, &n);
  if (!n.i && bounded && hi >= 0 && hi < MOST_KEYS)
    n = neo_const_i64(m, hi + 1);
  if (!n.i || (!low.i && (!bounded || lo < 0)))
    return false;
  neo_keyed_scan *out = x->out;
  out->there = neo_both(m, out->there, neo_both(m, low, high));
  out->key = out->key.i ? neo_op2(m, NEO_OP_ADD, neo_op2(m, NEO_OP_MUL, out->key, n), key) : key;
  out->n = out->n.i ? neo_op2(m, NEO_OP_MUL, out->n, n) : n;
  return true;
}

static bool find_keys(matcher *x) {
  int64_t lo;
  x->declared = true;
  for (uint32_t k = 0; k < x->n_keys; k++)
    if (!add_keys(x, x->key[k]))
      return false;
  return neo_interval(x->at_u.p, NULL, x->out->n, &lo, &x->out->most) && x->out->most <= MOST_KEYS;
}

/* ---- the form */

static bool in_operand(const neo_module *m, const neo_group *g) {
  for (size_t i = 0; i < g->roots.n; i++) {
    neo_tensor root = g->roots.at[i], old = neo_tensor_at(m, root)->updates;
    for (size_t k = 0; k < g->reads.n; k++)
      if (g->reads.at[k].i == root.i || (old.i && g->reads.at[k].i == old.i))
        return true;
  }
  return false;
}

/* Are the reads of e in range at each position by itself? In the original form they are made only
 * where an earlier position exists. */
static bool is_safe(const matcher *x, neo_expr e, neo_expr where) {
  return !e.i || neo_condition_guards(&x->at_u, e, where);
}

static bool match(matcher *x, const neo_group *g) {
  const neo_form *f = x->f;
  const neo_stage *s = &f->stages.at[0];
  neo_keyed_scan *out = x->out;
  int64_t lo;
  if (!take_condition(x, s->where) || s->axes.at[0].hi.i != f->axes.at[out->axis].hi.i ||
      !neo_expr_is_int(x->m, s->axes.at[0].lo, &lo) || lo != 0 ||
      axes_of(x, s->accs.at[0].body) >> out->axis & 1 || !find_keys(x))
    return false;
  neo_expr taken = neo_both(x->m, out->there, out->adds);
  out->value = at_shared(x, s->accs.at[0].body);
  out->plain = f->axes.n == 1 && !out->down && s->accs.at[0].kind == NEO_RED_SUM && !out->adds.i &&
               x->n_keys == 1 && out->asks.i == out->there.i && (x->declared || out->there.i);
  (void)g;
  return is_safe(x, out->key, (neo_expr){0}) && is_safe(x, taken, (neo_expr){0}) &&
         is_safe(x, out->value, taken) && is_safe(x, out->asks, (neo_expr){0});
}

bool neo_match_keyed_scan(neo_module *m, const neo_group *g, neo_keyed_scan *out) {
  const neo_form *f = neo_group_form(m, g);
  const neo_stage *s = f->stages.n ? &f->stages.at[0] : NULL;
  neo_axis_rec axes[NEO_FORM_MAX_AXES];
  *out = (neo_keyed_scan){0};
  if (f->stages.n != 2 || !f->axes.n || s->accs.n != 1 || s->axes.n != 1 || s->over ||
      f->stages.at[1].accs.n || f->stages.at[1].axes.n || neo_form_row_block(f) || in_operand(m, g))
    return false;
  matcher x = {.m = m, .f = f, .own = (uint32_t)f->axes.n, .out = out};
  uint32_t n = neo_stage_axes(f, &f->stages.at[1], axes);
  x.at_u = (neo_condition_context){m, neo_prover_new(m), f, {axes, n, NULL, 0}};
  bool fits = match(&x, g);
  neo_prover_free(x.at_u.p);
  return fits;
}

/* ---- the model's choice: without lanes; the other axes are units */

bool neo_model_keyed_scan(neo_module *m, const neo_group *g, neo_schedule *out) {
  neo_keyed_scan x;
  if (!neo_keyed_scan_of(m, g, &x))
    return false;
  *out = neo_schedule_plain();
  out->strategy = NEO_STRATEGY_KEYED_SCAN;
  out->loops.axis_m = x.axis;
  out->loops.unit_axes = neo_schedule_loops(neo_group_form(m, g), out);
  return true;
}

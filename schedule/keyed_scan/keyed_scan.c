/* Matches running sums by keys (keyed_scan.h). */
#include "schedule/keyed_scan/keyed_scan.h"
#include "ir/comparison.h"
#include "ir/element.h"
#include "ir/prove.h"
#include "schedule/match.h"
#include "schedule/model.h"

enum { OWN = 1, MOST_CONJUNCTS = 4, MOST_KEYS = 1 << 24 };

/* The expression of the own axis at the shared one. */
static neo_expr at_shared(neo_module *m, neo_expr e) {
  neo_expr by[] = {{0}, neo_axis_ref(m, 0)};
  return neo_expr_subst_axes(m, e, by, 2);
}

static bool is_axis(const neo_module *m, neo_expr e, uint32_t axis) {
  const neo_node *n = neo_expr_node(m, e);
  return n->op == NEO_OP_AXIS && n->attr == axis;
}

/* own < shared */
static bool is_before(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  return n->op == NEO_OP_LT && is_axis(m, neo_list_expr(m, n->arg, 0), OWN) &&
         is_axis(m, neo_list_expr(m, n->arg, 1), 0);
}

/* How many keys there are below the bound of a tensor's elements; 0: it has none. */
static neo_expr keys_of(neo_module *m, const neo_form *f, neo_expr load) {
  const neo_tensor_rec *r = neo_tensor_at(m, (neo_tensor){neo_expr_node(m, load)->attr});
  neo_expr below = r->bound.i ? r->bound : neo_element_ends_of(m, load).below;
  if (below.i && neo_expr_node(m, below)->op == NEO_OP_AXIS) /* its own index */
    return f->axes.at[0].hi;
  return below.i && !neo_form_axes(m, f, below) ? below : (neo_expr){0};
}

/* The element that is the key; one that is converted to a narrower type may be another number, and negative. */
static neo_expr element_of(neo_module *m, neo_expr key) {
  if (neo_expr_node(m, key)->op != NEO_OP_CAST)
    return key;
  neo_expr x = neo_expr_arg(m, key, 0);
  neo_type to = neo_expr_type(m, key);
  bool same = to == NEO_I64_T || (to == NEO_I32_T && neo_type_bytes(neo_expr_type(m, x)) <= 4);
  return same ? x : key;
}

/* key(own) == key(shared), of an element that has a bound: it is loaded. */
static bool take_key(neo_module *m, const neo_form *f, neo_expr e, neo_keyed_scan *out) {
  neo_node n = *neo_expr_node(m, e);
  if (n.op != NEO_OP_EQ)
    return false;
  for (uint32_t side = 0; side < 2; side++) {
    neo_expr own = neo_list_expr(m, n.arg, side), shared = neo_list_expr(m, n.arg, 1 - side);
    if (neo_form_axes(m, f, own) != 1u << OWN || at_shared(m, own).i != shared.i)
      continue;
    neo_expr key = element_of(m, shared);
    if (neo_expr_node(m, key)->op != NEO_OP_LOAD)
      return false;
    out->bounded = neo_tensor_at(m, (neo_tensor){neo_expr_node(m, key)->attr})->bound.i != 0;
    out->key = neo_cast(m, NEO_I64_T, shared);
    out->n = keys_of(m, f, key);
    return out->n.i != 0;
  }
  return false;
}

/* 0 <= key(shared) */
static bool asks_key(neo_module *m, neo_expr e, const neo_keyed_scan *x) {
  neo_node n = *neo_expr_node(m, e);
  int64_t zero;
  return n.op == NEO_OP_LE && neo_expr_is_int(m, neo_list_expr(m, n.arg, 0), &zero) && zero == 0 &&
         neo_cast(m, NEO_I64_T, neo_list_expr(m, n.arg, 1)).i == x->key.i;
}

/* One conjunct says the order, one that the keys are equal, and perhaps one that they are not negative. */
static bool take_condition(neo_module *m, const neo_form *f, neo_keyed_scan *out) {
  const neo_stage *s = &f->stages.at[0];
  neo_expr part[MOST_CONJUNCTS];
  uint32_t n = 0, key = MOST_CONJUNCTS, before = MOST_CONJUNCTS;
  if (!s->where.i || !neo_conjuncts_of(m, s->where, part, &n, MOST_CONJUNCTS) || n < 2 || n > 3)
    return false;
  for (uint32_t k = 0; k < n; k++) {
    before = is_before(m, part[k]) ? k : before;
    key = take_key(m, f, part[k], out) ? k : key;
  }
  if (before == MOST_CONJUNCTS || key == MOST_CONJUNCTS)
    return false;
  out->asks = n == 3;
  return out->asks ? asks_key(m, part[3 - before - key], out) : out->bounded;
}

static bool in_operand(const neo_module *m, const neo_group *g) {
  for (size_t i = 0; i < g->roots.n; i++) {
    neo_tensor root = g->roots.at[i], old = neo_tensor_at(m, root)->updates;
    for (size_t k = 0; k < g->reads.n; k++)
      if (g->reads.at[k].i == root.i || (old.i && g->reads.at[k].i == old.i))
        return true;
  }
  return false;
}

bool neo_match_keyed_scan(neo_module *m, const neo_group *g, neo_keyed_scan *out) {
  const neo_form *f = neo_group_form(m, g);
  const neo_stage *s = f->stages.n ? &f->stages.at[0] : NULL;
  neo_facts none = {0};
  int64_t lo;
  *out = (neo_keyed_scan){0};
  if (f->stages.n != 2 || f->axes.n != 1 || s->accs.n != 1 || s->axes.n != 1 ||
      f->stages.at[1].accs.n || f->stages.at[1].axes.n || neo_form_row_block(f) || in_operand(m, g))
    return false;
  const neo_form_acc *a = &s->accs.at[0];
  bool fits = a->kind == NEO_RED_SUM && s->axes.at[0].hi.i == f->axes.at[0].hi.i &&
              neo_expr_is_int(m, s->axes.at[0].lo, &lo) && lo == 0 &&
              !(neo_form_axes(m, f, a->body) & 1) && take_condition(m, f, out);
  if (!fits)
    return false;
  out->value = at_shared(m, a->body);
  neo_prover *p = neo_prover_new(m);
  fits = neo_interval(p, &none, out->n, &lo, &out->most) && out->most <= MOST_KEYS;
  neo_prover_free(p);
  return fits;
}

/* ---- the model's choice: one unit, without lanes */

bool neo_model_keyed_scan(neo_module *m, const neo_group *g, neo_schedule *out) {
  neo_keyed_scan x;
  if (!neo_keyed_scan_of(m, g, &x))
    return false;
  *out = neo_schedule_plain();
  out->strategy = NEO_STRATEGY_KEYED_SCAN;
  out->loops.axis_m = 0;
  return true;
}

/* Matches running sums by keys (keyed_scan.h). */
#include "schedule/keyed_scan/keyed_scan.h"
#include "ir/comparison.h"
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

/* key(own) == key(shared), of an element that has a bound: it is loaded. */
static bool take_key(neo_module *m, const neo_form *f, neo_expr e, neo_keyed_scan *out) {
  neo_node n = *neo_expr_node(m, e);
  if (n.op != NEO_OP_EQ)
    return false;
  for (uint32_t side = 0; side < 2; side++) {
    neo_expr own = neo_list_expr(m, n.arg, side), shared = neo_list_expr(m, n.arg, 1 - side);
    if (neo_form_axes(m, f, own) != 1u << OWN || at_shared(m, own).i != shared.i)
      continue;
    const neo_node *key = neo_expr_node(m, shared);
    if (key->op == NEO_OP_CAST)
      key = neo_expr_node(m, neo_list_expr(m, key->arg, 0));
    if (key->op != NEO_OP_LOAD || !neo_tensor_at(m, (neo_tensor){key->attr})->bound.i)
      return false;
    out->key = neo_cast(m, NEO_I64_T, shared);
    out->n = neo_tensor_at(m, (neo_tensor){key->attr})->bound;
    return true;
  }
  return false;
}

static bool take_condition(neo_module *m, const neo_form *f, neo_keyed_scan *out) {
  const neo_stage *s = &f->stages.at[0];
  neo_expr part[MOST_CONJUNCTS];
  uint32_t n = 0;
  if (!s->where.i || !neo_conjuncts_of(m, s->where, part, &n, MOST_CONJUNCTS) || n != 2)
    return false;
  return (is_before(m, part[0]) && take_key(m, f, part[1], out)) ||
         (is_before(m, part[1]) && take_key(m, f, part[0], out));
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

/* See keyed_pairs.h. */
#include "schedule/keyed_pairs.h"
#include "schedule/extent.h"

enum { MOST_CONJUNCTS = 16, FEW = 256 }; /* fewer elements, or keys, are no surprise */

typedef struct {
  neo_module *m;
  const neo_form *f;
  const neo_stage *s;
  uint64_t shared, own; /* axes, as bits */
  neo_keyed_pairs found;
  double pairs; /* comparisons of the reduction that was found; 0: none was */
} search;

static uint64_t bits(size_t from, size_t n) {
  return n >= 64 ? 0 : (((uint64_t)1 << n) - 1) << from;
}

static double points(search *c, uint64_t axes) {
  double n = 1;
  for (uint32_t k = 0; k < c->f->axes.n; k++)
    if (axes >> k & 1)
      n *= (double)neo_axis_most(c->m, &c->f->axes.at[k]);
  for (uint32_t k = 0; k < c->s->axes.n; k++)
    if (axes >> (c->f->axes.n + k) & 1)
      n *= (double)neo_axis_most(c->m, &c->s->axes.at[k]);
  return n;
}

/* Is e an equation `key == element` between data of the reduction's axes alone and an expression of
 * shared axes alone? */
static void look_equation(search *c, neo_expr e, neo_keyed_form form) {
  if (neo_expr_node(c->m, e)->op != NEO_OP_EQ)
    return;
  for (uint32_t side = 0; side < 2; side++) {
    neo_expr key = neo_expr_arg(c->m, e, side), element = neo_expr_arg(c->m, e, 1 - side);
    uint64_t of_key = neo_form_axes(c->m, c->f, key), of = neo_form_axes(c->m, c->f, element);
    if (!neo_expr_uses_op(c->m, key, NEO_OP_LOAD) || !(of_key & c->own) || of_key & c->shared ||
        !(of & c->shared) || of & c->own)
      continue;
    double elements = points(c, of), keys = points(c, of_key);
    if (elements < FEW || keys < FEW || elements * keys <= c->pairs)
      continue;
    bool data = neo_expr_uses_op(c->m, element, NEO_OP_LOAD);
    c->pairs = elements * keys;
    c->found = (neo_keyed_pairs){data ? NEO_KEYED_BY_KEY : form, elements, keys};
  }
}

/* Every equation of a condition: also below `or`, where no single key says which element is
 * meant. */
static void look_condition(search *c, neo_expr e, neo_keyed_form form) {
  const neo_node *n = neo_expr_node(c->m, e);
  if (n->op != NEO_OP_AND && n->op != NEO_OP_OR) {
    look_equation(c, e, form);
    return;
  }
  neo_keyed_form below = n->op == NEO_OP_OR ? NEO_KEYED_OTHER : form;
  for (uint32_t k = 0; k < 2; k++)
    look_condition(c, neo_expr_arg(c->m, e, k), below);
}

/* Terms of a sum that a condition makes 0. */
static void look_terms(search *c, const neo_form_acc *a) {
  if (a->kind != NEO_RED_SUM || neo_expr_node(c->m, a->body)->op != NEO_OP_SELECT)
    return;
  if (neo_expr_is_zero(c->m, neo_expr_arg(c->m, a->body, 2)))
    look_condition(c, neo_expr_arg(c->m, a->body, 0), NEO_KEYED_BY_SELECT);
}

/* Does each element go through a list of its own, as data say? */
static bool has_list(const search *c) {
  bool list = false;
  for (size_t k = 0; k < c->s->axes.n && !list; k++) {
    const neo_axis_rec *a = &c->s->axes.at[k];
    uint64_t axes = neo_form_axes(c->m, c->f, a->lo) | neo_form_axes(c->m, c->f, a->hi);
    list = axes & c->shared && (neo_form_reads(c->m, a->lo) || neo_form_reads(c->m, a->hi));
  }
  return list;
}

bool neo_keyed_pairs_of(neo_module *m, const neo_group *g, const neo_schedule *s,
                        neo_keyed_pairs *out) {
  search c = {.m = m, .f = neo_group_form(m, g)};
  neo_strategy_body body = neo_strategy_body_of(s->strategy);
  if (body == NEO_BODY_PASS || body == NEO_BODY_THREADS)
    return false;
  for (size_t k = 0; k < c.f->stages.n; k++) {
    c.s = &c.f->stages.at[k];
    c.shared = bits(0, c.f->axes.n);
    c.own = bits(c.f->axes.n, c.s->axes.n);
    if (!c.s->accs.n || has_list(&c))
      continue;
    if (c.s->where.i)
      look_condition(&c, c.s->where, NEO_KEYED_OTHER);
    for (size_t a = 0; a < c.s->accs.n; a++)
      look_terms(&c, &c.s->accs.at[a]);
  }
  *out = c.found;
  return c.pairs > 0;
}

/* See need.h. */
#include "ir/need.h"

/* ---- conjunctions */

static bool term_implies(neo_module *m, const neo_term *x, const neo_term *y) {
  for (uint32_t k = 0; k < y->n; k++)
    if (neo_condition_where(m, x->at, x->n, y->at[k]) != NEO_CONDITION_HOLDS)
      return false;
  return true;
}

void neo_term_drop(neo_term *x, uint32_t k) {
  for (; k + 1 < x->n; k++)
    x->at[k] = x->at[k + 1];
  x->n--;
}

/* Drops the conditions that follow from the others. */
void neo_term_reduce(neo_module *m, neo_term *x) {
  for (uint32_t k = x->n; k-- > 0;) {
    neo_term rest = *x;
    neo_term_drop(&rest, k);
    if (neo_condition_where(m, rest.at, rest.n, x->at[k]) == NEO_CONDITION_HOLDS)
      *x = rest;
  }
}

/* Adds a condition. False: the conjunction never holds. */
bool neo_term_add(neo_module *m, neo_term *x, neo_expr e) {
  return neo_condition_add(m, x->at, &x->n, NEO_MOST_CONDITIONS, e);
}

/* ---- disjunctions */

/* The conditions that all terms share. */
neo_term neo_need_common(neo_module *m, const neo_need *x) {
  neo_term y = {0};
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t k = 0; k < x->at[i]->n; k++) {
      bool all = true;
      for (uint32_t j = 0; j < x->n && all; j++)
        all = neo_condition_where(m, x->at[j]->at, x->at[j]->n, x->at[i]->at[k]) ==
              NEO_CONDITION_HOLDS;
      if (all)
        (void)neo_term_add(m, &y, x->at[i]->at[k]);
    }
  neo_term_reduce(m, &y);
  return y;
}

typedef struct {
  const neo_need_world *w;
  uint32_t place;
  bool before;
} before_ctx;

static void look_before(void *ctx, neo_expr e) {
  before_ctx *c = ctx;
  const neo_node *n = neo_expr_node(c->w->m, e);
  if (n->op != NEO_OP_LOAD)
    return;
  neo_list pieces = neo_tensor_at(c->w->m, (neo_tensor){n->attr})->pieces;
  for (uint32_t k = 0; k < pieces.n; k++)
    c->before = c->before && c->w->place[neo_list_at(c->w->m, pieces, k)] < c->place;
}

/* Whether all elements that the conditions of x read are computed before position `place`. */
static bool made_before(const neo_need_world *w, const neo_need *x, uint32_t place) {
  before_ctx c = {w, place, true};
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t k = 0; k < x->at[i]->n; k++)
      neo_expr_visit(w->m, x->at[i]->at[k], look_before, &c);
  return c.before;
}

static bool implies_one(neo_module *m, const neo_term *x, const neo_need *of) {
  for (uint32_t k = 0; k < of->n; k++)
    if (term_implies(m, x, of->at[k]))
      return true;
  return false;
}

/* Weakens the new term x with the terms of `by`: since x or (y and not x) equals x or y, a
 * condition is dropped from x if `by` contains the term with that condition negated. */
static bool widen(neo_module *m, neo_term *x, const neo_need *by) {
  bool changed = false;
  for (uint32_t k = x->n; k-- > 0;) {
    neo_term other = *x;
    other.at[k] = neo_condition_not(m, x->at[k]);
    if (!implies_one(m, &other, by))
      continue;
    neo_term_drop(x, k);
    changed = true;
  }
  return changed;
}

static void leave_out_implied(neo_module *m, neo_need *of, const neo_term *by) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < of->n; k++)
    if (!term_implies(m, of->at[k], by))
      of->at[n++] = of->at[k];
  of->n = n;
}

static void collapse(const neo_need_world *w, neo_need *of, const neo_term *more) {
  neo_need all = *of;
  uint32_t n = 0;
  neo_term y = more ? *more : *of->at[0];
  for (uint32_t k = 0; k < all.n; k++) {
    neo_need two = {2, {&y, all.at[k]}};
    y = neo_need_common(w->m, &two);
  }
  of->at[n++] = neo_arena_copy(w->a, &y, sizeof y);
  of->n = n;
}

/* Adds the term `more` to a need; false: the need contains it already. `place`: position of the
 * first definition of the class whose need `of` is. */
bool neo_need_add(const neo_need_world *w, neo_need *of, const neo_term *more, uint32_t place) {
  neo_module *m = w->m;
  neo_term x = *more;
  if (implies_one(m, &x, of))
    return false;
  (void)widen(m, &x, of);
  leave_out_implied(m, of, &x);
  for (uint32_t k = 0; k < of->n; k++) {
    neo_need one = {1, {&x}};
    neo_term y = *of->at[k];
    if (!widen(m, &y, &one))
      continue;
    for (; k + 1 < of->n; k++)
      of->at[k] = of->at[k + 1];
    of->n--;
    (void)neo_need_add(w, of, &y, place);
    if (!implies_one(m, &x, of))
      (void)neo_need_add(w, of, &x, place);
    return true;
  }
  if (of->n == NEO_MOST_TERMS)
    collapse(w, of, &x);
  else
    of->at[of->n++] = neo_arena_copy(w->a, &x, sizeof x);
  if (of->n > 1 && !made_before(w, of, place))
    collapse(w, of, NULL);
  return true;
}

/* Comparing conditions (needed.h): in each case of their disjunctions. */
#include "ir/need.h"
#include "ir/needed.h"

enum { MOST_CASES = 64 };

bool neo_conditions_same(const neo_conditions *a, const neo_conditions *b) {
  bool same = a->n == b->n;
  for (uint32_t k = 0; k < a->n && same; k++)
    same = a->at[k].i == b->at[k].i;
  return same;
}

typedef struct { /* a proof by cases: one for each side of a disjunction */
  neo_module *m;
  const neo_conditions *of;
  bool excludes; /* one of `of` fails in each case; else: all of them hold in each case */
  uint32_t cases;
} cases_ctx;

static bool answers(const cases_ctx *c, const neo_term *holds) {
  for (uint32_t k = 0; k < holds->n; k++)
    if (neo_expr_node(c->m, holds->at[k])->op == NEO_OP_CONST) /* never */
      return true;
  for (uint32_t k = 0; k < c->of->n; k++) {
    neo_condition_value v = neo_condition_where(c->m, holds->at, holds->n, c->of->at[k]);
    if (c->excludes && v == NEO_CONDITION_FAILS)
      return true;
    if (!c->excludes && v != NEO_CONDITION_HOLDS)
      return false;
  }
  return !c->excludes;
}

static bool each_case(cases_ctx *c, neo_term holds);

/* The disjunction k of `holds` is one of its sides. */
static bool each_side(cases_ctx *c, const neo_term *holds, uint32_t k) {
  neo_expr either = holds->at[k];
  for (uint32_t i = 0; i < 2; i++) {
    neo_term x = *holds;
    neo_term_drop(&x, k);
    if (!neo_condition_parts(c->m, neo_expr_arg(c->m, either, i), x.at, &x.n,
                             NEO_MOST_CONDITIONS) ||
        !each_case(c, x))
      return false;
  }
  return true;
}

static bool each_case(cases_ctx *c, neo_term holds) {
  if (answers(c, &holds))
    return true;
  for (uint32_t k = 0; k < holds.n && c->cases < MOST_CASES; k++)
    if (neo_expr_node(c->m, holds.at[k])->op == NEO_OP_OR) {
      c->cases++;
      return each_side(c, &holds, k);
    }
  return false;
}

static bool in_each_case(neo_module *m, const neo_conditions *holds, const neo_conditions *of,
                         bool excludes) {
  cases_ctx c = {m, of, excludes, 0};
  neo_term x = {0};
  for (uint32_t k = 0; k < holds->n && x.n < NEO_MOST_CONDITIONS; k++)
    x.at[x.n++] = holds->at[k];
  return each_case(&c, x);
}

bool neo_conditions_exclude(neo_module *m, const neo_conditions *a, const neo_conditions *other) {
  return in_each_case(m, other, a, true) || in_each_case(m, a, other, true);
}

bool neo_conditions_imply(neo_module *m, const neo_conditions *c, const neo_conditions *weaker) {
  return in_each_case(m, c, weaker, false);
}

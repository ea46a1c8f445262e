/* Values of elements, and conditions. What is compared is exact wherever it can be. */
#include "tests/pairs/gen.h"

neo_type pg_type(pgen *g) {
  static const neo_type all[] = {NEO_F32_T, NEO_F32_T,  NEO_F32_T, NEO_F32_T, NEO_F64_T,
                                 NEO_F16_T, NEO_BF16_T, NEO_I64_T, NEO_I32_T, NEO_I32_T,
                                 NEO_I8_T,  NEO_U8_T,   NEO_BOOL_T};
  return PG_PICK(g, all);
}

neo_type pg_float(pgen *g) {
  static const neo_type all[] = {NEO_F32_T, NEO_F32_T, NEO_F32_T, NEO_F32_T,
                                 NEO_F32_T, NEO_F64_T, NEO_F16_T, NEO_BF16_T};
  return PG_PICK(g, all);
}

const char *pg_literal(pgen *g, neo_type t) {
  static const char *const parts[] = {"0.25", "0.5", "1.5", "2", "0.75", "1"};
  if (t == NEO_BOOL_T)
    return pg_chance(g, 50) ? "true" : "false";
  if (neo_type_is_float(t))
    return neo_arena_printf(g->arena, "%s(%s)", pg_type_text(t), PG_PICK(g, parts));
  return neo_arena_printf(g->arena, "%s(%d)", pg_type_text(t), (int)pg_below(g, 4));
}

static const char *leaf(pgen *g, neo_type t) {
  const char *s = pg_chance(g, 88) ? pg_read_any(g, t) : NULL;
  if (s)
    return s;
  if (g->n_index && t != NEO_BOOL_T && pg_chance(g, 60))
    return neo_arena_printf(g->arena, "%s(%s)", pg_type_text(t),
                            g->index[pg_below(g, g->n_index)].name);
  return pg_literal(g, t);
}

/* ---- conditions */

static const char *comparison(pgen *g, const char *a, const char *b) {
  static const char *const ops[] = {"<", "<=", ">", ">=", "==", "!="};
  return neo_arena_printf(g->arena, "%s %s %s", a, PG_PICK(g, ops), b);
}

static neo_type number(pgen *g) {
  neo_type t = pg_type(g);
  return t == NEO_BOOL_T ? NEO_F32_T : t;
}

/* Its parts flow into no gradient. */
const char *pg_compare(pgen *g, int depth) {
  uint64_t from = g->from;
  bool exact = g->exact;
  const char *s = g->wide && pg_chance(g, 20) ? pg_wide_where(g) : NULL;
  if (s) {
    s = neo_arena_printf(g->arena, "(%s)", s);
  } else if (pg_chance(g, 15)) {
    s = pg_read_any(g, NEO_BOOL_T);
    s = s ? s : "true";
  } else if (depth > 0 && pg_chance(g, 20)) {
    const char *a = pg_compare(g, depth - 1);
    s = neo_arena_printf(g->arena, "(%s) %s (%s)", a, pg_chance(g, 50) ? "and" : "or",
                         pg_compare(g, depth - 1));
  } else {
    neo_type t = number(g);
    const char *a = leaf(g, t);
    s = comparison(g, a, pg_chance(g, 50) ? pg_literal(g, t) : leaf(g, t));
  }
  g->from = from;
  g->exact = exact;
  return s;
}

/* ---- values */

static const char *choice(pgen *g, neo_type t, int depth) {
  g->has |= PAIRS_BIT(PAIRS_SELECT);
  const char *c = pg_compare(g, 0), *a = pg_value(g, t, depth - 1);
  return neo_arena_printf(g->arena, "select(%s, %s, %s)", c, a, pg_value(g, t, depth - 1));
}

/* Not exact; arguments where the function is tame. */
static const char *function(pgen *g, neo_type t, int depth) {
  static const char *const form[][2] = {{"tanh(", ")"},
                                        {"sigmoid(", ")"},
                                        {"exp(min(", ", 2))"},
                                        {"sqrt(abs(", ") + 1)"},
                                        {"sin(", ")"},
                                        {"log(abs(", ") + 1)"},
                                        {"gelu(", ")"},
                                        {"silu(", ")"},
                                        {"softplus(", ")"},
                                        {"rsqrt(abs(", ") + 1)"},
                                        {"(1/(abs(", ") + 0.5))"},
                                        {"erf(", ")"}};
  const char *x = pg_value(g, t, depth - 1);
  uint64_t k = pg_below(g, sizeof form / sizeof *form);
  g->has |= PAIRS_BIT(PAIRS_FUNCTION);
  g->exact = false;
  return neo_arena_printf(g->arena, "%s%s%s", form[k][0], x, form[k][1]);
}

static const char *unary(pgen *g, neo_type t, int depth) {
  const char *x = pg_value(g, t, depth - 1);
  if (t == NEO_U8_T)
    return x;
  return pg_chance(g, 50) ? neo_arena_printf(g->arena, "abs(%s)", x)
                          : neo_arena_printf(g->arena, "(-%s)", x);
}

static const char *binary(pgen *g, neo_type t, int depth) {
  const char *a = pg_value(g, t, depth - 1), *b = pg_value(g, t, depth - 1);
  switch (pg_below(g, 8)) {
  case 0:
  case 1:
    return neo_arena_printf(g->arena, "(%s + %s)", a, b);
  case 2:
    return neo_arena_printf(g->arena, "(%s - %s)", a, b);
  case 3:
    return neo_arena_printf(g->arena, "max(%s, %s)", a, b);
  case 4:
    return neo_arena_printf(g->arena, "min(%s, %s)", a, b);
  case 5:
    return neo_arena_printf(g->arena, "(%s + %s*%s)", a, b, pg_literal(g, t));
  default:
    return neo_arena_printf(g->arena, "%s*%s", a, b);
  }
}

const char *pg_value(pgen *g, neo_type t, int depth) {
  const char *rare = g->wide && depth > 0 && pg_chance(g, 30) ? pg_wide_value(g, t, depth) : NULL;
  if (rare)
    return rare;
  if (t == NEO_BOOL_T)
    return neo_arena_printf(g->arena, "(%s)", pg_compare(g, depth > 0));
  if (depth <= 0 || pg_chance(g, 25))
    return leaf(g, t);
  uint64_t roll = pg_below(g, 100);
  if (roll < 10)
    return choice(g, t, depth);
  if (roll < 24 && neo_type_is_float(t))
    return function(g, t, depth);
  return roll < 32 ? unary(g, t, depth) : binary(g, t, depth);
}

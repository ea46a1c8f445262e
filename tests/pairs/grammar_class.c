/* The class of an end of a range, a condition or a subscript, by the names in it. */
#include "frontend/sema/parts.h"
#include "tests/pairs/grammar_walk.h"
#include <string.h>

static const int64_t huge_from = (int64_t)1 << 40;

bool pw_is_builtin(const char *name, uint32_t *k) {
  const char *other;
  for (*k = 0; (other = neo_builtin_name(*k)); ++*k)
    if (strcmp(other, name) == 0)
      return true;
  return false;
}

typedef struct {
  pw_walk *w;
  pw_parts parts;
} finding;

static void find_parts(void *ctx, const neo_ast_expr *e);

static void find_name(finding *f, const neo_ast_expr *e) {
  const pw_name *n = pw_find(f->w, e->u.ref.path.at[0].text);
  uint32_t k;
  if (e->u.ref.path.n > 1) {
    f->parts.sizes++;
    return;
  }
  if (!n) {
    f->parts.computed += !pw_is_builtin(e->u.ref.path.at[0].text, &k) && e->u.ref.has_subs;
    return;
  }
  bool given = n->role == PAIRS_ROLE_INPUT || n->role == PAIRS_ROLE_PARAM ||
               n->role == PAIRS_ROLE_STATE || n->role == PAIRS_ROLE_CONST;
  f->parts.indices += n->is == PW_INDEX;
  f->parts.constants += n->is == PW_CONSTANT;
  f->parts.sizes += n->is == PW_SIZE;
  f->parts.given += n->is == PW_TENSOR && given;
  f->parts.computed += (n->is == PW_TENSOR && !given) || n->is == PW_FUNCTION;
}

static void find_parts(void *ctx, const neo_ast_expr *e) {
  finding *f = ctx;
  f->parts.guards += e->kind == NEO_AST_GUARD;
  f->parts.reducers += e->kind == NEO_AST_REDUCE;
  f->parts.huge = f->parts.huge ||
                  (e->kind == NEO_AST_NUMBER && e->u.number.is_int && e->u.number.i >= huge_from);
  if (e->kind == NEO_AST_REF)
    find_name(f, e);
  neo_ast_children(e, find_parts, f);
}

static bool number_of(pw_walk *w, const neo_ast_expr *e, int64_t *value) {
  int64_t x, y;
  const pw_name *n;
  switch (e->kind) {
  case NEO_AST_NUMBER:
    *value = e->u.number.i;
    return e->u.number.is_int;
  case NEO_AST_REF:
    n = e->u.ref.has_subs || e->u.ref.has_args ? NULL : pw_find(w, e->u.ref.path.at[0].text);
    *value = n ? n->value : 0;
    return n && n->is == PW_CONSTANT;
  case NEO_AST_UNARY:
    *value = 0;
    if (e->u.unary.op != NEO_AST_NEG || !number_of(w, e->u.unary.x, &x))
      return false;
    *value = -x;
    return true;
  case NEO_AST_BINARY:
    if (!number_of(w, e->u.binary.x, &x) || !number_of(w, e->u.binary.y, &y))
      return false;
    *value = e->u.binary.op == NEO_AST_ADD   ? x + y
             : e->u.binary.op == NEO_AST_SUB ? x - y
             : e->u.binary.op == NEO_AST_MUL ? x * y
             : e->u.binary.op == NEO_AST_DIV ? (y ? x / y : 0)
                                             : 0;
    return true;
  default:
    return false;
  }
}

pw_parts pw_parts_of(pw_walk *w, const neo_ast_expr *e) {
  finding f = {.w = w};
  find_parts(&f, e);
  f.parts.is_number = number_of(w, e, &f.parts.value);
  return f.parts;
}

/* ---- ends of ranges */

static bool is_minus(const neo_ast_expr *e) {
  return e->kind == NEO_AST_UNARY || (e->kind == NEO_AST_BINARY && e->u.binary.op == NEO_AST_SUB);
}

pairs_option pw_low_of(pw_walk *w, const neo_ast_expr *e) {
  if (!e)
    return PAIRS_LOW_NONE;
  pw_parts p = pw_parts_of(w, e);
  if (p.is_number)
    return p.value < 0 ? PAIRS_LOW_NEGATIVE : p.value ? PAIRS_LOW_POSITIVE : PAIRS_LOW_ZERO;
  if (p.indices)
    return is_minus(e) ? PAIRS_LOW_BELOW : PAIRS_LOW_INDEX;
  return is_minus(e) && e->kind == NEO_AST_UNARY ? PAIRS_LOW_MINUS_SIZE : PAIRS_LOW_SIZE;
}

pairs_option pw_high_of(pw_walk *w, const neo_ast_expr *e, neo_ast_rel rel) {
  if (!e)
    return PAIRS_HIGH_NONE;
  pw_parts p = pw_parts_of(w, e);
  if (p.is_number) {
    int64_t end = p.value + (rel == NEO_AST_REL_LE);
    return end < 0 ? PAIRS_HIGH_NEGATIVE : end ? PAIRS_HIGH_CONSTANT : PAIRS_HIGH_ZERO;
  }
  if (p.given || p.computed)
    return p.computed ? PAIRS_HIGH_COMPUTED : PAIRS_HIGH_ELEMENT;
  bool bare = neo_ast_is_bare(e) || (e->kind == NEO_AST_REF && !e->u.ref.has_subs);
  if (p.indices)
    return bare ? PAIRS_HIGH_INDEX : PAIRS_HIGH_BEYOND;
  return bare ? PAIRS_HIGH_SIZE : PAIRS_HIGH_PART;
}

/* ---- conditions */

static void find_equation(void *ctx, const neo_ast_expr *e) {
  bool *found = ctx;
  if (e->kind == NEO_AST_BINARY && e->u.binary.op == NEO_AST_EQ) {
    const neo_ast_expr *x = e->u.binary.x, *y = e->u.binary.y;
    *found = *found || (x->kind == NEO_AST_REF && x->u.ref.has_subs && y->kind == NEO_AST_REF &&
                        !y->u.ref.has_subs);
  }
  neo_ast_children(e, find_equation, ctx);
}

pairs_option pw_condition_of(pw_walk *w, const neo_ast_expr *e) {
  if (!e)
    return PAIRS_CONDITION_NONE;
  pw_parts p = pw_parts_of(w, e);
  bool equation = false;
  find_equation(&equation, e);
  return p.reducers   ? PAIRS_CONDITION_REDUCER
         : p.guards   ? PAIRS_CONDITION_GUARD
         : equation   ? PAIRS_CONDITION_EQUATION
         : p.computed ? PAIRS_CONDITION_COMPUTED
         : p.given    ? PAIRS_CONDITION_INPUT
         : p.sizes    ? PAIRS_CONDITION_SIZE
                      : PAIRS_CONDITION_INDEX;
}

/* ---- subscripts */

static pairs_option call_subscript(const neo_ast_expr *e) {
  const char *name = e->u.ref.path.at[0].text;
  if (strcmp(name, "select") == 0)
    return PAIRS_SUBSCRIPT_SELECT;
  bool clamps = strcmp(name, "clamp") == 0 || strcmp(name, "min") == 0 || strcmp(name, "max") == 0;
  return clamps ? PAIRS_SUBSCRIPT_CLAMP : PAIRS_SUBSCRIPT_CAST;
}

static pairs_option element_subscript(pw_walk *w, const neo_ast_expr *e) {
  for (uint32_t k = 0; k < e->u.ref.subs.n; k++)
    if (e->u.ref.subs.at[k].expr) {
      pw_parts p = pw_parts_of(w, e->u.ref.subs.at[k].expr);
      if (p.given || p.computed)
        return PAIRS_SUBSCRIPT_NESTED;
    }
  const pw_name *n = pw_find(w, e->u.ref.path.at[0].text);
  bool given = n && n->is == PW_TENSOR && n->role == PAIRS_ROLE_INPUT;
  return given || e->u.ref.path.n > 1 ? PAIRS_SUBSCRIPT_ELEMENT : PAIRS_SUBSCRIPT_COMPUTED;
}

static pairs_option sum_subscript(pw_walk *w, const neo_ast_expr *e, pw_parts all) {
  bool adds = e->u.binary.op == NEO_AST_ADD;
  pw_parts x = pw_parts_of(w, e->u.binary.x), y = pw_parts_of(w, e->u.binary.y);
  if (x.indices && y.indices)
    return adds ? PAIRS_SUBSCRIPT_SUM : PAIRS_SUBSCRIPT_DIFFERENCE;
  if (!adds && y.indices)
    return PAIRS_SUBSCRIPT_REVERSED;
  if (!all.indices)
    return PAIRS_SUBSCRIPT_SIZE;
  return adds ? PAIRS_SUBSCRIPT_ADD : PAIRS_SUBSCRIPT_SUB;
}

static pairs_option binary_subscript(pw_walk *w, const neo_ast_expr *e, pw_parts all) {
  pw_parts x = pw_parts_of(w, e->u.binary.x), y = pw_parts_of(w, e->u.binary.y);
  bool below = y.is_number && y.value < 0;
  switch (e->u.binary.op) {
  case NEO_AST_DIV:
    return below ? PAIRS_SUBSCRIPT_NEGATIVE_DIVISOR : PAIRS_SUBSCRIPT_QUOTIENT;
  case NEO_AST_MOD:
    return below ? PAIRS_SUBSCRIPT_NEGATIVE_DIVISOR : PAIRS_SUBSCRIPT_REMAINDER;
  case NEO_AST_MUL:
    return x.indices && y.indices ? PAIRS_SUBSCRIPT_PRODUCT : PAIRS_SUBSCRIPT_SCALE;
  case NEO_AST_ADD:
  case NEO_AST_SUB:
    return sum_subscript(w, e, all);
  default:
    return PAIRS_SUBSCRIPT_PRODUCT;
  }
}

static pairs_option ref_subscript(pw_walk *w, const neo_ast_expr *e) {
  const pw_name *n = pw_find(w, e->u.ref.path.at[0].text);
  if (e->u.ref.has_args)
    return call_subscript(e);
  if (n && n->is == PW_INDEX)
    return PAIRS_SUBSCRIPT_INDEX;
  if (n && n->is == PW_SIZE)
    return PAIRS_SUBSCRIPT_SIZE;
  return element_subscript(w, e);
}

pairs_option pw_subscript_of(pw_walk *w, const neo_ast_expr *e) {
  if (!e)
    return PAIRS_SUBSCRIPT_PACK;
  pw_parts p = pw_parts_of(w, e);
  if (p.huge)
    return PAIRS_SUBSCRIPT_HUGE;
  if (p.is_number)
    return PAIRS_SUBSCRIPT_CONSTANT;
  switch (e->kind) {
  case NEO_AST_REF:
    return ref_subscript(w, e);
  case NEO_AST_BINARY:
    if (p.given + p.computed > 0 && !p.reducers && e->u.binary.op != NEO_AST_MOD)
      return p.computed ? PAIRS_SUBSCRIPT_COMPUTED : PAIRS_SUBSCRIPT_ELEMENT;
    return binary_subscript(w, e, p);
  case NEO_AST_REDUCE:
    return PAIRS_SUBSCRIPT_REDUCER;
  case NEO_AST_GUARD:
    return PAIRS_SUBSCRIPT_NESTED;
  default:
    return PAIRS_SUBSCRIPT_REVERSED; /* -i */
  }
}

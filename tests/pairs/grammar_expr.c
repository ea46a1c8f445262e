/* Options of expressions. */
#include "tests/pairs/grammar_walk.h"
#include "tests/syntax/ast_dump.h"
#include <string.h>

static void body_has(pw_walk *w, pairs_option what) {
  if (!w->in_range)
    return;
  pw_note(w, PAIRS_CROSS_BODY, w->reducer, what);
  pw_note(w, PAIRS_CROSS_BODY_LOW, what, w->low);
}

static void goes_through(pw_walk *w, pairs_option what) {
  w->through |= (uint64_t)1 << (what - PAIRS_THROUGH_BELOW);
}

void pw_in(pw_walk *w, pairs_option position, const neo_ast_expr *e) {
  pairs_option before = w->position;
  w->position = position;
  pw_expr(w, e);
  w->position = before;
}

static void under_guard(pw_walk *w, pairs_option guard, const neo_ast_expr *e) {
  pairs_option before = w->guard;
  w->guard = guard;
  pw_expr(w, e);
  w->guard = before;
}

/* ---- values that are computed twice */

typedef struct {
  pw_walk *w;
  neo_str text, ranges;
  const char *seen[8];
  uint32_t n_seen, reads;
} shaping;

static void shape(void *ctx, const neo_ast_expr *e);

static void shape_name(shaping *s, const char *name) {
  const pw_name *n = pw_find(s->w, name);
  if (!n || n->is != PW_INDEX) {
    neo_str_addf(&s->text, " %s", name);
    return;
  }
  uint32_t k = 0;
  while (k < s->n_seen && strcmp(s->seen[k], name) != 0)
    k++;
  if (k == s->n_seen && k < 8) {
    s->seen[s->n_seen++] = name;
    neo_str_addf(&s->ranges, "%s;", n->range);
  }
  neo_str_addf(&s->text, " #%u", k);
}

static void shape(void *ctx, const neo_ast_expr *e) {
  shaping *s = ctx;
  neo_str_addf(&s->text, "(%d", (int)e->kind);
  if (e->kind == NEO_AST_NUMBER)
    neo_str_addf(&s->text, " %s", e->u.number.text);
  if (e->kind == NEO_AST_UNARY)
    neo_str_addf(&s->text, " %s", neo_ast_op_text(e->u.unary.op));
  if (e->kind == NEO_AST_BINARY)
    neo_str_addf(&s->text, " %s", neo_ast_op_text(e->u.binary.op));
  if (e->kind == NEO_AST_REF) {
    shape_name(s, e->u.ref.path.at[0].text);
    s->reads += e->u.ref.has_subs;
  }
  neo_ast_children(e, shape, s);
  neo_str_add(&s->text, ")");
}

static bool is_costly(const char *name) {
  static const char *const of[] = {"exp", "tanh", "sin",      "cos", "sigmoid", "gelu",  "silu",
                                   "erf", "log",  "softplus", "elu", "expm1",   "log1p", "sqrt"};
  for (uint32_t k = 0; k < sizeof of / sizeof *of; k++)
    if (strcmp(of[k], name) == 0)
      return true;
  return false;
}

void pw_value_at(pw_walk *w, const neo_ast_expr *e, pairs_option by) {
  shaping s = {.w = w};
  neo_str_init(&s.text, w->a);
  neo_str_init(&s.ranges, w->a);
  shape(&s, e);
  if (!s.reads || !s.n_seen)
    return;
  pw_value v = {neo_str_text(&s.text), neo_str_text(&s.ranges), by};
  for (size_t k = 0; k < w->values.n; k++) {
    const pw_value *o = &w->values.at[k];
    if (strcmp(o->shape, v.shape) == 0 && strcmp(o->range, v.range) != 0)
      pw_note(w, PAIRS_CROSS_TWICE, o->by, v.by);
  }
  NEO_PUSH(w->a, &w->values, v);
}

/* ---- gradients */

static pairs_option target_of(const pw_name *n) {
  return n->role == PAIRS_ROLE_PARAM   ? PAIRS_TARGET_PARAM
         : n->role == PAIRS_ROLE_STATE ? PAIRS_TARGET_STATE
         : n->constant                 ? PAIRS_TARGET_CONSTANT
         : n->recurs                   ? PAIRS_TARGET_RECURRENCE
         : n->result                   ? PAIRS_TARGET_RESULT
         : n->scalar                   ? PAIRS_TARGET_SCALAR
         : n->role == PAIRS_ROLE_INPUT ? PAIRS_TARGET_INPUT
                                       : PAIRS_TARGET_DEFINITION;
}

static const pw_name *argument(pw_walk *w, const neo_ast_expr *e, uint32_t k) {
  const neo_ast_expr *x = k < e->u.ref.args.n ? e->u.ref.args.at[k].value : NULL;
  return x && x->kind == NEO_AST_REF ? pw_find(w, x->u.ref.path.at[0].text) : NULL;
}

static void gradient(pw_walk *w, const neo_ast_expr *e) {
  const pw_name *loss = argument(w, e, 0);
  uint64_t through = loss ? loss->through : 0;
  pairs_option order =
      through >> PW_HAS_GRAD & 1 ? PAIRS_ORDER_SECOND : PAIRS_ORDER_FIRST;
  for (uint32_t k = 0; k < e->u.ref.args.n; k++)
    if (e->u.ref.args.at[k].name.text)
      order = PAIRS_ORDER_SEED;
  for (uint32_t k = 1; k < e->u.ref.args.n; k++) {
    const pw_name *to = argument(w, e, k);
    if (to && !e->u.ref.args.at[k].name.text)
      pw_note(w, PAIRS_CROSS_TARGET, target_of(to), order);
  }
  for (pairs_option t = PAIRS_THROUGH_BELOW; t <= PAIRS_THROUGH_CONSTANT; t++)
    if (through >> (t - PAIRS_THROUGH_BELOW) & 1)
      pw_note(w, PAIRS_CROSS_THROUGH, t, order);
  w->through |= through | (uint64_t)1 << PW_HAS_GRAD;
  pw_trait(w, PAIRS_TRAIT_GRAD);
}

/* ---- references */

static void subscripts(pw_walk *w, const neo_ast_expr *e, bool self) {
  for (uint32_t k = 0; k < e->u.ref.subs.n; k++) {
    const neo_ast_expr *x = e->u.ref.subs.at[k].expr;
    pairs_option sub = pw_subscript_of(w, x);
    pw_note(w, self ? PAIRS_CROSS_SELF : PAIRS_CROSS_SUBSCRIPT, sub, w->guard);
    if (self && sub == PAIRS_SUBSCRIPT_CONSTANT) {
      pw_rule(w, PAIRS_RULE_CHANNEL);
      goes_through(w, PAIRS_THROUGH_CHANNEL);
    }
    bool by_data = sub == PAIRS_SUBSCRIPT_ELEMENT || sub == PAIRS_SUBSCRIPT_COMPUTED ||
                   sub == PAIRS_SUBSCRIPT_NESTED;
    if (by_data) {
      body_has(w, PAIRS_BODY_LOOKUP);
      goes_through(w, PAIRS_THROUGH_LOOKUP);
    }
    if (w->in_range)
      pw_note(w, PAIRS_CROSS_SUBSCRIPT_LOW, sub, w->low);
    if (x)
      pw_in(w, PAIRS_POSITION_SUBSCRIPT, x);
  }
}

static void note_tensor(pw_walk *w, const pw_name *n) {
  w->through |= n->through;
  if (n->constant)
    goes_through(w, PAIRS_THROUGH_CONSTANT);
  bool names_integer = n->role == PAIRS_ROLE_DEFINITION &&
                       (n->type == NEO_I64_T || n->type == NEO_I32_T || n->type == NEO_I8_T ||
                        n->type == NEO_U8_T) &&
                       w->position >= PAIRS_POSITION_CONDITION;
  if (names_integer)
    pw_rule(w, PAIRS_RULE_NAMED_INTEGER);
  if (n->below && w->position == PAIRS_POSITION_SUBSCRIPT)
    pw_rule(w, PAIRS_RULE_ARG_READ);
}

static void builtin(pw_walk *w, const neo_ast_expr *e, uint32_t k) {
  const char *name = e->u.ref.path.at[0].text;
  bool selects = strcmp(name, "select") == 0;
  if (strcmp(name, "grad") == 0) {
    gradient(w, e);
    return;
  }
  pw_note(w, PAIRS_CROSS_FUNCTION, PAIRS_OPTION_FUNCTION + k, w->position);
  if (strcmp(name, "i8") == 0 || strcmp(name, "u8") == 0)
    pw_rule(w, PAIRS_RULE_WRAPPED);
  if (strcmp(name, "rand") == 0) {
    body_has(w, PAIRS_BODY_RAND);
    pw_trait(w, PAIRS_TRAIT_RAND);
  }
  if (selects) {
    body_has(w, PAIRS_BODY_SELECT);
    goes_through(w, PAIRS_THROUGH_SELECT);
  }
  if (is_costly(name)) {
    body_has(w, PAIRS_BODY_FUNCTION);
    pw_value_at(w, e, w->guard == PAIRS_GUARD_SELECT ? PAIRS_TWICE_GUARDED
                      : w->in_range                  ? PAIRS_TWICE_REDUCER
                                                     : PAIRS_TWICE_DEFINITION);
  }
  for (uint32_t i = 0; i < e->u.ref.args.n; i++) {
    const neo_ast_expr *x = e->u.ref.args.at[i].value;
    if (selects && i == 0)
      pw_in(w, PAIRS_POSITION_CONDITION, x);
    else if (selects)
      under_guard(w, PAIRS_GUARD_SELECT, x);
    else
      pw_expr(w, x);
  }
}

static bool has_indices(pw_walk *w, const neo_ast_expr *e) {
  return e->u.ref.has_subs || pw_parts_of(w, e).indices > 0;
}

static void call(pw_walk *w, const neo_ast_expr *e) {
  pw_trait(w, PAIRS_TRAIT_CALL);
  if (has_indices(w, e)) {
    body_has(w, PAIRS_BODY_CALL);
    goes_through(w, PAIRS_THROUGH_CALL);
  }
  if (e->u.ref.has_subs)
    pw_rule(w, PAIRS_RULE_CALL_SUBSCRIPTS);
  for (uint32_t i = 0; i < e->u.ref.args.n; i++) {
    const neo_ast_arg *x = &e->u.ref.args.at[i];
    if (x->name.text)
      pw_rule(w, PAIRS_RULE_NAMED);
    bool slice = x->value->kind == NEO_AST_REF && x->value->u.ref.has_subs;
    for (uint32_t k = 0; slice && k < x->value->u.ref.subs.n; k++)
      if (!x->value->u.ref.subs.at[k].expr)
        pw_rule(w, PAIRS_RULE_SLICE);
    pw_expr(w, x->value);
  }
}

static void reference(pw_walk *w, const neo_ast_expr *e) {
  const char *name = e->u.ref.path.at[0].text;
  const pw_name *n = pw_find(w, name);
  uint32_t k;
  bool self = w->self && e->u.ref.has_subs && strcmp(w->self, name) == 0;
  if (e->u.ref.path.n > 1)
    pw_rule(w, strcmp(e->u.ref.path.at[1].text, "rounds") == 0 ? PAIRS_RULE_ROUNDS
                                                               : PAIRS_RULE_OWN_PARAMETER);
  if (!self && (!n || n->is == PW_FUNCTION) && pw_is_builtin(name, &k) && e->u.ref.path.n == 1) {
    builtin(w, e, k);
    return;
  }
  if (e->u.ref.has_args)
    call(w, e);
  if (n && n->is == PW_INDEX && w->position <= PAIRS_POSITION_INTEGER)
    body_has(w, PAIRS_BODY_INDEX);
  if (n && n->is == PW_SIZE)
    pw_trait(w, PAIRS_TRAIT_RUNTIME);
  if (n && n->is == PW_TENSOR && !self)
    note_tensor(w, n);
  if (self) {
    body_has(w, PAIRS_BODY_SELF);
    pw_trait(w, PAIRS_TRAIT_SELF);
    goes_through(w, PAIRS_THROUGH_SELF);
  }
  subscripts(w, e, self);
}

/* ---- reducers */

static const char *range_text(pw_walk *w, const neo_ast_axis *x) {
  neo_str s;
  neo_str_init(&s, w->a);
  if (x->lo)
    neo_ast_dump_expr(x->lo, &s);
  neo_str_addf(&s, "..%d", (int)x->hi_rel);
  if (x->hi)
    neo_ast_dump_expr(x->hi, &s);
  return neo_str_text(&s);
}

void pw_axis(pw_walk *w, const neo_ast_axis *x, pairs_option low) {
  if (!x->name.text)
    return;
  pw_name *n = pw_add(w, x->name.text, PW_INDEX);
  n->low = low;
  n->range = range_text(w, x);
}

static bool may_be_below(pairs_option low) {
  return low == PAIRS_LOW_NEGATIVE || low == PAIRS_LOW_BELOW || low == PAIRS_LOW_MINUS_SIZE;
}

static void range(pw_walk *w, const neo_ast_axis *x, pairs_option reducer) {
  if (x->kind == NEO_AST_PACK) {
    pw_rule(w, PAIRS_RULE_PACK_REDUCED);
    return;
  }
  pairs_option low = pw_low_of(w, x->lo), high = pw_high_of(w, x->hi, x->hi_rel);
  pw_note(w, PAIRS_CROSS_LOW_OF_REDUCER, reducer, low);
  pw_note(w, PAIRS_CROSS_HIGH_OF_REDUCER, reducer, high);
  pw_note(w, PAIRS_CROSS_RANGE, low, high);
  pw_note(w, PAIRS_CROSS_LOW_IN, w->place, low);
  if (x->lo)
    pw_in(w, PAIRS_POSITION_BOUND, x->lo);
  if (x->hi)
    pw_in(w, PAIRS_POSITION_BOUND, x->hi);
  if (may_be_below(low)) {
    goes_through(w, PAIRS_THROUGH_BELOW);
    pw_trait(w, PAIRS_TRAIT_BELOW);
  }
  if (w->self && high == PAIRS_HIGH_INDEX)
    goes_through(w, PAIRS_THROUGH_TRIANGLE);
  pw_axis(w, x, low);
  w->low = low;
}

static void reduction(pw_walk *w, const neo_ast_expr *e) {
  pairs_option reducer = PAIRS_OPTION_REDUCER + e->u.reduce.reducer, before = w->reducer,
               low = w->low;
  size_t n = w->names.n;
  bool in = w->in_range;
  body_has(w, PAIRS_BODY_REDUCER);
  pw_trait(w, PAIRS_TRAIT_REDUCER);
  for (uint32_t k = 0; k < e->u.reduce.axes.n; k++)
    range(w, &e->u.reduce.axes.at[k], reducer);
  pairs_option condition = pw_condition_of(w, e->u.reduce.where);
  pw_note(w, PAIRS_CROSS_WHERE, reducer, condition);
  pw_note(w, PAIRS_CROSS_WHERE_LOW, condition, w->low);
  if (e->u.reduce.where) {
    pw_in(w, PAIRS_POSITION_CONDITION, e->u.reduce.where);
    goes_through(w, PAIRS_THROUGH_WHERE);
  }
  w->in_range = true;
  w->reducer = reducer;
  bool logical = e->u.reduce.reducer == NEO_AST_RED_ANY || e->u.reduce.reducer == NEO_AST_RED_ALL;
  pw_in(w, logical ? PAIRS_POSITION_CONDITION : w->position, e->u.reduce.body);
  w->in_range = in;
  w->reducer = before;
  w->low = low;
  w->names.n = n;
}

/* ---- all */

static void guard(pw_walk *w, const neo_ast_expr *e) {
  const neo_ast_expr *other = e->u.guard.fallback;
  pw_parts p = pw_parts_of(w, other), read = pw_parts_of(w, e->u.guard.value);
  body_has(w, PAIRS_BODY_GUARD);
  pw_trait(w, PAIRS_TRAIT_GUARD);
  goes_through(w, PAIRS_THROUGH_GUARD);
  if (other->kind != NEO_AST_NUMBER && other->kind != NEO_AST_BOOL && !p.is_number)
    pw_rule(w, PAIRS_RULE_ELSE_VALUE);
  if (p.given || p.computed)
    pw_rule(w, PAIRS_RULE_ELSE_READ);
  if (read.guards)
    pw_rule(w, PAIRS_RULE_NESTED_ELSE);
  under_guard(w, PAIRS_GUARD_ELSE, e->u.guard.value);
  pw_expr(w, other);
}

static void number(pw_walk *w, const neo_ast_expr *e) {
  const char *text = e->u.number.text;
  if (strcmp(text, "inf") == 0)
    pw_rule(w, PAIRS_RULE_INF);
  if (strcmp(text, "nan") == 0)
    pw_rule(w, PAIRS_RULE_NAN);
  if (strcmp(text, "pi") == 0)
    pw_rule(w, PAIRS_RULE_PI);
  if (strpbrk(text, "0123456789") == text && strpbrk(text, "eE"))
    pw_rule(w, PAIRS_RULE_EXPONENT);
}

static void operation(pw_walk *w, const neo_ast_expr *e) {
  bool unary = e->kind == NEO_AST_UNARY;
  neo_ast_op op = unary ? e->u.unary.op : e->u.binary.op;
  bool compares = neo_ast_op_is_cmp(op) || op == NEO_AST_AND || op == NEO_AST_OR || op == NEO_AST_NOT;
  pairs_option position = compares ? PAIRS_POSITION_CONDITION : w->position;
  pw_note(w, PAIRS_CROSS_OPERATOR, PAIRS_OPTION_OPERATOR + op, position);
  pw_in(w, position, unary ? e->u.unary.x : e->u.binary.x);
  if (!unary)
    pw_in(w, position, e->u.binary.y);
}

void pw_expr(pw_walk *w, const neo_ast_expr *e) {
  switch (e->kind) {
  case NEO_AST_NUMBER:
    number(w, e);
    break;
  case NEO_AST_REF:
    reference(w, e);
    break;
  case NEO_AST_UNARY:
  case NEO_AST_BINARY:
    operation(w, e);
    break;
  case NEO_AST_GUARD:
    guard(w, e);
    break;
  case NEO_AST_REDUCE:
    reduction(w, e);
    break;
  default:
    break;
  }
}

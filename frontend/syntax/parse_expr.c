/* Expressions, a function for each level of precedence, loosest first: or, and, not (with any and
 * all), comparisons, sums, products (with the other reducers), minus, powers, atoms.
 *
 * Chains of one level are loops that build a tree to the left; only brackets, reducers, `not` and
 * `^` recurse, and they count as nesting. */
#define _GNU_SOURCE /* strtod_l */
#include "frontend/syntax/foreign.h"
#include "frontend/syntax/parse_rec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- nodes ----------------------------------------------------------------------------------- */

neo_ast_expr *neo_p_new_expr(neo_parser *p, neo_ast_expr_kind kind) {
  neo_ast_expr *e = NEO_NEW(p->arena, neo_ast_expr);
  e->kind = kind;
  e->height = 1;
  return e;
}

static void raise_above(neo_ast_expr *e, const neo_ast_expr *child) {
  if (child && child->height >= e->height)
    e->height = (uint16_t)(child->height + 1);
}

static void raise_above_axes(neo_ast_expr *e, neo_ast_axes axes) {
  for (uint32_t i = 0; i < axes.n; i++) {
    raise_above(e, axes.at[i].lo);
    raise_above(e, axes.at[i].hi);
  }
}

static void set_height(neo_ast_expr *e) {
  switch (e->kind) {
  case NEO_AST_REF:
    for (uint32_t i = 0; i < e->u.ref.args.n; i++)
      raise_above(e, e->u.ref.args.at[i].value);
    for (uint32_t i = 0; i < e->u.ref.subs.n; i++)
      raise_above(e, e->u.ref.subs.at[i].expr);
    break;
  case NEO_AST_UNARY:
    raise_above(e, e->u.unary.x);
    break;
  case NEO_AST_BINARY:
    raise_above(e, e->u.binary.x);
    raise_above(e, e->u.binary.y);
    break;
  case NEO_AST_GUARD:
    raise_above(e, e->u.guard.value);
    raise_above(e, e->u.guard.fallback);
    break;
  case NEO_AST_REDUCE:
    raise_above_axes(e, e->u.reduce.axes);
    raise_above(e, e->u.reduce.where);
    raise_above(e, e->u.reduce.body);
    break;
  default:
    break;
  }
}

neo_ast_expr *neo_p_done(neo_parser *p, neo_ast_expr *e, size_t from) {
  e->span = neo_p_span_from(p, from);
  if (p->panic)
    return e;
  set_height(e);
  if (e->height > NEO_AST_MAX_HEIGHT) {
    int h = NEO_P_ERROR(p, e->span, NEO_D_TOO_LONG, NEO_AST_MAX_HEIGHT);
    neo_diag_help(p->diags, h, "give parts of it names of their own");
  }
  return e;
}

neo_ast_expr *neo_p_unary(neo_parser *p, neo_ast_op op, size_t op_at, neo_ast_expr *x) {
  if (p->panic)
    return x;
  neo_ast_expr *e = neo_p_new_expr(p, NEO_AST_UNARY);
  e->u.unary.op = op;
  e->u.unary.op_span = neo_p_token_span(p, &p->tokens.at[op_at]);
  e->u.unary.x = x;
  return neo_p_done(p, e, op_at);
}

static neo_ast_expr *binary(neo_parser *p, size_t from, size_t op_at, neo_ast_expr *x,
                            neo_ast_expr *y) {
  if (p->panic)
    return x;
  neo_ast_expr *e = neo_p_new_expr(p, NEO_AST_BINARY);
  const neo_token *op = &p->tokens.at[op_at];
  _Static_assert(NEO_TOK_OR - NEO_TOK_ADD == (int)NEO_AST_OR - (int)NEO_AST_ADD, "same order");
  e->u.binary.op = (neo_ast_op)((int)op->kind - NEO_TOK_ADD + NEO_AST_ADD);
  e->u.binary.op_span = neo_p_token_span(p, op);
  e->u.binary.x = x;
  e->u.binary.y = y;
  return neo_p_done(p, e, from);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void too_big(neo_parser *p, const char *text, const char *type) {
  const char *shown = neo_arena_printf(p->arena, "%.40s", text);
  NEO_P_COMPLAIN(p, neo_p_span_here(p), NEO_D_BIG_NUMBER, shown, type);
}

static void set_number(neo_parser *p, neo_ast_expr *e, const char *text) {
  e->u.number.text = text;
  if (strcmp(text, "inf") == 0) {
    e->u.number.value = INFINITY;
    return;
  }
  if (strcmp(text, "nan") == 0) {
    e->u.number.value = NAN;
    return;
  }
  if (strcmp(text, "pi") == 0) {
    e->u.number.value = 3.14159265358979323846;
    return;
  }
  e->u.number.is_int = !strpbrk(text, ".eE");
  e->u.number.value = strtod_l(text, NULL, p->c_locale);
  if (!e->u.number.is_int) {
    if (isinf(e->u.number.value))
      too_big(p, text, "f64");
    return;
  }
  errno = 0;
  e->u.number.i = strtoll(text, NULL, 10);
  if (errno == ERANGE)
    too_big(p, text, "i64");
}

neo_ast_expr *neo_p_number(neo_parser *p) {
  size_t from = p->at;
  neo_ast_expr *e = neo_p_new_expr(p, NEO_AST_NUMBER);
  set_number(p, e, neo_p_peek(p, 0)->text);
  neo_p_take(p);
  return neo_p_done(p, e, from);
}

neo_ast_expr *neo_p_bool(neo_parser *p) {
  size_t from = p->at;
  neo_ast_expr *e = neo_p_new_expr(p, NEO_AST_BOOL);
  e->u.boolean = neo_p_take(p)->kind == NEO_TOK_TRUE;
  return neo_p_done(p, e, from);
}

/* ---- atoms ----------------------------------------------------------------------------------- */

static neo_ast_arg arg(neo_parser *p, bool *named) {
  size_t from = p->at;
  neo_ast_arg a = {0};
  bool by_name = neo_p_peek_kind(p, 1) == NEO_TOK_ASSIGN;
  if (by_name) {
    a.name = neo_p_name(p, "an option's name");
    neo_p_accept(p, NEO_TOK_ASSIGN);
  } else if (*named && !p->panic) {
    NEO_P_COMPLAIN(p, neo_p_span_here(p), NEO_D_ARG_ORDER);
  }
  *named |= by_name;
  if (!p->panic)
    a.value = neo_p_expr(p);
  a.span = neo_p_span_from(p, from);
  return a;
}

static void close_args(neo_parser *p) {
  if (p->panic || neo_p_accept(p, NEO_TOK_RPAREN) || neo_p_juxtaposed(p))
    return;
  bool semi = neo_p_kind(p) == NEO_TOK_SEMI;
  int h = neo_p_expected(p, "',' or ')'");
  if (semi)
    neo_diag_help(p->diags, h, "in a call, options follow a comma: f(x, stride = 2)");
}

neo_ast_args neo_p_args(neo_parser *p) {
  NEO_VEC(neo_ast_arg) v = {0};
  neo_ast_args list = {0};
  bool named = false;
  neo_p_expect(p, NEO_TOK_LPAREN);
  bool inside = neo_p_enter(p) && neo_p_kind(p) != NEO_TOK_RPAREN;
  while (inside) {
    NEO_PUSH(p->arena, &v, arg(p, &named));
    inside = neo_p_accept(p, NEO_TOK_COMMA);
  }
  neo_p_leave(p);
  close_args(p);
  NEO_P_LIST(&list, &v);
  return list;
}

static neo_ast_sub subscript(neo_parser *p) {
  size_t from = p->at;
  neo_ast_sub s = {0};
  if (!neo_p_accept(p, NEO_TOK_PACK))
    s.expr = neo_p_expr(p);
  s.span = neo_p_span_from(p, from);
  return s;
}

static void not_closed(neo_parser *p) {
  bool range = neo_p_kind(p) == NEO_TOK_COLON;
  int h = neo_p_expected(p, "',' or ']'");
  if (range)
    neo_diag_help(p->diags, h, "a range is the index's own: Y[i < 2] = X[lo + i]");
}

static neo_ast_subs subscripts(neo_parser *p) {
  NEO_VEC(neo_ast_sub) v = {0};
  neo_ast_subs list = {0};
  bool pack = false;
  neo_p_take(p); /* [ */
  bool inside = neo_p_enter(p);
  while (inside) {
    neo_ast_sub s = subscript(p);
    if (!s.expr && !p->panic)
      neo_p_check_pack(p, &pack, s.span);
    NEO_PUSH(p->arena, &v, s);
    inside = neo_p_accept(p, NEO_TOK_COMMA);
  }
  neo_p_leave(p);
  if (!p->panic && !neo_p_accept(p, NEO_TOK_RBRACKET))
    not_closed(p);
  NEO_P_LIST(&list, &v);
  return list;
}

/* path [args] [subs] */
static neo_ast_expr *reference(neo_parser *p) {
  size_t from = p->at;
  neo_ast_expr *e = neo_p_new_expr(p, NEO_AST_REF);
  e->u.ref.path = neo_p_path(p, "a name");
  e->u.ref.has_args = !p->panic && neo_p_kind(p) == NEO_TOK_LPAREN;
  if (e->u.ref.has_args) {
    p->asks_gradients |= neo_streq(e->u.ref.path.at[e->u.ref.path.n - 1].text, "grad");
    e->u.ref.args = neo_p_args(p);
  }
  size_t bracket = p->at;
  e->u.ref.has_subs = !p->panic && neo_p_kind(p) == NEO_TOK_LBRACKET;
  if (e->u.ref.has_subs) {
    e->u.ref.subs = subscripts(p);
    e->u.ref.subs_span = neo_p_span_from(p, bracket);
  }
  return neo_p_done(p, e, from);
}

static void close_paren(neo_parser *p) {
  if (neo_p_accept(p, NEO_TOK_RPAREN) || neo_p_juxtaposed(p))
    return;
  bool comma = neo_p_kind(p) == NEO_TOK_COMMA, assign = neo_p_kind(p) == NEO_TOK_ASSIGN;
  int h = neo_p_expected(p, "an operator, 'else' or ')'");
  if (comma)
    neo_diag_help(p->diags, h, "there are no tuples");
  if (assign)
    neo_diag_help(p->diags, h, "equality is written '=='");
}

/* "(" expr ["else" expr] ")" */
static neo_ast_expr *parenthesis(neo_parser *p) {
  size_t from = p->at;
  neo_ast_expr *e = NULL, *fallback = NULL;
  if (neo_p_enter(p)) {
    neo_p_take(p);
    e = neo_p_expr(p);
    if (neo_p_accept(p, NEO_TOK_ELSE))
      fallback = neo_p_expr(p);
    if (!p->panic)
      close_paren(p);
  }
  neo_p_leave(p);
  if (p->panic)
    return e;
  if (!fallback) {
    if (e->kind != NEO_AST_GUARD)
      e->parens = true;
    e->span = neo_p_span_from(p, from);
    return e;
  }
  neo_ast_expr *guard = neo_p_new_expr(p, NEO_AST_GUARD);
  guard->u.guard.value = e;
  guard->u.guard.fallback = fallback;
  return neo_p_done(p, guard, from);
}

/* Help for a list where none is allowed; in a call such as cat([A, B]), the function's. */
static const char *no_list(const neo_parser *p) {
  const neo_token *t = &p->tokens.at[p->at];
  bool call = p->at >= 2 && t[-1].kind == NEO_TOK_LPAREN && t[-2].kind == NEO_TOK_NAME;
  const char *help = call ? neo_foreign_help(t[-2].text) : NULL;
  return help ? help : "a list stands only on the right of 'const K[3] = [1, 2, 1]'";
}

static void no_operand(neo_parser *p) {
  neo_tok k = neo_p_kind(p);
  const char *word = neo_tok_text(k);
  bool parens = k == NEO_TOK_NOT;
  int h = parens ? NEO_P_ERROR(p, neo_p_span_here(p), NEO_D_NEEDS_PARENS, word)
                 : neo_p_expected(p, "an expression");
  if (k == NEO_TOK_SCAN || k == NEO_TOK_REPEAT || k == NEO_TOK_WHILE || k == NEO_TOK_CASE)
    neo_diag_help(p->diags, h, "a '%s' stands alone on the right of a definition", word);
  if (k == NEO_TOK_LBRACKET)
    neo_diag_help(p->diags, h, "%s", no_list(p));
  if (k == NEO_TOK_PACK)
    neo_diag_help(p->diags, h, "'..' stands for whole indices: X[t, ..]");
  if (k == NEO_TOK_COLON)
    neo_diag_help(p->diags, h,
                  "a whole dimension has an index, X[b, j], or '..' in a slice, X[b, ..]");
  if (k == NEO_TOK_WHERE)
    neo_diag_help(p->diags, h, "%s", neo_foreign_help("where"));
}

static neo_ast_expr *reducer_as_operand(neo_parser *p) {
  const neo_token *t = neo_p_peek(p, 0);
  int h = NEO_P_ERROR(p, neo_p_token_span(p, t), NEO_D_NEEDS_PARENS, t->text);
  neo_diag_help(p->diags, h, "write (%s[...] ...)", t->text);
  return NULL;
}

static neo_ast_expr *atom(neo_parser *p) {
  switch (neo_p_kind(p)) {
  case NEO_TOK_NUMBER:
    return neo_p_number(p);
  case NEO_TOK_TRUE:
  case NEO_TOK_FALSE:
    return neo_p_bool(p);
  case NEO_TOK_LPAREN:
    return parenthesis(p);
  case NEO_TOK_NAME:
    return neo_p_reducer_at(p, 0) ? reducer_as_operand(p) : reference(p);
  default:
    no_operand(p);
    return NULL;
  }
}

/* ---- operators ------------------------------------------------------------------------------- */

static neo_ast_expr *factor(neo_parser *p);

/* atom ["^" factor] */
static neo_ast_expr *power(neo_parser *p) {
  size_t from = p->at;
  neo_ast_expr *x = atom(p);
  if (p->panic || neo_p_kind(p) != NEO_TOK_POW)
    return x;
  size_t op_at = p->at;
  neo_p_take(p);
  neo_ast_expr *y = neo_p_enter(p) ? factor(p) : NULL;
  neo_p_leave(p);
  return binary(p, from, op_at, x, y);
}

/* Takes a run of minus signs; returns where it began. */
static size_t take_minus(neo_parser *p) {
  size_t from = p->at;
  while (neo_p_accept(p, NEO_TOK_SUB))
    ;
  return from;
}

static neo_ast_expr *negate(neo_parser *p, size_t from, size_t to, neo_ast_expr *x) {
  while (to > from && !p->panic)
    x = neo_p_unary(p, NEO_AST_NEG, --to, x);
  return x;
}

/* {"-"} power */
static neo_ast_expr *factor(neo_parser *p) {
  size_t from = take_minus(p), to = p->at;
  return negate(p, from, to, power(p));
}

static bool is_product(neo_tok k) {
  return k == NEO_TOK_MUL || k == NEO_TOK_DIV || k == NEO_TOK_MOD;
}

/* {"-"} REDUCER follows. */
static bool at_reduction(const neo_parser *p) {
  size_t n = 0;
  while (neo_p_peek_kind(p, n) == NEO_TOK_SUB)
    n++;
  return neo_p_reducer_at(p, n) == NEO_P_REDUCER;
}

static const neo_ast_expr *innermost_body(const neo_ast_expr *e) {
  while (!e->parens && (e->kind == NEO_AST_REDUCE || e->kind == NEO_AST_UNARY))
    e = e->kind == NEO_AST_REDUCE ? e->u.reduce.body : e->u.unary.x;
  return e;
}

/* Warns about `a / sum[k] b * c`, in which readers take c for a factor of the whole. */
static void check_swallow(neo_parser *p, neo_tok op, const neo_ast_expr *e) {
  if (p->panic || (op != NEO_TOK_DIV && op != NEO_TOK_MOD))
    return;
  const neo_ast_expr *body = innermost_body(e);
  if (body->kind != NEO_AST_BINARY || body->parens || body->u.binary.op == NEO_AST_POW)
    return;
  const char *sign = neo_tok_text(op);
  int h = NEO_P_COMPLAIN(p, e->span, NEO_D_SWALLOWS, sign);
  neo_diag_range(p->diags, h, body->span);
  neo_diag_help(p->diags, h, "write %s (sum[k] a*b) or %s (sum[k] a)*b", sign, sign);
}

static neo_ast_expr *reduction(neo_parser *p, neo_tok op) {
  size_t from = take_minus(p), to = p->at;
  neo_ast_expr *e = negate(p, from, to, neo_p_reduce(p));
  check_swallow(p, op, e);
  return e;
}

/* {factor ("*"|"/"|"%")} (factor | {"-"} REDUCER ranges term) */
neo_ast_expr *neo_p_term(neo_parser *p) {
  size_t from = p->at, op_at = p->at;
  neo_ast_expr *x = NULL;
  for (;;) {
    bool reduced = at_reduction(p);
    neo_tok op = x ? (neo_tok)p->tokens.at[op_at].kind : NEO_TOK_END;
    neo_ast_expr *y = reduced ? reduction(p, op) : factor(p);
    if (p->panic)
      return NULL;
    x = x ? binary(p, from, op_at, x, y) : y;
    if (p->panic || reduced || !is_product(neo_p_kind(p)))
      return x;
    op_at = p->at;
    neo_p_take(p);
  }
}

/* A chain of one level: operand {op operand}, leaning to the left. */
static neo_ast_expr *chain(neo_parser *p, neo_ast_expr *operand(neo_parser *), neo_tok first,
                           neo_tok last) {
  size_t from = p->at;
  neo_ast_expr *x = operand(p);
  while (!p->panic && neo_p_kind(p) >= first && neo_p_kind(p) <= last) {
    size_t op_at = p->at;
    neo_p_take(p);
    x = binary(p, from, op_at, x, operand(p));
  }
  return x;
}

neo_ast_expr *neo_p_sum(neo_parser *p) {
  return chain(p, neo_p_term, NEO_TOK_ADD, NEO_TOK_SUB);
}

static neo_ast_expr *negation(neo_parser *p) {
  size_t op_at = p->at;
  neo_p_take(p);
  neo_ast_expr *x = neo_p_enter(p) ? neo_p_neg(p) : NULL;
  neo_p_leave(p);
  return neo_p_unary(p, NEO_AST_NOT, op_at, x);
}

neo_ast_expr *neo_p_neg(neo_parser *p) {
  if (neo_p_kind(p) == NEO_TOK_NOT)
    return negation(p);
  if (neo_p_reducer_at(p, 0) == NEO_P_QUANTIFIER)
    return neo_p_reduce(p);
  return chain(p, neo_p_sum, NEO_TOK_EQ, NEO_TOK_GE);
}

static neo_ast_expr *conjunction(neo_parser *p) {
  return chain(p, neo_p_neg, NEO_TOK_AND, NEO_TOK_AND);
}

neo_ast_expr *neo_p_expr(neo_parser *p) {
  return chain(p, conjunction, NEO_TOK_OR, NEO_TOK_OR);
}

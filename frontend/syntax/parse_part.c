/* The parts that statements are made of: axes, types, tensors with a value, signatures. */
#include "frontend/syntax/parse_rec.h"

/* ---- types ----------------------------------------------------------------------------------- */

/* A signature begins. */
static void open_types(neo_parser *p) {
  p->type_variables.n = 0;
  p->first_token = p->at;
  p->in_signature = true;
}

/* Whether `<` or `<=` with a type after it follows in the statement: then a lower bound begins
 * here. */
static bool at_lower_bound(const neo_parser *p) {
  for (size_t at = p->at;; at++)
    switch (p->tokens.at[at].kind) {
    case NEO_TOK_LT:
    case NEO_TOK_LE:
      if (neo_p_is_type(p, at + 1))
        return true;
      break;
    case NEO_TOK_ASSIGN:
    case NEO_TOK_COLON:
    case NEO_TOK_LBRACE:
    case NEO_TOK_END:
    case NEO_TOK_EOF:
    case NEO_TOK_ERROR:
      return false;
    default:
      if (neo_p_is_type(p, at))
        return false;
    }
}

/* [":" [sum rel] type [rel sum]] */
static neo_ast_type type(neo_parser *p) {
  size_t from = p->at;
  neo_ast_type t = {0};
  if (p->panic || !neo_p_accept(p, NEO_TOK_COLON))
    return t;
  if (at_lower_bound(p)) {
    t.lo = neo_p_sum(p);
    t.lo_rel = neo_p_accept_rel(p);
  }
  neo_p_type_name(p, &t);
  if (!t.given)
    return t;
  t.rel = neo_p_accept_rel(p);
  if (t.rel)
    t.bound = neo_p_sum(p);
  t.span = neo_p_span_from(p, from);
  if (t.variable.text && t.rel)
    NEO_P_COMPLAIN(p, t.span, NEO_D_BOUND_NEEDS_INT,
                   neo_arena_printf(p->arena, "what '%s' stands for", t.variable.text));
  return t;
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* ".." | NAME rel sum | sum */
static neo_ast_axis declared_axis(neo_parser *p) {
  size_t from = p->at;
  neo_ast_axis a = {.kind = NEO_AST_SIZE};
  neo_tok next = neo_p_peek_kind(p, 1);
  if (neo_p_accept(p, NEO_TOK_PACK)) {
    a.kind = NEO_AST_PACK;
  } else if (neo_p_kind(p) == NEO_TOK_NAME && (next == NEO_TOK_LT || next == NEO_TOK_LE)) {
    a.kind = NEO_AST_INDEX;
    a.name = neo_p_name(p, "an index");
    a.hi_rel = neo_p_accept_rel(p);
    a.hi = neo_p_sum(p);
  } else {
    a.hi = neo_p_sum(p);
  }
  a.span = neo_p_span_from(p, from);
  return a;
}

static bool ends_left_index(neo_tok k) {
  return k == NEO_TOK_COMMA || k == NEO_TOK_RBRACKET || k == NEO_TOK_LT || k == NEO_TOK_LE;
}

/* ".." | NAME [rel sum] */
static neo_ast_axis left_axis(neo_parser *p) {
  size_t from = p->at;
  neo_ast_axis a = {.kind = NEO_AST_INDEX};
  if (neo_p_accept(p, NEO_TOK_PACK)) {
    a.kind = NEO_AST_PACK;
  } else if (neo_p_kind(p) == NEO_TOK_NAME && ends_left_index(neo_p_peek_kind(p, 1))) {
    a.name = neo_p_name(p, "an index");
    a.hi_rel = neo_p_accept_rel(p);
    if (a.hi_rel)
      a.hi = neo_p_sum(p);
  } else if (!p->panic) {
    int h = NEO_P_ERROR(p, neo_p_span_here(p), NEO_D_LEFT_INDEX);
    neo_diag_help(p->diags, h, "it runs from 0, as in Y[i, p < P]; shift or select on the right");
  }
  a.span = neo_p_span_from(p, from);
  return a;
}

/* "[" axis,+ "]" */
static neo_ast_axes axes(neo_parser *p, neo_ast_axis axis(neo_parser *)) {
  NEO_VEC(neo_ast_axis) v = {0};
  bool pack = false;
  neo_p_take(p);
  bool inside = neo_p_enter(p);
  while (inside) {
    neo_ast_axis a = axis(p);
    if (a.kind == NEO_AST_PACK)
      neo_p_check_pack(p, &pack, a.span);
    NEO_PUSH(p->arena, &v, a);
    inside = neo_p_accept(p, NEO_TOK_COMMA);
  }
  neo_p_leave(p);
  if (!p->panic && !neo_p_accept(p, NEO_TOK_RBRACKET))
    neo_p_expected(p, "',' or ']'");
  neo_ast_axes list;
  NEO_P_LIST(&list, &v);
  return list;
}

/* NAME ["[" axis,+ "]"] [type] */
static neo_ast_var tensor(neo_parser *p, neo_ast_axis axis(neo_parser *)) {
  size_t from = p->at;
  neo_ast_var v = {0};
  if (neo_p_reducer_at(p, 0)) {
    const neo_token *t = neo_p_peek(p, 0);
    NEO_P_COMPLAIN(p, neo_p_token_span(p, t), NEO_D_REDUCER_NAME, t->text);
  }
  v.name = neo_p_new_name(p, "a name");
  v.indexed = !p->panic && neo_p_kind(p) == NEO_TOK_LBRACKET;
  if (v.indexed)
    v.axes = axes(p, axis);
  v.type = type(p);
  v.span = neo_p_span_from(p, from);
  return v;
}

neo_ast_var neo_p_var(neo_parser *p) {
  return tensor(p, declared_axis);
}

neo_ast_var neo_p_target(neo_parser *p) {
  return tensor(p, left_axis);
}

/* ---- tensors with a value -------------------------------------------------------------------- */

static neo_ast_bind bind(neo_parser *p, bool declared) {
  size_t from = p->at;
  neo_ast_bind b = {0};
  b.var = tensor(p, declared ? declared_axis : left_axis);
  bool lists = declared && !p->panic && neo_p_kind(p) != NEO_TOK_ASSIGN; /* gather h[G.edges, D] */
  if (!lists && !p->panic && neo_p_expect(p, NEO_TOK_ASSIGN))
    b.value = neo_p_expr(p);
  b.span = neo_p_span_from(p, from);
  return b;
}

neo_ast_binds neo_p_binds(neo_parser *p, bool declared) {
  NEO_VEC(neo_ast_bind) v = {0};
  do
    NEO_PUSH(p->arena, &v, bind(p, declared));
  while (neo_p_accept(p, NEO_TOK_COMMA));
  neo_ast_binds list;
  NEO_P_LIST(&list, &v);
  return list;
}

neo_ast_expr *neo_p_signed_number(neo_parser *p, const char *what) {
  size_t op_at = p->at;
  bool minus = neo_p_accept(p, NEO_TOK_SUB);
  if (p->panic || neo_p_kind(p) != NEO_TOK_NUMBER) {
    neo_p_expected(p, what);
    return NULL;
  }
  neo_ast_expr *e = neo_p_number(p);
  return minus ? neo_p_unary(p, NEO_AST_NEG, op_at, e) : e;
}

/* ---- signatures ------------------------------------------------------------------------------ */

/* ["input"] NAME [type] ["=" expr] */
static neo_ast_option option(neo_parser *p) {
  size_t from = p->at;
  neo_ast_option o = {0};
  o.input = neo_p_peek_kind(p, 1) == NEO_TOK_NAME && neo_p_accept_word(p, "input");
  o.name = neo_p_name(p, "an option's name");
  o.type = type(p);
  if (neo_p_accept(p, NEO_TOK_ASSIGN))
    o.value = neo_p_expr(p);
  o.span = neo_p_span_from(p, from);
  return o;
}

static neo_ast_vars params(neo_parser *p) {
  NEO_VEC(neo_ast_var) v = {0};
  size_t mark = p->defined.n; /* parameters are names of the inside */
  bool any = neo_p_kind(p) != NEO_TOK_SEMI && neo_p_kind(p) != NEO_TOK_RPAREN;
  if (any && !p->panic)
    do
      NEO_PUSH(p->arena, &v, neo_p_var(p));
    while (neo_p_accept(p, NEO_TOK_COMMA));
  p->defined.n = mark;
  neo_ast_vars list;
  NEO_P_LIST(&list, &v);
  return list;
}

static neo_ast_options options(neo_parser *p) {
  NEO_VEC(neo_ast_option) v = {0};
  if (neo_p_accept(p, NEO_TOK_SEMI))
    do
      NEO_PUSH(p->arena, &v, option(p));
    while (neo_p_accept(p, NEO_TOK_COMMA));
  neo_ast_options list;
  NEO_P_LIST(&list, &v);
  return list;
}

neo_ast_sig neo_p_sig(neo_parser *p) {
  size_t from = p->at;
  neo_ast_sig s = {0};
  s.name = neo_p_new_name(p, "a name");
  open_types(p);
  if (!p->panic && neo_p_expect(p, NEO_TOK_LPAREN)) {
    s.params = params(p);
    s.options = options(p);
  }
  p->in_signature = false;
  if (!p->panic && !neo_p_accept(p, NEO_TOK_RPAREN)) {
    bool assign = neo_p_kind(p) == NEO_TOK_ASSIGN;
    int h = neo_p_expected(p, "',', ';' or ')'");
    if (assign)
      neo_diag_help(p->diags, h, "options with defaults follow a ';': fn f(x[N]; rate = 0.1)");
  }
  s.span = neo_p_span_from(p, from);
  return s;
}

/* Statements of one line, and errors where a statement, or the end of one, is missing. */
#include "frontend/syntax/parse_rec.h"

#include <assert.h>

/* ---- one function a statement; the word is taken, s is zero but for kind and word ------------ */

static void p_import(neo_parser *p, neo_ast_stmt *s) {
  NEO_VEC(neo_ast_alias) v = {0};
  do {
    size_t from = p->at;
    neo_ast_alias a = {.module = neo_p_name(p, "a module's name")};
    if (neo_p_accept_word(p, "as"))
      a.alias = neo_p_name(p, "a name");
    a.span = neo_p_span_from(p, from);
    neo_ast_name known = a.alias.text ? a.alias : a.module;
    if (known.text)
      NEO_PUSH(p->arena, &p->defined, known);
    NEO_PUSH(p->arena, &v, a);
  } while (neo_p_accept(p, NEO_TOK_COMMA));
  NEO_P_LIST(&s->u.import.aliases, &v);
}

static void dim_bound(neo_parser *p) {
  if (p->panic || neo_p_accept(p, NEO_TOK_LE))
    return;
  bool less = neo_p_kind(p) == NEO_TOK_LT;
  int h = neo_p_expected(p, "'=' or '<='");
  if (less)
    neo_diag_help(p->diags, h, "a size has a largest value: dim N <= 512");
}

/* NAME "=" sum | [sum "<="] NAME "<=" sum */
static void p_dim(neo_parser *p, neo_ast_stmt *s) {
  if (neo_p_kind(p) == NEO_TOK_NAME && neo_p_peek_kind(p, 1) == NEO_TOK_ASSIGN) {
    s->u.dim.name = neo_p_new_name(p, "a name");
    neo_p_take(p);
    s->u.dim.hi = neo_p_sum(p);
    return;
  }
  s->u.dim.rel = NEO_AST_REL_LE;
  neo_ast_expr *name = neo_p_sum(p);
  if (!p->panic && neo_p_is_name(name)) /* defined even if the rest of the line is an error */
    NEO_PUSH(p->arena, &p->defined, name->u.ref.path.at[0]);
  dim_bound(p);
  if (!p->panic)
    s->u.dim.hi = neo_p_sum(p);
  if (neo_p_accept(p, NEO_TOK_LE)) {
    s->u.dim.lo = name;
    name = s->u.dim.hi;
    s->u.dim.hi = neo_p_sum(p);
    p->defined.n = 0;
  }
  if (p->panic)
    return;
  if (!neo_p_is_name(name)) {
    int h = NEO_P_ERROR(p, name->span, NEO_D_EXPECTED, "a name", "an expression");
    neo_diag_help(p->diags, h, "for example dim N <= 512 or dim 0 <= E <= 4096");
    return;
  }
  s->u.dim.name = name->u.ref.path.at[0];
  NEO_PUSH(p->arena, &p->defined, s->u.dim.name);
}

static void p_assert(neo_parser *p, neo_ast_stmt *s) {
  s->u.expr = neo_p_expr(p);
}

/* var ["=" expr] */
static void p_input(neo_parser *p, neo_ast_stmt *s) {
  s->u.decl.var = neo_p_var(p);
  if (neo_p_accept(p, NEO_TOK_ASSIGN))
    s->u.decl.value = neo_p_expr(p);
}

static void no_initial_value(neo_parser *p, neo_ast_stmt_kind kind) {
  bool end = neo_p_kind(p) == NEO_TOK_END || neo_p_kind(p) == NEO_TOK_EOF;
  int h = neo_p_expected(p, "'='");
  if (end && kind == NEO_AST_PARAM)
    neo_diag_help(p->diags, h, "a param has an initial value: = glorot(fan_in, fan_out), or = 0");
  else if (end)
    neo_diag_help(p->diags, h, "a state has an initial value: = 0");
}

/* var "=" expr */
static void p_decl(neo_parser *p, neo_ast_stmt *s) {
  s->u.decl.var = neo_p_var(p);
  if (neo_p_accept(p, NEO_TOK_ASSIGN))
    s->u.decl.value = neo_p_expr(p);
  else if (!p->panic)
    no_initial_value(p, s->kind);
}

/* Parses a number, or a list of literals. */
static neo_ast_literal *p_literal(neo_parser *p) {
  size_t from = p->at;
  neo_ast_literal *lit = NEO_NEW(p->arena, neo_ast_literal);
  NEO_VEC(neo_ast_literal) v = {0};
  if (!neo_p_accept(p, NEO_TOK_LBRACKET)) {
    lit->number = neo_p_signed_number(p, "a number or a list");
  } else {
    bool inside = neo_p_enter(p);
    while (inside) {
      NEO_PUSH(p->arena, &v, *p_literal(p));
      inside = neo_p_accept(p, NEO_TOK_COMMA);
    }
    neo_p_leave(p);
    if (!p->panic && !neo_p_accept(p, NEO_TOK_RBRACKET))
      neo_p_expected(p, "',' or ']'");
    NEO_P_LIST(&lit->items, &v);
  }
  lit->span = neo_p_span_from(p, from);
  return lit;
}

/* var "=" (list | expr) */
static void p_const(neo_parser *p, neo_ast_stmt *s) {
  s->u.decl.var = neo_p_var(p);
  if (p->panic || !neo_p_expect(p, NEO_TOK_ASSIGN))
    return;
  if (neo_p_kind(p) == NEO_TOK_LBRACKET)
    s->u.decl.literal = p_literal(p);
  else
    s->u.decl.value = neo_p_expr(p);
}

static void p_binds(neo_parser *p, neo_ast_stmt *s) {
  s->u.binds = neo_p_binds(p, s->kind == NEO_AST_GATHER);
  if (s->kind != NEO_AST_GATHER) /* the others change existing tensors */
    p->defined.n = 0;
}

static void p_collect(neo_parser *p, neo_ast_stmt *s) {
  s->u.names = neo_p_names(p, "a name");
}

static void p_push(neo_parser *p, neo_ast_stmt *s) {
  neo_ast_name *one = NEO_NEW(p->arena, neo_ast_name);
  *one = neo_p_name(p, "a name");
  s->u.names = (neo_ast_names){one, 1};
}

/* "children" | [NAME "."] "edges" */
static bool edge(neo_parser *p, neo_ast_edge *e) {
  e->lists = neo_p_accept_word(p, "edges");
  if (e->lists || neo_p_accept_word(p, "children"))
    return true;
  if (neo_p_peek_kind(p, 1) != NEO_TOK_DOT)
    return neo_p_expect_word(p, "children");
  e->type = neo_p_new_name(p, "a name");
  e->lists = true;
  return !p->panic && neo_p_expect(p, NEO_TOK_DOT) && neo_p_expect_word(p, "edges");
}

/* "<=" sum */
static neo_ast_expr *limit(neo_parser *p) {
  return !p->panic && neo_p_expect(p, NEO_TOK_LE) ? neo_p_sum(p) : NULL;
}

/* NAME "(" {edge "<=" sum ","} "vertices" "<=" sum ")" */
static void p_graph(neo_parser *p, neo_ast_stmt *s) {
  NEO_VEC(neo_ast_edge) v = {0};
  s->u.graph.name = neo_p_new_name(p, "a name");
  if (p->panic || !neo_p_expect(p, NEO_TOK_LPAREN))
    return;
  do {
    neo_ast_edge e = {0};
    if (!edge(p, &e))
      return;
    e.most = limit(p);
    NEO_PUSH(p->arena, &v, e);
    if (p->panic || !neo_p_expect(p, NEO_TOK_COMMA))
      return;
  } while (!neo_p_at_word(p, "vertices"));
  NEO_P_LIST(&s->u.graph.edges, &v);
  (void)neo_p_accept_word(p, "vertices");
  s->u.graph.vertices = limit(p);
  if (!p->panic)
    neo_p_expect(p, NEO_TOK_RPAREN);
}

static neo_ast_paths paths(neo_parser *p) {
  NEO_VEC(neo_ast_path) v = {0};
  do
    NEO_PUSH(p->arena, &v, neo_p_path(p, "a tensor's name"));
  while (neo_p_accept(p, NEO_TOK_COMMA));
  neo_ast_paths list;
  NEO_P_LIST(&list, &v);
  return list;
}

/* [NAME ":"] */
static neo_ast_name entry(neo_parser *p) {
  neo_ast_name name = {0};
  if (neo_p_peek_kind(p, 1) == NEO_TOK_COLON) {
    name = neo_p_name(p, "an entry's name");
    neo_p_accept(p, NEO_TOK_COLON);
  }
  return name;
}

static void p_output(neo_parser *p, neo_ast_stmt *s) {
  s->u.output.entry = entry(p);
  s->u.output.tensors = paths(p);
  if (neo_p_accept_word(p, "update"))
    s->u.output.updates = paths(p);
  if (neo_p_kind(p) == NEO_TOK_LBRACKET || neo_p_kind(p) == NEO_TOK_ASSIGN)
    neo_diag_help(p->diags, neo_p_unexpected(p),
                  "an output is named after its definition: y[i] = 2*x[i], and output y");
}

/* (NAME|"*") {"." (NAME|"*")} */
static neo_ast_pattern pattern(neo_parser *p) {
  size_t from = p->at;
  NEO_VEC(neo_ast_name) v = {0};
  do {
    neo_ast_name part = {.span = neo_p_span_here(p)};
    if (!neo_p_accept(p, NEO_TOK_MUL))
      part = neo_p_name(p, "a parameter's name or '*'");
    NEO_PUSH(p->arena, &v, part);
  } while (neo_p_accept(p, NEO_TOK_DOT));
  neo_ast_pattern pat;
  NEO_P_LIST(&pat.parts, &v);
  pat.span = neo_p_span_from(p, from);
  return pat;
}

/* ["every" expr ["of" expr]] */
static void p_every(neo_parser *p, neo_ast_stmt *s) {
  if (p->panic || !neo_p_accept_word(p, "every"))
    return;
  s->u.train.every = neo_p_expr(p);
  if (!p->panic && neo_p_accept_word(p, "of"))
    s->u.train.of = neo_p_expr(p);
}

/* [NAME ":"] path [("over"|"except") pat,+] "using" path args [every] */
static void p_train(neo_parser *p, neo_ast_stmt *s) {
  s->u.train.entry = entry(p);
  s->u.train.loss = neo_p_path(p, "the name of a loss");
  s->u.train.except = neo_p_accept_word(p, "except");
  if (s->u.train.except || neo_p_accept_word(p, "over")) {
    NEO_VEC(neo_ast_pattern) v = {0};
    do
      NEO_PUSH(p->arena, &v, pattern(p));
    while (neo_p_accept(p, NEO_TOK_COMMA));
    NEO_P_LIST(&s->u.train.patterns, &v);
  }
  if (p->panic)
    return;
  if (!neo_p_accept_word(p, "using")) {
    int h = neo_p_expected(p, "'using'");
    neo_diag_help(p->diags, h, "for example train loss using optim.adam(lr = 1e-3)");
    return;
  }
  s->u.train.optimizer = neo_p_path(p, "an optimizer's name");
  if (p->panic)
    return;
  if (neo_p_kind(p) == NEO_TOK_LPAREN)
    s->u.train.args = neo_p_args(p);
  else
    neo_diag_help(p->diags, neo_p_expected(p, "'('"), "the optimizer's options go in parentheses");
  p_every(p, s);
}

/* ---- which statement is it? ------------------------------------------------------------------ */

/* Parsers of statements that contain no block. */
static void (*const lines[NEO_AST_STMT_KINDS])(neo_parser *, neo_ast_stmt *) = {
    [NEO_AST_IMPORT] = p_import, [NEO_AST_DIM] = p_dim,      [NEO_AST_ASSERT] = p_assert,
    [NEO_AST_INPUT] = p_input,   [NEO_AST_PARAM] = p_decl,   [NEO_AST_STATE] = p_decl,
    [NEO_AST_CONST] = p_const,   [NEO_AST_NEXT] = p_binds,   [NEO_AST_UPDATE] = p_binds,
    [NEO_AST_SCATTER] = p_binds, [NEO_AST_GATHER] = p_binds, [NEO_AST_COLLECT] = p_collect,
    [NEO_AST_PUSH] = p_push,     [NEO_AST_GRAPH] = p_graph,  [NEO_AST_OUTPUT] = p_output,
    [NEO_AST_TRAIN] = p_train,
};

void neo_p_line(neo_parser *p, neo_ast_stmt *s) {
  assert(lines[s->kind] && "a statement of one line");
  lines[s->kind](p, s);
}

bool neo_p_is_sign(neo_tok k) {
  return k >= NEO_TOK_ADD && k <= NEO_TOK_OR;
}

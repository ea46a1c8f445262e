/* Statements and blocks, which contain each other: functions, regions, and recovery from broken
 * statements.
 *
 * A broken statement is skipped to its end, over whole blocks, and stays in the tree as BROKEN with
 * the names that it would have defined. A broken head does not hide its block's errors: blocks that
 * were reached have been parsed. */
#include "frontend/syntax/parse_rec.h"
#include <string.h>

static neo_ast_block block(neo_parser *p);

/* ---- recovery */

/* Skips to the end of the statement: its END, or the brace that closes the block around it. */
static void skip(neo_parser *p) {
  for (size_t depth = 0;; neo_p_take(p)) {
    neo_tok k = neo_p_kind(p);
    if (k == NEO_TOK_EOF || (depth == 0 && (k == NEO_TOK_END || k == NEO_TOK_RBRACE)))
      return;
    depth += k == NEO_TOK_LBRACE;
    depth -= k == NEO_TOK_RBRACE;
  }
}

static void find_block(neo_parser *p) {
  if (!p->panic)
    return;
  for (size_t at = p->at;; at++) {
    switch (p->tokens.at[at].kind) {
    case NEO_TOK_LBRACE:
      p->at = at;
      p->panic = false;
      return;
    case NEO_TOK_RBRACE:
    case NEO_TOK_END:
    case NEO_TOK_EOF:
      return;
    default:
      break;
    }
  }
}

/* ---- fn, optimizer, vertex: after the keyword */

/* "grad" "(" NAME,+ ")" "->" NAME,+ block */
static void own_gradient(neo_parser *p, neo_ast_stmt *s) {
  s->u.fn.has_grad = true;
  if (neo_p_expect(p, NEO_TOK_LPAREN))
    s->u.fn.seeds = neo_p_names(p, "the name of a result's gradient");
  if (!p->panic)
    neo_p_expect(p, NEO_TOK_RPAREN);
  if (!p->panic && neo_p_expect(p, NEO_TOK_ARROW))
    s->u.fn.grads = neo_p_names(p, "the name of a parameter's gradient");
  find_block(p);
  s->u.fn.grad_block = block(p);
}

/* sig "->" NAME,+ block [own gradient] */
static void fn(neo_parser *p, neo_ast_stmt *s) {
  s->u.fn.sig = neo_p_sig(p);
  if (!p->panic && !neo_p_accept(p, NEO_TOK_ARROW)) {
    int h = neo_p_expected(p, "'->'");
    neo_diag_help(p->diags, h, "a function names its results: fn f(x[N]) -> y { ... }");
  }
  if (!p->panic)
    s->u.fn.results = neo_p_names(p, "the name of a result");
  find_block(p);
  s->u.fn.block = block(p);
  if (neo_p_accept_word(p, "grad"))
    own_gradient(p, s);
}

static void optimizer(neo_parser *p, neo_ast_stmt *s) {
  s->u.fn.sig = neo_p_sig(p);
  find_block(p);
  s->u.fn.block = block(p);
}

/* sig "over" NAME ["down"] block */
static void vertex(neo_parser *p, neo_ast_stmt *s) {
  s->u.fn.sig = neo_p_sig(p);
  if (!p->panic && neo_p_expect_word(p, "over"))
    s->u.fn.over = neo_p_name(p, "the name of a graph");
  s->u.fn.down = !p->panic && neo_p_accept_word(p, "down");
  find_block(p);
  s->u.fn.block = block(p);
}

/* ---- scan, repeat, while, case */

static bool at_region(const neo_parser *p) {
  neo_tok k = neo_p_kind(p);
  return k == NEO_TOK_SCAN || k == NEO_TOK_REPEAT || k == NEO_TOK_WHILE || k == NEO_TOK_CASE;
}

/* Parses the carries. Their names are defined in the block, not in the scope around it. */
static neo_ast_binds carries(neo_parser *p) {
  size_t mark = p->defined.n;
  neo_ast_binds from = neo_p_binds(p, false);
  p->defined.n = mark;
  return from;
}

/* NAME "<" sum ["down"] ["from" bind,+] block */
static void iterations(neo_parser *p, neo_ast_region *r) {
  r->index = neo_p_name(p, "the index of the iterations");
  if (!p->panic && neo_p_expect(p, NEO_TOK_LT))
    r->extent = neo_p_sum(p);
  r->down = r->kind == NEO_AST_SCAN && neo_p_accept_word(p, "down");
  if (neo_p_accept_word(p, "from"))
    r->from = carries(p);
  find_block(p);
  r->block = block(p);
}

/* expr "limit" sum "from" bind,+ block */
static void while_iterations(neo_parser *p, neo_ast_region *r) {
  r->cond = neo_p_expr(p);
  if (!p->panic && !neo_p_accept_word(p, "limit"))
    neo_diag_help(p->diags, neo_p_expected(p, "'limit'"),
                  "a while has a largest number of iterations: while c limit 100 from ...");
  else if (!p->panic)
    r->extent = neo_p_sum(p);
  if (!p->panic && neo_p_expect_word(p, "from"))
    r->from = carries(p);
  find_block(p);
  r->block = block(p);
}

static neo_ast_arm arm(neo_parser *p) {
  size_t from = p->at;
  neo_ast_arm a = {.kind = NEO_AST_LABEL_NUMBER};
  neo_tok k = neo_p_kind(p);
  if (neo_p_accept(p, NEO_TOK_ELSE)) {
    a.kind = NEO_AST_LABEL_ELSE;
  } else if (k == NEO_TOK_TRUE || k == NEO_TOK_FALSE) {
    a.kind = NEO_AST_LABEL_BOOL;
    a.label = neo_p_bool(p);
  } else {
    a.label = neo_p_signed_number(p, "a number, true, false or 'else'");
  }
  find_block(p);
  a.block = block(p);
  a.span = neo_p_span_from(p, from);
  return a;
}

static void skip_ends(neo_parser *p) {
  while (neo_p_accept(p, NEO_TOK_END))
    ;
}

/* expr "{" {END} {label block {END}} ["else" block {END}] "}" */
static void branches(neo_parser *p, neo_ast_region *r) {
  NEO_VEC(neo_ast_arm) v = {0};
  bool had_else = false;
  r->cond = neo_p_expr(p);
  if (p->panic || !neo_p_expect(p, NEO_TOK_LBRACE))
    return;
  skip_ends(p);
  while (!p->panic && neo_p_kind(p) != NEO_TOK_RBRACE) {
    if (had_else)
      NEO_P_COMPLAIN(p, neo_p_span_here(p), NEO_D_ELSE_LAST);
    NEO_PUSH(p->arena, &v, arm(p));
    had_else = v.at[v.n - 1].kind == NEO_AST_LABEL_ELSE;
    skip_ends(p);
  }
  if (!p->panic)
    neo_p_expect(p, NEO_TOK_RBRACE);
  NEO_P_LIST(&r->arms, &v);
}

static neo_ast_region *region(neo_parser *p) {
  size_t from = p->at;
  neo_ast_region *r = NEO_NEW(p->arena, neo_ast_region);
  const neo_token *word = neo_p_take(p);
  r->word = neo_p_token_span(p, word);
  switch (word->kind) {
  case NEO_TOK_SCAN:
  case NEO_TOK_REPEAT:
    r->kind = word->kind == NEO_TOK_SCAN ? NEO_AST_SCAN : NEO_AST_REPEAT;
    iterations(p, r);
    break;
  case NEO_TOK_WHILE:
    r->kind = NEO_AST_WHILE;
    while_iterations(p, r);
    break;
  default:
    r->kind = NEO_AST_CASE;
    branches(p, r);
  }
  r->span = neo_p_span_from(p, from);
  return r;
}

/* ---- one statement */

/* target {"," NAME} "=" (region|expr) */
static void define(neo_parser *p, neo_ast_stmt *s) {
  s->u.define.target = neo_p_target(p);
  if (neo_p_accept(p, NEO_TOK_COMMA))
    s->u.define.more = neo_p_new_names(p, "a name");
  if (p->panic)
    return;
  if (!neo_p_accept(p, NEO_TOK_ASSIGN)) {
    bool change = neo_p_peek_kind(p, 1) == NEO_TOK_ASSIGN;
    int h = neo_p_expected(p, "'='");
    if (change)
      neo_diag_help(p->diags, h, "a tensor is defined once; state changes by 'update'");
    return;
  }
  if (at_region(p))
    s->u.define.region = region(p);
  else
    s->u.define.value = neo_p_expr(p);
}

static void after_word(neo_parser *p, neo_ast_stmt *s) {
  switch (s->kind) {
  case NEO_AST_FN:
    fn(p, s);
    break;
  case NEO_AST_OPTIMIZER:
    optimizer(p, s);
    break;
  case NEO_AST_VERTEX:
    vertex(p, s);
    break;
  default:
    neo_p_line(p, s);
    return;
  }
  neo_p_close_types(p);
}

/* Keywords of other languages, each with a hint. */
static const char *const foreign_words[][2] = {
    {"def", "a function is written fn f(x[N]) -> y { ... }"},
    {"func", "a function is written fn f(x[N]) -> y { ... }"},
    {"function", "a function is written fn f(x[N]) -> y { ... }"},
    {"let", "a definition needs no word: y = x"},
    {"var", "a definition needs no word: y = x"},
    {"val", "a definition needs no word: y = x"},
    {"return", "the results are named after '->': fn f(x[N]) -> y { ... }"},
    {"for", "the indices on the left are the loops: Y[i, j] = ..."},
    {"if", "a choice is written select(c, a, b), or y = case c { ... }"},
    {"from",
     "a module is imported whole: import nn; the carries of a loop stand in its first line: "
     "h = scan t < T from h = 0 {"},
    {"include", "a module is imported: import nn"},
    {"class", "parameters belong to functions: fn f(x[N]) -> y { param w[N] = 0 ... }"},
    {"print", "what is looked at is an output: output y"},
    {"grad", "a function's own gradient follows its '}' on the same line"},
    {"size", "did you mean 'dim'?"},
    {"weight", "did you mean 'param'?"},
    {"minimize", "did you mean 'train'?"},
};

/* The nearest word that begins a statement. */
static void suggest(neo_parser *p, int handle, const char *text) {
  int length = (int)strnlen(text, 20), best = 3;
  const char *near = NULL;
  for (neo_ast_stmt_kind k = 0; k < NEO_AST_STMT_KINDS; k++) {
    const char *word = neo_ast_stmt_word(k);
    int distance = word && length < 20 ? neo_str_distance(text, word, 2) : best;
    if (distance < best && distance * 2 < length) {
      best = distance;
      near = word;
    }
  }
  if (near)
    neo_diag_help(p->diags, handle, "did you mean '%s'?", near);
}

/* Reports a word, or another token, where a statement would begin. */
static void unknown_statement(neo_parser *p) {
  const neo_token *t = neo_p_peek(p, 0);
  if (neo_p_peek_kind(p, 1) == NEO_TOK_NAME) { /* most likely the name that it would define */
    const neo_token *name = neo_p_peek(p, 1);
    NEO_PUSH(p->arena, &p->defined, (neo_ast_name){name->text, neo_p_token_span(p, name)});
  }
  int h = NEO_P_ERROR(p, neo_p_token_span(p, t), NEO_D_UNKNOWN_STMT,
                      neo_arena_printf(p->arena, "%.40s", t->text));
  for (size_t i = 0; i < sizeof foreign_words / sizeof *foreign_words; i++)
    if (strcmp(foreign_words[i][0], t->text) == 0) {
      neo_diag_help(p->diags, h, "%s", foreign_words[i][1]);
      return;
    }
  suggest(p, h, t->text);
}

/* Whether the token can follow the name at the beginning of a definition. */
static bool defines(neo_tok next) {
  return next == NEO_TOK_ASSIGN || next == NEO_TOK_LBRACKET || next == NEO_TOK_COMMA ||
         next == NEO_TOK_COLON || next == NEO_TOK_DOT;
}

/* Reports a token that begins no statement. An operator continues the line before, which had
 * ended. */
static void no_statement(neo_parser *p) {
  neo_tok k = neo_p_kind(p);
  int h = neo_p_expected(p, "a statement");
  if (neo_p_is_sign(k) && k != NEO_TOK_NOT)
    neo_diag_help(p->diags, h,
                  "a line ends a statement: put the '%s' at the end of the line before, or "
                  "parentheses around both",
                  neo_tok_text(k));
}

/* Takes the end of a statement, or reports the token in its stead. */
static void expect_end(neo_parser *p) {
  neo_tok k = neo_p_kind(p);
  if (p->panic || neo_p_accept(p, NEO_TOK_END) || k == NEO_TOK_RBRACE || k == NEO_TOK_EOF)
    return;
  const neo_token *t = neo_p_peek(p, 0);
  neo_tok before = p->at > 0 ? (neo_tok)t[-1].kind : NEO_TOK_END;
  if (neo_p_juxtaposed(p))
    return;
  int h = neo_p_unexpected(p);
  if (k == NEO_TOK_ASSIGN)
    neo_diag_help(p->diags, h, "equality is written '=='");
  else if (neo_p_at_word(p, "if"))
    neo_diag_help(p->diags, h, "a choice is written select(condition, a, b)");
  else if (k == NEO_TOK_COMMA)
    neo_diag_help(p->diags, h, "each has a statement of its own");
  else if (k == NEO_TOK_ELSE)
    neo_diag_help(p->diags, h, "a guarded read stands in parentheses: (X[i - 1] else 0)");
  else if (k == NEO_TOK_LBRACKET && before == NEO_TOK_RPAREN)
    neo_diag_help(p->diags, h, "only a name or a call has elements: give this a name");
  else if (k == NEO_TOK_LBRACKET && before == NEO_TOK_RBRACKET)
    neo_diag_help(p->diags, h, "all indices stand in one bracket: X[i, j]");
  else if (k == NEO_TOK_LBRACKET && neo_p_is_type(p, p->at - 1))
    neo_diag_help(p->diags, h, "extents stand after the name: input X[8, 4] : f32");
  else if (k == NEO_TOK_DOT)
    neo_diag_help(p->diags, h, "there are no methods: a function stands before its argument");
  else if (k == NEO_TOK_NAME || k == NEO_TOK_NUMBER)
    neo_diag_help(p->diags, h, "a product needs its '*'");
  else if (k == NEO_TOK_COLON)
    neo_diag_help(p->diags, h, "a type stands on the left: Y[i] : f16 = ...");
}

/* Parses a statement inside a block. A word such as `input` begins a statement if something other
 * than `=`, `[`, `,`, `:` or `.` follows it; otherwise it is an ordinary name. */
static void statement_inside(neo_parser *p, neo_ast_stmt *s) {
  neo_tok next = neo_p_peek_kind(p, 1);
  s->word = neo_p_span_here(p);
  if (neo_p_kind(p) == NEO_TOK_NAME && !defines(next))
    for (neo_ast_stmt_kind k = 0; k < NEO_AST_STMT_KINDS; k++)
      if (neo_ast_stmt_word(k) && neo_p_accept_word(p, neo_ast_stmt_word(k))) {
        s->kind = k;
        after_word(p, s);
        return;
      }
  s->kind = NEO_AST_DEFINE;
  if (neo_p_kind(p) == NEO_TOK_NAME && !defines(next) && !neo_p_is_sign(next))
    unknown_statement(p);
  else if (at_region(p))
    neo_diag_help(p->diags, neo_p_expected(p, "a statement"), "name its results: y = %s ...",
                  neo_tok_text(neo_p_kind(p)));
  else if (neo_p_kind(p) != NEO_TOK_NAME && next != NEO_TOK_ASSIGN)
    no_statement(p);
  else
    define(p, s);
}

/* Makes the statement a broken one with the names that it would have defined. */
static void break_statement(neo_parser *p, neo_ast_stmt *s) {
  s->kind = NEO_AST_BROKEN;
  s->u.names = (neo_ast_names){0};
  NEO_VEC(neo_ast_name) v = {0};
  for (size_t i = 0; i < p->defined.n; i++)
    NEO_PUSH(p->arena, &v, p->defined.at[i]);
  NEO_P_LIST(&s->u.names, &v);
}

/* Parses a statement. The parser's flags are per statement: those of the enclosing one are restored
 * afterwards. */
static neo_ast_stmt *statement(neo_parser *p) {
  neo_parser outer = *p;
  p->panic = p->broken = p->quiet = false;
  p->defined.at = NULL;
  p->defined.n = p->defined.cap = 0;
  size_t from = p->at;
  neo_ast_stmt *s = NEO_NEW(p->arena, neo_ast_stmt);
  if (neo_p_enter(p))
    statement_inside(p, s);
  size_t after = p->at;
  expect_end(p);
  if (p->panic) {
    skip(p);
    after = p->at;
    neo_p_accept(p, NEO_TOK_END);
  }
  if (p->broken)
    break_statement(p, s);
  size_t next = p->at;
  p->at = after;
  s->span = neo_p_span_from(p, from);
  p->at = next;
  p->panic = outer.panic;
  p->broken = outer.broken;
  p->quiet = outer.quiet;
  p->defined.at = outer.defined.at;
  p->defined.n = outer.defined.n;
  p->defined.cap = outer.defined.cap;
  p->depth = outer.depth;
  return s;
}

/* Parses to the brace that closes this block (the outermost level has none), or to the end. */
neo_ast_stmts neo_p_statements(neo_parser *p, bool outermost) {
  NEO_VEC(neo_ast_stmt *) v = {0};
  for (;;) {
    neo_tok k = neo_p_kind(p);
    if (k == NEO_TOK_EOF || (k == NEO_TOK_RBRACE && !outermost))
      break;
    if (k == NEO_TOK_END || k == NEO_TOK_RBRACE)
      neo_p_take(p);
    else
      NEO_PUSH(p->arena, &v, statement(p));
  }
  neo_ast_stmts list;
  NEO_P_LIST(&list, &v);
  return list;
}

static neo_ast_block block(neo_parser *p) {
  neo_ast_block b = {0};
  size_t from = p->at;
  if (p->panic)
    return b;
  b.open = neo_p_span_here(p);
  bool next_line = neo_p_kind(p) == NEO_TOK_END && neo_p_peek_kind(p, 1) == NEO_TOK_LBRACE;
  if (neo_p_kind(p) != NEO_TOK_LBRACE) {
    int h = neo_p_expected(p, "'{'");
    if (!next_line)
      return b;
    neo_diag_help(p->diags, h, "the brace stands on the same line");
    p->panic = false;
    neo_p_take(p);
  }
  neo_p_take(p);
  b.stmts = neo_p_statements(p, false);
  b.close = neo_p_peek(p, 0)->made_up ? 0 : neo_p_span_here(p);
  neo_p_accept(p, NEO_TOK_RBRACE);
  b.span = neo_p_span_from(p, from);
  return b;
}

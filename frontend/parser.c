/* Files and blocks: statement after statement, and what to do about a broken one.
 *
 * A broken statement is skipped to its end, over whole blocks, and left in the tree as BROKEN with
 * the names it would have defined. Blocks that were reached have been parsed: their own errors
 * are known. */
#include "frontend/parser.h"

#include "frontend/parse_rec.h"

/* To the end of the statement: its END, or the brace that closes the block around it. */
static void skip(neo_parser *p) {
  for (size_t depth = 0;; neo_p_take(p)) {
    neo_tok k = neo_p_kind(p);
    if (k == NEO_TOK_EOF || (depth == 0 && (k == NEO_TOK_END || k == NEO_TOK_RBRACE)))
      return;
    depth += k == NEO_TOK_LBRACE;
    depth -= k == NEO_TOK_RBRACE;
  }
}

void neo_p_find_block(neo_parser *p) {
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

static void expect_end(neo_parser *p) {
  neo_tok k = neo_p_kind(p);
  if (p->panic || neo_p_accept(p, NEO_TOK_END) || k == NEO_TOK_RBRACE || k == NEO_TOK_EOF)
    return;
  const neo_token *t = neo_p_ahead(p, 0);
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
    neo_diag_help(p->diags, h, "extents stand behind the name: input X[8, 4] : f32");
  else if (k == NEO_TOK_DOT)
    neo_diag_help(p->diags, h, "there are no methods: a function stands before its argument");
  else if (k == NEO_TOK_NAME || k == NEO_TOK_NUMBER)
    neo_diag_help(p->diags, h, "a product needs its '*'");
  else if (k == NEO_TOK_COLON)
    neo_diag_help(p->diags, h, "a type stands on the left: Y[i] : f16 = ...");
}

/* Names that a broken statement leaves behind. */
static void break_statement(neo_parser *p, neo_ast_stmt *s) {
  s->kind = NEO_AST_BROKEN;
  s->u.names = (neo_ast_names){0};
  NEO_VEC(neo_ast_name) v = {0};
  for (size_t i = 0; i < p->defined.n; i++)
    NEO_PUSH(p->arena, &v, p->defined.at[i]);
  NEO_P_LIST(&s->u.names, &v);
}

/* The flags are those of one statement; around a block they wait for it. */
static neo_ast_stmt *statement(neo_parser *p) {
  neo_parser outer = *p;
  p->panic = p->broken = p->quiet = false;
  p->defined.at = NULL;
  p->defined.n = p->defined.cap = 0;
  size_t from = p->at;
  neo_ast_stmt *s = NEO_NEW(p->arena, neo_ast_stmt);
  if (neo_p_enter(p))
    neo_p_statement(p, s);
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

/* To the brace that closes this block (at the outermost level there is none), or the end. */
static neo_ast_stmts statements(neo_parser *p, bool outermost) {
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

neo_ast_block neo_p_block(neo_parser *p) {
  neo_ast_block b = {0};
  size_t from = p->at;
  if (p->panic)
    return b;
  b.open = neo_p_span_here(p);
  bool next_line = neo_p_kind(p) == NEO_TOK_END && neo_p_kind_ahead(p, 1) == NEO_TOK_LBRACE;
  if (neo_p_kind(p) != NEO_TOK_LBRACE) {
    int h = neo_p_expected(p, "'{'");
    if (!next_line)
      return b;
    neo_diag_help(p->diags, h, "the brace stands on the same line");
    p->panic = false;
    neo_p_take(p);
  }
  neo_p_take(p);
  b.stmts = statements(p, false);
  b.close = neo_p_ahead(p, 0)->made_up ? 0 : neo_p_span_here(p);
  neo_p_accept(p, NEO_TOK_RBRACE);
  b.span = neo_p_span_from(p, from);
  return b;
}

/* ---- a file ---------------------------------------------------------------------------------- */

static void parse_tokens(neo_parser *p, neo_ast_file *file) {
  p->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  file->stmts = statements(p, true);
  freelocale(p->c_locale);
  file->had_errors |= p->had_errors;
}

neo_ast_file *neo_parse(neo_arena *a, neo_names *names, neo_diags *d, const char *path,
                        const char *text, size_t n) {
  neo_ast_file *file = NEO_NEW(a, neo_ast_file);
  file->path = path;
  bool large = n > NEO_SOURCE_LIMIT_BYTES;
  file->text = text;
  file->size_bytes = large ? 0 : n;
  file->file_id = neo_sources_add(neo_diags_sources(d), path, text, file->size_bytes);
  if (large) {
    file->had_errors = true;
    neo_diag(d, neo_span_of(neo_diags_sources(d), file->file_id, 0, 0), NEO_D_TOO_LARGE,
             NEO_SOURCE_LIMIT_BYTES >> 20);
    return file;
  }
  neo_lexer l = {.arena = a, .names = names, .diags = d, .file_id = file->file_id, .text = text};
  l.size_bytes = n;
  neo_lex(&l);
  file->had_errors = l.had_errors;
  NEO_P_LIST(&file->comments, &l.comments);
  neo_parser p = {.arena = a, .diags = d, .file_id = file->file_id, .tokens = l.tokens};
  p.sources = neo_diags_sources(d);
  parse_tokens(&p, file);
  return file;
}

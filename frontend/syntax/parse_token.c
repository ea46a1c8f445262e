/* The parser's view of the tokens, and how it complains. */
#include "frontend/syntax/foreign.h"
#include "frontend/syntax/parse_rec.h"

#include <string.h>

const neo_token *neo_p_peek(const neo_parser *p, size_t n) {
  size_t at = p->at + n, last = p->tokens.n - 1;
  return &p->tokens.at[at < last ? at : last];
}

neo_tok neo_p_kind(const neo_parser *p) {
  return (neo_tok)p->tokens.at[p->at].kind;
}

neo_tok neo_p_peek_kind(const neo_parser *p, size_t n) {
  return (neo_tok)neo_p_peek(p, n)->kind;
}

const neo_token *neo_p_take(neo_parser *p) {
  const neo_token *t = &p->tokens.at[p->at];
  p->quiet |= t->unclosed || t->foreign;
  if (t->kind != NEO_TOK_EOF)
    p->at++;
  return t;
}

bool neo_p_accept(neo_parser *p, neo_tok kind) {
  if (p->panic || neo_p_kind(p) != kind)
    return false;
  neo_p_take(p);
  return true;
}

bool neo_p_at_word(const neo_parser *p, const char *word) {
  const neo_token *t = neo_p_peek(p, 0);
  return t->kind == NEO_TOK_NAME && strcmp(t->text, word) == 0;
}

bool neo_p_accept_word(neo_parser *p, const char *word) {
  if (p->panic || !neo_p_at_word(p, word))
    return false;
  neo_p_take(p);
  return true;
}

neo_ast_rel neo_p_accept_rel(neo_parser *p) {
  if (neo_p_accept(p, NEO_TOK_LT))
    return NEO_AST_REL_LT;
  return neo_p_accept(p, NEO_TOK_LE) ? NEO_AST_REL_LE : NEO_AST_REL_NONE;
}

/* ---- spans ----------------------------------------------------------------------------------- */

neo_span neo_p_token_span(neo_parser *p, const neo_token *t) {
  return neo_span_of(p->sources, p->file_id, t->offset, t->length);
}

neo_span neo_p_span_here(neo_parser *p) {
  return neo_p_token_span(p, neo_p_peek(p, 0));
}

neo_span neo_p_span_from(neo_parser *p, size_t from) {
  const neo_token *first = &p->tokens.at[from];
  const neo_token *last = p->at > from ? &p->tokens.at[p->at - 1] : first;
  return neo_span_of(p->sources, p->file_id, first->offset,
                     last->offset + last->length - first->offset);
}

/* ---- errors ---------------------------------------------------------------------------------- */

bool neo_p_fail(neo_parser *p, bool stop) {
  const neo_token *t = neo_p_peek(p, 0);
  bool reported = t->kind == NEO_TOK_ERROR || t->made_up || t->foreign || t->unclosed;
  bool known = p->panic || p->quiet || reported;
  bool enough = neo_diags_errors(p->diags) >= NEO_SYNTAX_ERRORS;
  p->had_errors = p->broken = true;
  p->panic |= stop;
  return !known && !enough;
}

/* The description of a token, for "found …". */
static const char *describe(neo_parser *p, const neo_token *t) {
  switch (t->kind) {
  case NEO_TOK_NAME:
    return neo_arena_printf(p->arena, "name '%.40s'", t->text);
  case NEO_TOK_NUMBER:
    return neo_arena_printf(p->arena, "number '%.40s'", t->text);
  case NEO_TOK_END:
    return t->length ? "';'" : "the end of the line";
  case NEO_TOK_EOF:
    return "the end of the file";
  case NEO_TOK_ERROR:
    return "an error";
  default:
    return neo_arena_printf(p->arena, "'%s'", neo_tok_text((neo_tok)t->kind));
  }
}

int neo_p_expected(neo_parser *p, const char *what) {
  const neo_token *t = neo_p_peek(p, 0);
  return NEO_P_ERROR(p, neo_p_token_span(p, t), NEO_D_EXPECTED, what, describe(p, t));
}

int neo_p_unexpected(neo_parser *p) {
  const neo_token *t = neo_p_peek(p, 0);
  return NEO_P_ERROR(p, neo_p_token_span(p, t), NEO_D_UNEXPECTED, describe(p, t));
}

/* ---- two operands side by side --------------------------------------------------------------- */

/* The name before the bracket that closes right before the current token; NULL without one. */
static const neo_token *name_before_bracket(const neo_parser *p) {
  size_t depth = 0;
  for (size_t at = p->at; at-- > 0;) {
    neo_tok k = (neo_tok)p->tokens.at[at].kind;
    depth += k == NEO_TOK_RBRACKET || k == NEO_TOK_RPAREN;
    depth -= k == NEO_TOK_LBRACKET || k == NEO_TOK_LPAREN;
    if (depth == 0)
      return at > 0 && p->tokens.at[at - 1].kind == NEO_TOK_NAME ? &p->tokens.at[at - 1] : NULL;
  }
  return NULL;
}

static bool is_sum_of(const char *text) {
  size_t n = strcspn(text, "_");
  char word[12] = {0};
  if (!text[n] || n >= sizeof word)
    return false;
  memcpy(word, text, n);
  return neo_reducer_named(word) != NEO_AST_RED_COUNT;
}

/* Reports `std[i] X`, `sum(i) X`, `sum_i X`, `tanh x`: the word before the operand was meant to
 * reduce it, or to be called. */
static bool explain_word(neo_parser *p, const neo_token *word, neo_tok before) {
  const char *help = neo_foreign_help_of(word->text, NEO_FOREIGN_REDUCER);
  bool reducer = neo_reducer_named(word->text) != NEO_AST_RED_COUNT || is_sum_of(word->text);
  if (before == NEO_TOK_RBRACKET && help) {
    int h = NEO_P_ERROR(p, neo_p_token_span(p, word), NEO_D_NO_REDUCER, word->text);
    neo_diag_help(p->diags, h, "%s", help);
    return true;
  }
  if (before != NEO_TOK_RBRACKET && reducer)
    neo_diag_help(p->diags, neo_p_unexpected(p),
                  "a reducer names its indices in brackets: sum[i] X[i]");
  else if (before == NEO_TOK_NAME && neo_foreign_help(word->text))
    neo_diag_help(p->diags, neo_p_unexpected(p), "%s", neo_foreign_help(word->text));
  else if (before == NEO_TOK_NAME)
    neo_diag_help(p->diags, neo_p_unexpected(p),
                  "a product needs its '*', a function its parentheses");
  return p->panic;
}

bool neo_p_juxtaposed(neo_parser *p) {
  neo_tok k = neo_p_kind(p);
  bool operand = k == NEO_TOK_NAME || k == NEO_TOK_NUMBER || k == NEO_TOK_LPAREN;
  if (p->panic || !operand || p->at == 0 || neo_p_at_word(p, "if"))
    return false;
  const neo_token *t = neo_p_peek(p, 0) - 1;
  neo_tok before = (neo_tok)t->kind;
  bool bracket = before == NEO_TOK_RBRACKET || before == NEO_TOK_RPAREN;
  const neo_token *word = before == NEO_TOK_NAME ? t : bracket ? name_before_bracket(p) : NULL;
  return word && explain_word(p, word, before);
}

bool neo_p_expect(neo_parser *p, neo_tok kind) {
  if (neo_p_accept(p, kind))
    return true;
  neo_p_expected(p, neo_arena_printf(p->arena, "'%s'", neo_tok_text(kind)));
  return false;
}

bool neo_p_expect_word(neo_parser *p, const char *word) {
  if (neo_p_accept_word(p, word))
    return true;
  neo_p_expected(p, neo_arena_printf(p->arena, "'%s'", word));
  return false;
}

bool neo_p_enter(neo_parser *p) {
  p->depth++;
  if (p->depth > NEO_AST_MAX_DEPTH)
    NEO_P_ERROR(p, neo_p_span_here(p), NEO_D_TOO_DEEP, NEO_AST_MAX_DEPTH);
  return !p->panic;
}

void neo_p_leave(neo_parser *p) {
  p->depth--;
}

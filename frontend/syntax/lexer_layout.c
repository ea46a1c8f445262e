/* The layout: which line ends count, and which brackets are pairs.
 *
 * One pass over the scanner's tokens with a stack of open brackets. A line end counts if the
 * innermost open bracket is a brace or none, and the line does not continue by itself.
 *
 * A bracket that is never closed would swallow the rest of the file. So a line that can only be the
 * beginning of a statement (`input X`, `Y[i] =`, `y =` not after a comma) closes the open brackets
 * down to the enclosing block: the opening bracket is reported and marked `unclosed`, closing ones
 * are made up. The parser reports nothing about the statement with such a bracket. The same test
 * lets a dangling operator at a line's end spoil one statement instead of two. */
#include "frontend/syntax/lexer.h"

#include <string.h>

typedef struct {
  size_t at;               /* position in l->tokens */
  size_t parens, brackets; /* open in this block, including this one */
  bool in_block;           /* a brace is open, perhaps this one */
} open_bracket;

typedef struct {
  neo_lexer *l;
  neo_tokens in; /* the scanner's */
  NEO_VEC(open_bracket) up;
  size_t at;  /* position in `in` */
  bool typed; /* the statement has a colon */
} layout;

/* ---- output ---------------------------------------------------------------------------------- */

static neo_token *last(layout *s) {
  neo_tokens *out = &s->l->tokens;
  return out->n ? &out->at[out->n - 1] : NULL;
}

static uint32_t end_of_last(layout *s) {
  const neo_token *t = last(s);
  return t ? t->offset + t->length : 0;
}

static void put_extra(layout *s, neo_tok kind) {
  neo_token t = {.kind = (uint8_t)kind, .offset = end_of_last(s)};
  t.made_up = kind == NEO_TOK_RPAREN || kind == NEO_TOK_RBRACKET || kind == NEO_TOK_RBRACE;
  NEO_PUSH(s->l->arena, &s->l->tokens, t);
}

static neo_token *opener(layout *s) {
  return &s->l->tokens.at[s->up.at[s->up.n - 1].at];
}

/* The innermost open bracket; END if none is open. */
static neo_tok innermost(layout *s) {
  return s->up.n ? (neo_tok)opener(s)->kind : NEO_TOK_END;
}

static neo_tok partner(neo_tok kind) {
  switch (kind) {
  case NEO_TOK_LPAREN:
    return NEO_TOK_RPAREN;
  case NEO_TOK_LBRACKET:
    return NEO_TOK_RBRACKET;
  default:
    return NEO_TOK_RBRACE;
  }
}

/* The innermost bracket is never closed: reports it, and closes it here. */
static void close_missing(layout *s) {
  neo_token *first = opener(s);
  neo_lexer *l = s->l;
  if (neo_lex_fail(l))
    neo_diag(l->diags, neo_lex_span(l, first->offset, first->length), NEO_D_UNCLOSED,
             neo_tok_text((neo_tok)first->kind));
  first->unclosed = true;
  put_extra(s, partner((neo_tok)first->kind));
  s->up.n--;
}

/* Closes parentheses and brackets down to the enclosing block. */
static void close_to_block(layout *s) {
  while (innermost(s) == NEO_TOK_LPAREN || innermost(s) == NEO_TOK_LBRACKET)
    close_missing(s);
}

/* ---- can this line only be a statement of its own? ------------------------------------------- */

static const neo_token *peek(const layout *s, size_t n) {
  return s->at + n < s->in.n ? &s->in.at[s->at + n] : NULL;
}

static bool is_kind(const neo_token *t, neo_tok kind) {
  return t && t->kind == kind;
}

static bool is_keyword(const char *text) {
  for (neo_ast_stmt_kind k = 0; k < NEO_AST_STMT_KINDS; k++) {
    const char *word = neo_ast_stmt_word(k);
    if (word && strcmp(word, text) == 0)
      return true;
  }
  return false;
}

/* Words that may follow a name within a statement: `output y.state update r`. */
static bool is_joining_word(const char *text) {
  static const char *const words[] = {"as",   "over",  "except", "using",
                                      "from", "limit", "update", "grad"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i], text) == 0)
      return true;
  return false;
}

/* `NAME [ … ] =`, all on this line. */
static bool is_indexed_target(const layout *s) {
  size_t n = 1, depth = 0;
  if (!is_kind(peek(s, n), NEO_TOK_LBRACKET))
    return false;
  for (;; n++) {
    const neo_token *t = peek(s, n);
    if (!t || t->line_start)
      return false;
    depth += t->kind == NEO_TOK_LBRACKET;
    depth -= t->kind == NEO_TOK_RBRACKET;
    if (depth == 0)
      break;
  }
  return is_kind(peek(s, n + 1), NEO_TOK_ASSIGN) && !peek(s, n + 1)->line_start;
}

/* Whether `NAME =` after this token belongs to a list of arguments, options or bindings. */
static bool follows_separator(const neo_token *after) {
  return after->kind == NEO_TOK_COMMA || after->kind == NEO_TOK_SEMI ||
         after->kind == NEO_TOK_LPAREN || after->kind == NEO_TOK_COLON ||
         (after->kind == NEO_TOK_NAME && strcmp(after->text, "input") == 0);
}

/* Whether the line may end a bound of the line before, as in `x : i32 < K +` followed by `N = 3`:
 * such a name begins no statement. */
static bool may_end_bound(layout *s, const neo_token *after) {
  bool in_bracket = innermost(s) == NEO_TOK_LPAREN || innermost(s) == NEO_TOK_LBRACKET;
  return s->typed && !in_bracket && after->kind != NEO_TOK_ASSIGN;
}

/* `after` is the token before this line's first. */
static bool begins_statement(layout *s, const neo_token *after) {
  const neo_token *t = peek(s, 0), *next = peek(s, 1);
  if (t->kind != NEO_TOK_NAME || after->kind == NEO_TOK_DOT || !next || next->line_start)
    return false;
  bool listed = follows_separator(after);
  if (next->kind == NEO_TOK_NAME && is_keyword(t->text)) { /* `; input lr = 1` is an option */
    bool option = listed && strcmp(t->text, "input") == 0;
    return !option && !is_joining_word(next->text);
  }
  if (may_end_bound(s, after))
    return false;
  if (next->kind == NEO_TOK_ASSIGN)
    return !listed || innermost(s) == NEO_TOK_LBRACKET;
  return is_indexed_target(s) && (innermost(s) == NEO_TOK_LPAREN || !listed);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void line_end(layout *s) {
  const neo_token *before = last(s);
  if (!before || before->kind == NEO_TOK_END)
    return;
  if (innermost(s) == NEO_TOK_LPAREN || innermost(s) == NEO_TOK_LBRACKET) {
    if (!begins_statement(s, before))
      return;
    close_to_block(s);
  } else if (neo_token_joins((neo_tok)before->kind) && !begins_statement(s, before)) {
    return;
  }
  put_extra(s, NEO_TOK_END);
}

static void open(layout *s, neo_token t) {
  open_bracket b = {0};
  if (s->up.n)
    b = s->up.at[s->up.n - 1];
  b.at = s->l->tokens.n;
  if (t.kind == NEO_TOK_LBRACE)
    b.parens = b.brackets = 0;
  b.parens += t.kind == NEO_TOK_LPAREN;
  b.brackets += t.kind == NEO_TOK_LBRACKET;
  b.in_block |= t.kind == NEO_TOK_LBRACE;
  NEO_PUSH(s->l->arena, &s->up, b);
  NEO_PUSH(s->l->arena, &s->l->tokens, t);
}

/* Whether a bracket of this kind is open within the innermost braces. */
static bool is_open(layout *s, neo_tok kind) {
  if (s->up.n == 0)
    return false;
  const open_bracket *top = &s->up.at[s->up.n - 1];
  return kind == NEO_TOK_LPAREN     ? top->parens > 0
         : kind == NEO_TOK_LBRACKET ? top->brackets > 0
                                    : top->in_block;
}

static void report(layout *s, const neo_token *t, neo_diag_id id, const char *first) {
  if (neo_lex_fail(s->l))
    neo_diag(s->l->diags, neo_lex_span(s->l, t->offset, t->length), id, first,
             neo_tok_text((neo_tok)t->kind));
}

static void put(layout *s, neo_token t) {
  NEO_PUSH(s->l->arena, &s->l->tokens, t);
}

/* Accepts `]` where `)` is due. The report is at the wrong bracket, with the bracket that it closes
 * as an additional range. */
static void close_wrongly(layout *s, neo_token t) {
  neo_token *first = opener(s);
  neo_lexer *l = s->l;
  if (neo_lex_fail(l)) {
    int h = neo_diag(l->diags, neo_lex_span(l, t.offset, t.length), NEO_D_WRONG_CLOSE,
                     neo_tok_text((neo_tok)first->kind), neo_tok_text((neo_tok)t.kind));
    neo_diag_range(l->diags, h, neo_lex_span(l, first->offset, first->length));
  }
  first->unclosed = true;
  t.kind = (uint8_t)partner((neo_tok)first->kind);
  s->up.n--;
  put(s, t);
}

static void close_stray(layout *s, neo_token t) {
  report(s, &t, NEO_D_UNOPENED, neo_tok_text((neo_tok)t.kind));
  t.kind = NEO_TOK_ERROR;
  put(s, t);
}

static bool follows_reducer(layout *s, size_t opened) {
  const neo_token *word = opened > 0 ? &s->l->tokens.at[opened - 1] : NULL;
  return word && word->kind == NEO_TOK_NAME && neo_reducer_named(word->text) < NEO_AST_RED_COUNT;
}

/* ) or ] that fits the innermost bracket. After a reducer's, the line goes on. */
static void close_fitting(layout *s, neo_token t) {
  size_t opened = s->up.at[--s->up.n].at;
  put(s, t);
  const neo_token *next = peek(s, 1);
  if (t.kind == NEO_TOK_RBRACKET && next && next->line_start && follows_reducer(s, opened)) {
    s->at++;
    if (begins_statement(s, last(s)) || next->kind == NEO_TOK_RBRACE)
      s->at--;
    else
      s->in.at[s->at--].line_start = false;
  }
}

static void close(layout *s, neo_token t) {
  neo_tok opens = t.kind == NEO_TOK_RPAREN     ? NEO_TOK_LPAREN
                  : t.kind == NEO_TOK_RBRACKET ? NEO_TOK_LBRACKET
                                               : NEO_TOK_LBRACE;
  if (is_open(s, opens)) {
    while (innermost(s) != opens)
      close_missing(s);
    close_fitting(s, t);
  } else if (innermost(s) == NEO_TOK_LPAREN || innermost(s) == NEO_TOK_LBRACKET) {
    if (opens == NEO_TOK_LBRACE) /* no block is open either */
      close_stray(s, t);
    else
      close_wrongly(s, t);
  } else {
    close_stray(s, t);
  }
}

static void step(layout *s) {
  neo_token t = s->in.at[s->at];
  if (t.line_start)
    line_end(s);
  bool ended = s->l->tokens.n > 0 && last(s)->kind == NEO_TOK_END;
  if (ended || t.kind == NEO_TOK_LBRACE || t.kind == NEO_TOK_COLON)
    s->typed = t.kind == NEO_TOK_COLON;
  switch (t.kind) {
  case NEO_TOK_LPAREN:
  case NEO_TOK_LBRACKET:
  case NEO_TOK_LBRACE:
    open(s, t);
    break;
  case NEO_TOK_RPAREN:
  case NEO_TOK_RBRACKET:
  case NEO_TOK_RBRACE:
    close(s, t);
    break;
  case NEO_TOK_SEMI:
    if (innermost(s) == NEO_TOK_END || innermost(s) == NEO_TOK_LBRACE)
      t.kind = NEO_TOK_END;
    put(s, t);
    break;
  default:
    put(s, t);
  }
}

void neo_lex_layout(neo_lexer *l) {
  layout s = {.l = l, .in = l->tokens};
  l->tokens = (neo_tokens){0};
  for (s.at = 0; s.at < s.in.n; s.at++)
    step(&s);
  while (s.up.n)
    close_missing(&s);
  put_extra(&s, NEO_TOK_END);
  put_extra(&s, NEO_TOK_EOF);
}

/* The tokens of an `.expr` file.
 *
 * neo_lex turns text into tokens in two steps. The scanner (lexer.c) finds words, numbers, signs
 * and comments. The layout (lexer_layout.c) decides which line ends end a statement, pairs the
 * brackets, and reports those without a partner; it adds END tokens, and closing brackets
 * (`made_up`) where one is missing, so that the parser sees balanced brackets.
 *
 * A line continues inside ( and [, after an operator, a comma, `=`, `->`, `:` or `.`, and after a
 * reducer's bracket. Words that begin or join statements (`input`, `from`, `update` …) are names
 * for the lexer: they have a meaning only where the grammar gives them one. */
#pragma once
#include "base/diag.h"
#include "base/vec.h"
#include "frontend/syntax/ast.h"

/* Signs and reserved words: X(name, text). neo_token_joins depends on the order. */
#define NEO_TOKENS(X) \
  X(LPAREN, "(")      \
  X(RPAREN, ")")      \
  X(LBRACKET, "[")    \
  X(RBRACKET, "]")    \
  X(LBRACE, "{")      \
  X(RBRACE, "}")      \
  X(SEMI, ";")        \
  X(PACK, "..")       \
  X(ADD, "+")         \
  X(SUB, "-")         \
  X(MUL, "*")         \
  X(DIV, "/")         \
  X(MOD, "%")         \
  X(POW, "^")         \
  X(EQ, "==")         \
  X(NE, "!=")         \
  X(LT, "<")          \
  X(LE, "<=")         \
  X(GT, ">")          \
  X(GE, ">=")         \
  X(AND, "and")       \
  X(OR, "or")         \
  X(NOT, "not")       \
  X(COMMA, ",")       \
  X(ASSIGN, "=")      \
  X(ARROW, "->")      \
  X(COLON, ":")       \
  X(DOT, ".")         \
  X(TRUE, "true")     \
  X(FALSE, "false")   \
  X(ELSE, "else")     \
  X(WHERE, "where")   \
  X(SCAN, "scan")     \
  X(REPEAT, "repeat") \
  X(WHILE, "while")   \
  X(CASE, "case")

typedef enum {
#define X(name, text) NEO_TOK_##name,
  NEO_TOKENS(X)
#undef X
      NEO_TOK_NAME,
  NEO_TOK_NUMBER, /* with inf, nan and pi */
  NEO_TOK_END,    /* a line end that ends a statement, or `;` outside of brackets */
  NEO_TOK_EOF,
  NEO_TOK_ERROR, /* characters that were reported; one or more */
} neo_tok;

typedef struct {
  uint8_t kind;    /* neo_tok */
  bool line_start; /* first on its line */
  bool unclosed;   /* an opening bracket whose partner is missing or wrong; reported */
  bool made_up;    /* a closing bracket that is not in the text */
  bool foreign;    /* a sign of other languages, which was reported */
  uint32_t offset, length;
  const char *text; /* NAME, NUMBER: interned; else NULL */
} neo_token;
typedef NEO_VEC(neo_token) neo_tokens;

static inline bool neo_token_joins(neo_tok kind) /* a line continues after it */
{
  return kind >= NEO_TOK_ADD && kind <= NEO_TOK_DOT;
}
const char *neo_tok_text(neo_tok kind); /* text of a sign or reserved word; else NULL */
/* The reducer of that name, or NEO_AST_RED_COUNT. */
neo_ast_reducer neo_reducer_named(const char *text);

typedef struct {
  neo_arena *arena;
  neo_names *names;
  neo_diags *diags;
  uint32_t file_id;
  const char *text;
  size_t size_bytes;
  neo_tokens tokens; /* ends with EOF */
  NEO_VEC(neo_ast_comment) comments;
  bool had_errors;
} neo_lexer;

/* The limit of errors, so that a file of megabytes in which everything is wrong takes no
 * minutes. */
enum { NEO_SYNTAX_ERRORS = 2000 };
/* Notes that the text has an error. True: it may be reported. */
bool neo_lex_fail(neo_lexer *l);

/* Fills `tokens` and `comments` from the other fields, which the caller sets. Linear in the
 * text. */
void neo_lex(neo_lexer *l);

/* The two steps of neo_lex. */
void neo_lex_layout(neo_lexer *l);
/* The span of a piece of the text, for reports. */
neo_span neo_lex_span(neo_lexer *l, uint32_t offset, uint32_t length);

/* The parser's parts; private to parse*.c.
 *
 * A statement is a run of tokens up to the next one in the first column. Its first error makes the
 * rest of it look empty, so that every loop ends and one statement gives one message. */
#pragma once
#include "ir/ir.h"

typedef enum { T_END, T_NAME, T_STRING, T_NUMBER, T_LET, T_DEF, T_ANON, T_PUNCT, T_BAD } token_kind;

typedef struct {
  token_kind kind;
  bool first; /* in the first column */
  uint32_t offset, n;
} token;

typedef struct neo_ir_parser {
  neo_arena *arena;
  neo_module *m;
  uint32_t file;
  const char *text;
  uint32_t n_text;
  NEO_VEC(token) tokens; /* the last is T_END */
  size_t at, stop;       /* the statement's tokens still to read */
  bool failed;           /* this statement has been reported */
  int depth;
  NEO_VEC(uint16_t) height;  /* height of nodes as written: a name counts as a leaf */
  neo_map sizes, tensors;    /* name id -> id */
  NEO_VEC(bool) bad_tensors; /* by id: the declaration was wrong, say nothing more about it */
  /* scope of the definition */
  uint32_t n_axes, axis[NEO_DEF_AXES]; /* name ids */
  neo_map lets;                        /* number -> expr */
  uint32_t n_accs;                     /* 0 outside of what follows `then` */
  neo_type acc[2];
} neo_ir_parser;

/* Splits the text from an offset (bytes) on into tokens, which it appends to p->tokens. */
void neo_parse_lex(neo_ir_parser *p, uint32_t from);

/* ---- tokens (lex.c) */
/* The token `lookahead` positions after the current one (0: itself), which is not taken; the end
 * token after the statement and after an error. */
token neo_parse_peek(const neo_ir_parser *p, size_t lookahead);
/* Takes the current token; at the end of the statement it stays. */
token neo_parse_next(neo_ir_parser *p);
/* Whether the current token is this punctuation or unquoted word. */
bool neo_parse_is(const neo_ir_parser *p, const char *text);
/* Takes the current token if it is this one; false: it is another, and stays. */
bool neo_parse_accept(neo_ir_parser *p, const char *text);
/* The same where no other token may be: another one is reported, and ends the statement. */
void neo_parse_expect(neo_ir_parser *p, const char *text);
void neo_parse_expected(neo_ir_parser *p, const char *what);  /* reports */
uint32_t neo_parse_text_name(neo_ir_parser *p, token t);      /* for a T_NAME or T_STRING */
uint32_t neo_parse_name(neo_ir_parser *p, const char *what);  /* 0 when it failed */
uint32_t neo_parse_label(neo_ir_parser *p, const char *what); /* may be a reserved word */
uint32_t neo_parse_tag(neo_ir_parser *p, token t);            /* the number of $n, @n, ?n */
neo_span neo_parse_span_from(neo_ir_parser *p, size_t first); /* to the last token read */
const char *neo_parse_word(const neo_ir_parser *p, token t);  /* as text, in the arena */
/* Reports where t is, once a statement. */
void neo_parse_fail(neo_ir_parser *p, token t, neo_diag_id id, const char *a, const char *b);
/* Reports, once a statement, that there are more than `limit` of `what`. */
void neo_parse_limit(neo_ir_parser *p, int limit, const char *what);

/* ---- expressions (expr.c); 0 when it failed */
/* Parses an expression; errors are reported. */
neo_expr neo_parse_expr(neo_ir_parser *p);
neo_expr neo_parse_sum(neo_ir_parser *p); /* without comparisons and logic */
neo_expr neo_parse_number(neo_ir_parser *p,
                          const neo_type *hint); /* with sign; hint: type if not written */
/* Parses the name or number of a tensor that is declared; errors are reported. */
neo_tensor neo_parse_tensor(neo_ir_parser *p);
void neo_parse_named(neo_ir_parser *p, neo_expr e); /* e has a name now */

/* ---- definitions (def.c) */
/* Parses the rest of a definition after its keyword, and adds it; init: of a tensor's initial
 * value. */
void neo_parse_def(neo_ir_parser *p, bool init);
int64_t neo_parse_integer(neo_ir_parser *p); /* with sign; 0 when it failed */

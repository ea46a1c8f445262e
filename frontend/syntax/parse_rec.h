/* The parser's parts: recursive descent by the grammar of docs/language.md, one function per rule.
 *
 *   parser.c       a file                            parse_expr.c    expressions
 *   parse_block.c  statements with blocks            parse_reduce.c  reducers and their ranges
 *   parse_line.c   statements of one line            parse_part.c    types, axes, signatures
 *   parse_token.c  the current token, errors         parse_type.c    names of types and variables
 *   parse_name.c   names, lists of them, paths
 *
 * Each calls those below and to the right of it; parse_expr.c and parse_reduce.c call each other.
 *
 * The first error puts a statement in panic: nothing more is reported, every function returns as
 * soon as it sees the flag, and its result (perhaps NULL) is not used.
 *
 * Nodes are in the parser's arena. A rule reports an error once, and returns a node all the
 * same, never null. */
#pragma once
#include "frontend/syntax/ast.h"
#include "frontend/syntax/lexer.h"

#include <locale.h>

typedef struct {
  neo_arena *arena;
  neo_diags *diags;
  neo_sources *sources;
  uint32_t file_id;
  neo_tokens tokens;
  size_t at;
  locale_t c_locale; /* numbers do not depend on the program's locale */
  int depth;         /* number of statements and brackets around */
  bool panic;        /* the statement being parsed is in panic */
  bool broken;       /* the statement has an error, but parsing goes on */
  bool quiet;        /* the statement has an unclosed bracket or a foreign sign, which has been
                        reported */
  bool had_errors, asks_gradients;
  NEO_VEC(neo_ast_name) defined;        /* by the statement so far */
  NEO_VEC(neo_ast_name) type_variables; /* variables of the function being parsed */
  bool in_signature;                    /* the signature is being parsed */
  size_t first_token;                   /* first token of the signature */
} neo_parser;

/* ---- parse_token.c --------------------------------------------------------------------------- */

/* The token n positions ahead; 0: the current one. EOF at the end. */
const neo_token *neo_p_peek(const neo_parser *p, size_t n);
/* The kind of the current token; of the token n positions ahead. */
neo_tok neo_p_kind(const neo_parser *p);
neo_tok neo_p_peek_kind(const neo_parser *p, size_t n);
/* Takes the current token and returns it; EOF stays. */
const neo_token *neo_p_take(neo_parser *p);
/* Takes the current token if it is of this kind; false: it is of another, or an error was
 * reported. */
bool neo_p_accept(neo_parser *p, neo_tok kind);
/* Takes a token of this kind, or reports that it was expected. */
bool neo_p_expect(neo_parser *p, neo_tok kind);
bool neo_p_at_word(const neo_parser *p, const char *word); /* a name that means something here */
/* Takes the current token if it is this word; false: it is not, or an error was reported. The
 * second one reports that the word was expected. */
bool neo_p_accept_word(neo_parser *p, const char *word);
bool neo_p_expect_word(neo_parser *p, const char *word);
/* Takes < or <=; NONE, and nothing is taken, if there is neither. */
neo_ast_rel neo_p_accept_rel(neo_parser *p);

/* The span of a token, for diagnostics and nodes. */
neo_span neo_p_token_span(neo_parser *p, const neo_token *t);
/* The span of the current token. */
neo_span neo_p_span_here(neo_parser *p);
/* The span from the token at position `from` to the last one taken. */
neo_span neo_p_span_from(neo_parser *p, size_t from);

/* Marks the statement as wrong, and in panic if `stop`. True: an error may be reported. */
bool neo_p_fail(neo_parser *p, bool stop);
/* Reports and panics; gives the handle for notes and helps. */
#define NEO_P_ERROR(p, span, ...) \
  (neo_p_fail((p), true) ? neo_diag((p)->diags, (span), __VA_ARGS__) : -1)
/* Reports; the statement is parsed to its end for more errors, and dropped. */
#define NEO_P_COMPLAIN(p, span, ...) \
  (neo_p_fail((p), false) ? neo_diag((p)->diags, (span), __VA_ARGS__) : -1)
/* "expected WHAT, found …" at the current token. */
int neo_p_expected(neo_parser *p, const char *what);
int neo_p_unexpected(neo_parser *p); /* "unexpected …" */
/* Reports an operand that follows another without an operator, with a guess at what was meant.
 * Returns false, and reports nothing, if there is no guess. */
bool neo_p_juxtaposed(neo_parser *p);
/* Enters one level of nesting; false, after a report: too deep. Call neo_p_leave after every
 * enter. */
bool neo_p_enter(neo_parser *p) NEO_MUST_CHECK;
/* Leaves a level that neo_p_enter entered. */
void neo_p_leave(neo_parser *p);

/* The vector's elements as a list of the tree. */
#define NEO_P_LIST(list, v) ((list)->at = (v)->at, (list)->n = (uint32_t)(v)->n)

/* ---- parse_type.c ---------------------------------------------------------------------------- */

/* Whether the token there is a type's name. */
bool neo_p_is_type(const neo_parser *p, size_t at);
void neo_p_type_name(neo_parser *p, neo_ast_type *t); /* without bounds; reports a name that is no
                                                         type */
void neo_p_close_types(neo_parser *p); /* the function ends: reports misspelt types */

/* ---- parse_part.c ---------------------------------------------------------------------------- */

neo_ast_name neo_p_name(neo_parser *p, const char *what); /* what: for "expected WHAT" */
/* A name that the statement defines. */
neo_ast_name neo_p_new_name(neo_parser *p, const char *what);
neo_ast_names neo_p_new_names(neo_parser *p, const char *what); /* one or more, with commas */
/* Names, a path, a signature, a literal; `what` is expected in messages. */
neo_ast_names neo_p_names(neo_parser *p, const char *what);
neo_ast_path neo_p_path(neo_parser *p, const char *what);
neo_ast_var neo_p_var(neo_parser *p);                    /* in a declaration */
neo_ast_var neo_p_target(neo_parser *p);                 /* on the left of a definition */
neo_ast_binds neo_p_binds(neo_parser *p, bool declared); /* declared: axes as in `var` */
neo_ast_sig neo_p_sig(neo_parser *p);
/* Parses [-] NUMBER. */
neo_ast_expr *neo_p_signed_number(neo_parser *p, const char *what);
/* Complains about the second `..` of a bracket. */
void neo_p_check_pack(neo_parser *p, bool *seen, neo_span span);

/* ---- parse_expr.c, parse_reduce.c ------------------------------------------------------------ */

/* An expression, up to the operators of lowest precedence (or). */
neo_ast_expr *neo_p_expr(neo_parser *p);
/* A negation, quantifier or comparison. */
neo_ast_expr *neo_p_neg(neo_parser *p);
/* A sum of terms. */
neo_ast_expr *neo_p_sum(neo_parser *p);
/* A product of factors. */
neo_ast_expr *neo_p_term(neo_parser *p);
/* The arguments of a call, with their parentheses. */
neo_ast_args neo_p_args(neo_parser *p);
/* A number. */
neo_ast_expr *neo_p_number(neo_parser *p);
/* `true` or `false`. */
neo_ast_expr *neo_p_bool(neo_parser *p);
/* A node of this kind, without children, of height 1. */
neo_ast_expr *neo_p_new_expr(neo_parser *p, neo_ast_expr_kind kind);
/* Sets span (from token `from`) and height; reports a tree that is too high. */
neo_ast_expr *neo_p_done(neo_parser *p, neo_ast_expr *e, size_t from);
/* The node of a unary operator that is at token op_at; x alone after an error. */
neo_ast_expr *neo_p_unary(neo_parser *p, neo_ast_op op, size_t op_at, neo_ast_expr *x);

typedef enum { NEO_P_NO_REDUCER, NEO_P_REDUCER, NEO_P_QUANTIFIER } neo_p_word;
/* Whether a reducer begins `n` tokens ahead; any and all are quantifiers. */
neo_p_word neo_p_reducer_at(const neo_parser *p, size_t n);
bool neo_p_is_name(const neo_ast_expr *e); /* one name and nothing else */
/* Parses: word ranges body. The body is a term, or, of any and all, a neg. */
neo_ast_expr *neo_p_reduce(neo_parser *p);

/* ---- parse_line.c ---------------------------------------------------------------------------- */

/* Parses the rest of a statement without a block, of kind s->kind, after its keyword. */
void neo_p_line(neo_parser *p, neo_ast_stmt *s);
/* Whether the token is an operator. */
bool neo_p_is_sign(neo_tok k);

/* ---- parse_block.c --------------------------------------------------------------------------- */

/* Parses to the brace that closes this block (the outermost level has none), or to the end. */
neo_ast_stmts neo_p_statements(neo_parser *p, bool outermost);

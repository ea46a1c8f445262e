/* Parses the text of kernels (codegen/loop/print.c): tests write kernels as text, and no program
 * reads them. loop_token.c reads tokens, loop_parse_expr.c names and expressions,
 * loop_parse_device.c statements in a line of their own, loop_parse.c all others. */
#ifndef NEO_TESTS_LOOP_PARSE_H
#define NEO_TESTS_LOOP_PARSE_H
#include "codegen/loop/loop.h"

/* Null after an error, which d has. The kernel may still break a rule: verify it. */
neo_kernel *neo_kernel_parse(neo_arena *a, neo_diags *d, const char *path, const char *text,
                             size_t n);

/* ---- the parser's own state and tokens */

typedef enum { T_END, T_LINE, T_WORD, T_INT, T_FLOAT, T_PUNCT, T_BAD } token_kind;
typedef struct {
  token_kind kind;
  uint32_t at, n; /* LINE: n is the next line's indentation */
} token;

typedef enum { N_BUF, N_REG, N_VAR, N_SIZE } name_kind;
typedef struct {
  const char *text;
  name_kind kind;
  uint32_t number;
} name;

typedef struct {
  neo_arena *a;
  neo_diags *d;
  neo_kernel *k;
  const char *text;
  uint32_t n, file, nesting;
  token t;
  bool failed;
  NEO_VEC(name) names; /* the last of equal names counts */
  NEO_VEC(const neo_lx *) lets;
} parser;

neo_span neo_lp_span_of(const parser *p, token t);
void neo_lp_advance(parser *p);
/* Errors at the present token, and at another; the first is the only one that is told. */
void neo_lp_expected(parser *p, const char *what);
void neo_lp_bad_type(parser *p, token at, const char *what);

bool neo_lp_is(const parser *p, const char *text); /* the present token */
bool neo_lp_accept(parser *p, const char *text);   /* and then the next one is present */
void neo_lp_need(parser *p, const char *text);     /* an error otherwise */
const char *neo_lp_take_word(parser *p, const char *what);
int64_t neo_lp_take_int(parser *p);
int64_t neo_lp_take_small(parser *p, int64_t most); /* 0 to `most`; 0 after an error */
neo_type neo_lp_take_type(parser *p);

enum { NEO_LP_NESTING = 400 }; /* of blocks and expressions, at most */

const name *neo_lp_find(const parser *p, const char *s); /* null: there is none */
void neo_lp_declare(parser *p, const char *s, name_kind kind, uint32_t number);
/* A word that may be a name. */
const char *neo_lp_new_name(parser *p, const char *what);
const neo_lx *neo_lp_expression(parser *p);
/* A register's indices, in brackets. Returns how many. */
size_t neo_lp_indices(parser *p, token at, uint32_t reg, const neo_lx **index);
/* An expression of that type. */
const neo_lx *neo_lp_typed(parser *p, neo_type t, const char *what);
/* A statement of loop_parse_device.c; false: the present token begins none. */
bool neo_lp_device(parser *p, neo_block *in);

#endif

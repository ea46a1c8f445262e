/* For print.c: the state of the loop IR's printer, for its files. loop/print_expr.c prints names
 * and expressions, loop/print.c statements and the head. */
#pragma once
#include "base/map.h"
#include "codegen/loop/loop.h"

enum { PREC_OR = 1, PREC_AND, PREC_NOT, PREC_CMP, PREC_ADD, PREC_MUL, PREC_UNARY, PREC_ATOM };

typedef struct {
  const neo_kernel *k;
  neo_arena *arena;
  neo_str *out;
  const char **buf, **reg, **size, **var; /* names as printed; var: null outside its loop */
  neo_map taken;                          /* hash of a name -> number of objects that have it now */
  struct {
    uint64_t tree;      /* nodes of the expression written out, saturating; 0: not counted */
    uint32_t uses, let; /* in this statement; number of its let + 1 */
    uint32_t depth;
    uint32_t statement;
  } * node;
  uint32_t statement;
  NEO_VEC(const neo_lx *) order; /* nodes of this statement, arguments first */
} printer;

/* Names all buffers, registers and sizes. */
void neo_lo_name_all(printer *p);
/* A name like `name` that no other object has at this place; it stays reserved until it is
 * released. */
const char *neo_lo_distinct(printer *p, const char *name);
void neo_lo_release(printer *p, const char *word);
void neo_lo_take(printer *p, const char *word); /* reserves a released word again */
/* The name as a word: letters, digits, _, and dots between them, and no digit at the beginning. */
const char *neo_lo_word_of(neo_arena *a, const char *name);
/* Prints an expression, in parentheses if it binds less tightly than `prec`. */
void neo_lo_expr(printer *p, const neo_lx *e, int prec);
/* Prints expressions separated by commas. */
void neo_lo_list(printer *p, const neo_lx *const *e, size_t n);
/* Prints the indentation of a line at this depth. */
void neo_lo_indent(printer *p, int depth);
/* Prints the lets that the expressions of a statement need: names of nodes that occur in several
 * places. */
void neo_lo_lets(printer *p, const neo_lx *const *e, size_t n, int depth);

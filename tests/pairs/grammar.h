/* Which options of the language's rules a program's text has (grammar.def), read from its syntax
 * tree, and which pairs of options no program had.
 *
 *   pairs_grammar *g = pairs_grammar_new(arena);
 *   pairs_grammar_add(g, arena, &program);              // of many programs
 *   pairs_grammar_missing(g, &text);                    // "range: negative x element", a line each
 */
#ifndef NEO_TESTS_PAIRS_GRAMMAR_H
#define NEO_TESTS_PAIRS_GRAMMAR_H
#include "frontend/syntax/ast.h"
#include "tests/pairs/program.h"

typedef enum {
#define OPTION(axis, name, text, meaning) PAIRS_##axis##_##name,
#include "tests/pairs/grammar.def"
  PAIRS_OPTION_OWN,
  /* the front end's tables: one option for each row */
  PAIRS_OPTION_REDUCER = PAIRS_OPTION_OWN,
  PAIRS_OPTION_OPERATOR = PAIRS_OPTION_REDUCER + NEO_AST_RED_COUNT,
  PAIRS_OPTION_STATEMENT = PAIRS_OPTION_OPERATOR + NEO_AST_OP_COUNT,
  PAIRS_OPTION_TYPE = PAIRS_OPTION_STATEMENT + NEO_AST_BROKEN,
  PAIRS_OPTION_FUNCTION = PAIRS_OPTION_TYPE + 9,
  PAIRS_OPTIONS = PAIRS_OPTION_FUNCTION + 48
} pairs_option;

typedef enum {
#define CROSS(name, text, row, column, meaning) PAIRS_CROSS_##name,
#include "tests/pairs/grammar.def"
  PAIRS_CROSSES
} pairs_cross;

typedef struct {
  uint32_t programs, broken;
  uint32_t at[PAIRS_CROSSES][PAIRS_OPTIONS][PAIRS_OPTIONS]; /* programs that have both */
  /* number of the last program that has both */
  uint32_t last[PAIRS_CROSSES][PAIRS_OPTIONS][PAIRS_OPTIONS];
} pairs_grammar;

pairs_grammar *pairs_grammar_new(neo_arena *a);
/* Counts what the program has. A text that does not parse counts as broken. */
void pairs_grammar_add(pairs_grammar *g, neo_arena *a, const pairs_program *p);
void pairs_grammar_note(pairs_grammar *g, pairs_cross c, pairs_option row, pairs_option column);
/* Pairs that no program had and undrawn.def does not name, and rows of undrawn.def that are drawn
 * or fit nothing; a line each. Returns their number. */
uint32_t pairs_grammar_missing(const pairs_grammar *g, neo_str *out);
/* All counts, for a look. */
void pairs_grammar_print(const pairs_grammar *g, neo_str *out);

#endif

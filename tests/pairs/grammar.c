/* See grammar.h: the tables, and what is missing. */
#include "tests/pairs/grammar.h"
#include "frontend/sema/parts.h"
#include <string.h>

typedef enum {
  AXIS_STATEMENT,
  AXIS_REDUCER,
  AXIS_OPERATOR,
  AXIS_FUNCTION,
  AXIS_TYPE,
  AXIS_ONE,
  AXIS_PLACE,
  AXIS_LOW,
  AXIS_HIGH,
  AXIS_CONDITION,
  AXIS_BODY,
  AXIS_POSITION,
  AXIS_SUBSCRIPT,
  AXIS_GUARD,
  AXIS_ROLE,
  AXIS_BOUND,
  AXIS_REGION,
  AXIS_TRAIT,
  AXIS_TARGET,
  AXIS_ORDER,
  AXIS_THROUGH,
  AXIS_TWICE,
  AXIS_EXTENT,
  AXIS_KNOWN,
  AXIS_RULE
} axis;

static const struct {
  axis of;
  const char *text;
} own[] = {
#define OPTION(axis, name, text, meaning) {AXIS_##axis, text},
#include "tests/pairs/grammar.def"
};

static const struct {
  const char *text;
  axis row, column;
} crosses[] = {
#define CROSS(name, text, row, column, meaning) {text, AXIS_##row, AXIS_##column},
#include "tests/pairs/grammar.def"
};

static const struct {
  const char *cross, *row, *column, *reason;
} undrawn[] = {
#define UNDRAWN(cross, row, column, reason) {cross, row, column, reason},
#include "tests/pairs/undrawn.def"
#undef UNDRAWN
};

enum { N_UNDRAWN = sizeof undrawn / sizeof *undrawn };

/* ---- options */

static const char *function_text(uint32_t k) {
  const char *name = NULL;
  for (uint32_t i = 0; i <= k; i++)
    name = neo_builtin_name(i);
  return name && strcmp(name, "grad") != 0 ? name : NULL;
}

static bool is_within(pairs_option o, pairs_option first, pairs_option end) {
  return o >= first && o < end;
}

static axis axis_of(pairs_option o) {
  return o < PAIRS_OPTION_OWN                                               ? own[o].of
         : is_within(o, PAIRS_OPTION_REDUCER, PAIRS_OPTION_OPERATOR)        ? AXIS_REDUCER
         : is_within(o, PAIRS_OPTION_OPERATOR, PAIRS_OPTION_STATEMENT)      ? AXIS_OPERATOR
         : is_within(o, PAIRS_OPTION_STATEMENT, PAIRS_OPTION_TYPE)          ? AXIS_STATEMENT
         : is_within(o, PAIRS_OPTION_TYPE, PAIRS_OPTION_FUNCTION)           ? AXIS_TYPE
                                                                            : AXIS_FUNCTION;
}

static const char *text_of(pairs_option o) {
  static const char *const types[] = {
#define X(name, text, size, kind) text,
#include "ir/types.def"
#undef X
  };
  const char *word;
  switch (axis_of(o)) {
  case AXIS_REDUCER:
    return neo_ast_reducer_text((neo_ast_reducer)(o - PAIRS_OPTION_REDUCER));
  case AXIS_OPERATOR:
    return o - PAIRS_OPTION_OPERATOR == NEO_AST_NEG ? "negation" : neo_ast_op_text((neo_ast_op)(o - PAIRS_OPTION_OPERATOR));
  case AXIS_STATEMENT:
    word = neo_ast_stmt_word((neo_ast_stmt_kind)(o - PAIRS_OPTION_STATEMENT));
    return word ? word : "definition";
  case AXIS_TYPE:
    return types[o - PAIRS_OPTION_TYPE];
  case AXIS_FUNCTION:
    return function_text(o - PAIRS_OPTION_FUNCTION);
  default:
    return own[o].text;
  }
}

/* ---- counts */

pairs_grammar *pairs_grammar_new(neo_arena *a) {
  return NEO_NEW(a, pairs_grammar);
}

void pairs_grammar_note(pairs_grammar *g, pairs_cross c, pairs_option row, pairs_option column) {
  uint32_t *last = &g->last[c][row][column];
  if (*last == g->programs)
    return;
  *last = g->programs;
  g->at[c][row][column]++;
}

/* Calls `each` for every pair of options that are crossed. */
static void each_pair(void (*each)(void *ctx, pairs_cross c, pairs_option row, pairs_option column),
                      void *ctx) {
  for (pairs_cross c = 0; c < PAIRS_CROSSES; c++)
    for (pairs_option row = 0; row < PAIRS_OPTIONS; row++)
      for (pairs_option column = 0; column < PAIRS_OPTIONS; column++)
        if (axis_of(row) == crosses[c].row && axis_of(column) == crosses[c].column &&
            text_of(row) && text_of(column))
          each(ctx, c, row, column);
}

typedef struct {
  const pairs_grammar *g;
  neo_str *out;
  uint32_t missing, fits[N_UNDRAWN + 1];
} search;

/* A pattern is "*", or texts with | between them. */
static bool is_like(const char *pattern, const char *text) {
  size_t n = strlen(text);
  for (const char *at = pattern; at; at = strchr(at, '|')) {
    at += *at == '|';
    if (strcspn(at, "|") == n && strncmp(at, text, n) == 0)
      return true;
  }
  return strcmp(pattern, "*") == 0;
}

static void look(void *ctx, pairs_cross c, pairs_option row, pairs_option column) {
  search *s = ctx;
  bool excepted = false, drawn = s->g->at[c][row][column] > 0;
  for (uint32_t k = 0; k < N_UNDRAWN; k++) {
    if (strcmp(undrawn[k].cross, crosses[c].text) != 0 || !is_like(undrawn[k].row, text_of(row)) ||
        !is_like(undrawn[k].column, text_of(column)))
      continue;
    s->fits[k]++;
    excepted = true;
    if (!drawn)
      continue;
    neo_str_addf(s->out, "%s: %s x %s is drawn, undrawn.def says: %s\n", crosses[c].text,
                 text_of(row), text_of(column), undrawn[k].reason);
    s->missing++;
  }
  if (drawn || excepted)
    return;
  neo_str_addf(s->out, "%s: %s x %s is never drawn\n", crosses[c].text, text_of(row),
               text_of(column));
  s->missing++;
}

uint32_t pairs_grammar_missing(const pairs_grammar *g, neo_str *out) {
  search s = {.g = g, .out = out};
  each_pair(look, &s);
  for (uint32_t k = 0; k < N_UNDRAWN; k++)
    if (!s.fits[k]) {
      neo_str_addf(out, "undrawn.def: %s: %s x %s fits nothing\n", undrawn[k].cross, undrawn[k].row,
                   undrawn[k].column);
      s.missing++;
    }
  return s.missing;
}

static void print(void *ctx, pairs_cross c, pairs_option row, pairs_option column) {
  search *s = ctx;
  neo_str_addf(s->out, "%s\t%s\t%s\t%u\n", crosses[c].text, text_of(row), text_of(column),
               s->g->at[c][row][column]);
}

void pairs_grammar_print(const pairs_grammar *g, neo_str *out) {
  search s = {.g = g, .out = out};
  each_pair(print, &s);
}

/* Shared by the steps of the lexer and the parser: texts of tokens, source positions, the limit of
 * errors. */
#include "frontend/syntax/lexer.h"
#include <string.h>

const char *neo_tok_text(neo_tok kind) {
  static const char *const texts[] = {
#define X(name, text) text,
    NEO_TOKENS(X)
#undef X
  };
  return kind < NEO_TOK_NAME ? texts[kind] : NULL;
}

neo_ast_reducer neo_reducer_named(const char *text) {
  for (neo_ast_reducer r = 0; r < NEO_AST_RED_COUNT; r++)
    if (strcmp(neo_ast_reducer_text(r), text) == 0)
      return r;
  return NEO_AST_RED_COUNT;
}

neo_span neo_lex_span(neo_lexer *l, uint32_t offset, uint32_t length) {
  return neo_span_of(neo_diags_sources(l->diags), l->file_id, offset, length);
}

bool neo_lex_fail(neo_lexer *l) {
  l->had_errors = true;
  return neo_diags_errors(l->diags) < NEO_SYNTAX_ERRORS;
}

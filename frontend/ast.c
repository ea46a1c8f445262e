/* Texts of the tables in ast.h. */
#include "frontend/ast.h"

#include <assert.h>

const char *neo_ast_op_text(neo_ast_op op)
{
  static const char *const texts[] = {
#define X(name, text) text,
      NEO_AST_OPS(X)
#undef X
  };
  assert(op < NEO_AST_OP_COUNT);
  return texts[op];
}

const char *neo_ast_reducer_text(neo_ast_reducer r)
{
  static const char *const texts[] = {
#define X(name, text) text,
      NEO_AST_REDUCERS(X)
#undef X
  };
  assert(r < NEO_AST_RED_COUNT);
  return texts[r];
}

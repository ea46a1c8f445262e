/* Texts of the tables in ast.h. */
#include "frontend/ast.h"

#include <assert.h>

const char *neo_ast_op_text(neo_ast_op op) {
  static const char *const texts[] = {
#define X(name, text) text,
    NEO_AST_OPS(X)
#undef X
  };
  assert(op < NEO_AST_OP_COUNT);
  return texts[op];
}

const char *neo_ast_stmt_word(neo_ast_stmt_kind kind) {
  static const char *const words[NEO_AST_STMT_KINDS] = {
      [NEO_AST_IMPORT] = "import",       [NEO_AST_DIM] = "dim",       [NEO_AST_ASSERT] = "assert",
      [NEO_AST_INPUT] = "input",         [NEO_AST_PARAM] = "param",   [NEO_AST_STATE] = "state",
      [NEO_AST_CONST] = "const",         [NEO_AST_NEXT] = "next",     [NEO_AST_UPDATE] = "update",
      [NEO_AST_SCATTER] = "scatter",     [NEO_AST_GATHER] = "gather", [NEO_AST_COLLECT] = "collect",
      [NEO_AST_PUSH] = "push",           [NEO_AST_FN] = "fn",         [NEO_AST_VERTEX] = "vertex",
      [NEO_AST_GRAPH] = "graph",         [NEO_AST_OUTPUT] = "output", [NEO_AST_TRAIN] = "train",
      [NEO_AST_OPTIMIZER] = "optimizer",
  };
  assert(kind < NEO_AST_STMT_KINDS);
  return words[kind];
}

const char *neo_ast_reducer_text(neo_ast_reducer r) {
  static const char *const texts[] = {
#define X(name, text) text,
    NEO_AST_REDUCERS(X)
#undef X
  };
  assert(r < NEO_AST_RED_COUNT);
  return texts[r];
}

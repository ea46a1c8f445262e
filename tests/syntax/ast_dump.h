/* Syntax trees as text, for golden tests and for comparing trees. */
#ifndef NEO_TESTS_AST_DUMP_H
#define NEO_TESTS_AST_DUMP_H
#include "frontend/syntax/ast.h"

/* S-expressions, a statement a line, blocks indented; without places and parentheses. Two files
 * with equal dumps have the same meaning. */
void neo_ast_dump(const neo_ast_file *file, neo_str *out);
void neo_ast_dump_expr(const neo_ast_expr *expr, neo_str *out);

#endif

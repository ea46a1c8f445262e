/* Text -> the syntax tree of frontend/syntax/ast.h. */
#pragma once
#include "base/arena.h"
#include "base/diag.h"
#include "base/str.h"
#include "frontend/syntax/ast.h"

enum { NEO_SOURCE_LIMIT_BYTES = 4 << 20 };

/* Parses one file; never returns null. `text` (n bytes, any content) and `path` are kept by
 * reference and must live as long as the tree. Each call adds the file to the sources of `d`.
 *
 * All errors of the file are reported: a broken statement becomes NEO_AST_BROKEN with the names
 * that it would have defined, and parsing goes on with the next statement, also inside of blocks.
 * `had_errors` tells. Time is linear in the length of the input, and the stack is bounded.
 *
 * Errors: E00xx, E0901 (larger than NEO_SOURCE_LIMIT_BYTES: the tree is empty), E0902, E0903. */
neo_ast_file *neo_parse(neo_arena *a, neo_names *names, neo_diags *d, const char *path,
                        const char *text, size_t n);

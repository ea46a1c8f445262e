/* The canonical form of an `.expr` file (`neoc fmt`).
 *
 * One statement per line, blocks indented by 2, lines of at most 100 columns where the words allow
 * it, continued by 4. Spaces around + - % and comparisons, none around ^; around * and / if a
 * factor has several subscripts or a reducer follows (`X[b, i] * W[i, j]`, but `2*p + r`). A
 * comment stays with the text that it was beside; comments after statements of consecutive lines
 * are aligned; at most one blank line is kept. A block that was written on one line stays there if
 * it fits.
 *
 * Formatting twice is formatting once, and the tree does not change (doubled parentheses go). */
#pragma once
#include "frontend/syntax/ast.h"

/* Appends the canonical text of `file`, which must have no errors. `sources` are those that it was
 * parsed with. Scratch memory comes from `a`. */
void neo_format(neo_arena *a, const neo_ast_file *file, neo_sources *sources, neo_str *out);

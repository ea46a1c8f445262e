/* Text form of the IR; parse(print(m)) == m (same text again). First line: "neo-ir 1". */
#pragma once
#include "ir/ir.h"

/* Appends the whole module. */
void neo_module_print(const neo_module *m, neo_str *out);
/* Appends one definition. */
void neo_def_print(const neo_module *m, neo_def d, neo_str *out);
void neo_expr_print(const neo_module *m, const neo_def_rec *d, neo_expr e,
                    neo_str *out); /* d names the axes; may be null */
/* Parses; errors are diagnostics (E06xx) and return null. `path` names the text in messages. */
neo_module *neo_module_parse(neo_arena *a, neo_names *names, neo_diags *d, const char *path,
                             const char *text, size_t n);

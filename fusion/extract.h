/* A group in a module of its own, which holds what the group's form is made of and nothing else:
 * expressions, sizes and tensors are numbered in the order in which the form has them, and terms of
 * indices are in that order.
 *
 * What is found there depends on the form alone: neither the rest of the program, nor what passes
 * did before, nor what was asked of other groups counts. A search of schedules
 * (tools/pipeline/searched.h) runs on such a module, and its result is that of any group with the
 * same bytes.
 *
 * Not in it: definitions (so the group has no members, and tensors no pieces), data of constants,
 * and what the program says of sizes beyond their bounds. */
#pragma once
#include "fusion/group.h"

/* The module, in the arena; *out: the group in it, which has its form. The names and diagnostics
 * are those of m; a proof has the same quota. Adds nothing to m. g has a form
 * (neo_group_has_form). */
neo_module *neo_group_extract(neo_module *m, const neo_group *g, neo_arena *a, neo_group *out);
/* All that the module and the group say but names and places in the source, as bytes: equal bytes
 * are equal groups. Before anything was asked of the group. */
void neo_extract_print(const neo_module *m, const neo_group *g, neo_str *out);

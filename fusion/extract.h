/* For tools/pipeline: a group in its own module, with the contents of the group's form alone:
 * expressions, sizes and tensors are numbered in the order of the form, and terms of indices are in
 * that order.
 *
 * Queries on it thus depend on the form alone, not on the rest of the program, earlier passes, or
 * queries on other groups. A search of schedules (tools/pipeline/searched.h) runs on such a module,
 * and its result holds for any group with the same bytes.
 *
 * Left out: definitions (the group has no members, tensors no pieces), data of constants, and the
 * program's assertions on sizes beyond their bounds. */
#pragma once
#include "fusion/group.h"

/* The module, in the arena; *out: the group in it, with its form. Names and diagnostics are those
 * of m; a proof has the same quota. Adds nothing to m. g has a form (neo_group_has_form). */
neo_module *neo_group_extract(neo_module *m, const neo_group *g, neo_arena *a, neo_group *out);
/* The module and the group as bytes, without names and spans: equal bytes are equal groups. Call it
 * before any query on the group. */
void neo_extract_print(const neo_module *m, const neo_group *g, neo_str *out);

/* Schedule trees from text, and their invariants: tests write trees, and check those that passes
 * make. */
#ifndef NEO_TESTS_TREE_TEXT_H
#define NEO_TESTS_TREE_TEXT_H
#include "ir/tree/tree.h"

/* Parses the text of neo_tree_print to a tree that prints alike. Errors are diagnostics (E06xx) of
 * the module, and return false. `path` names the text in messages. */
bool neo_tree_parse(neo_module *m, neo_arena *a, const char *path, const char *text, size_t n,
                    neo_schedule_tree *out) NEO_MUST_CHECK;

/* The invariants: NEO_OK, or NEO_INTERNAL with a text. Nothing is proved:
 *   - an index is used below its band alone;
 *   - an early exit is in the sequence of a band;
 *   - positions are i64, conditions bool, and a position with an end has a begin;
 *   - a store's cells depend on the element alone, and its scope holds all leaves that write its tensor, or read it. */
neo_status neo_tree_verify(const neo_module *m, const neo_schedule_tree *t,
                           neo_str *why) NEO_MUST_CHECK;

#endif

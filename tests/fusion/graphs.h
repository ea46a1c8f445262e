/* Small graphs of definitions of realistic sizes, and what is optimal for them. */
#ifndef NEO_TESTS_GRAPHS_H
#define NEO_TESTS_GRAPHS_H
#include "fusion/search/search.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* A module of `n` definitions: elementwise work on matrices and rows, sums of rows and columns,
 * products, updates. Same seed, same text. */
neo_module *graph_make(neo_arena *a, uint64_t seed, uint32_t n);
neo_module *graph_parse(neo_arena *a, const char *text);

/* Is the state that has been found one in which groups can run one after the other, with writers
 * of new versions after readers of old ones? *why says what is wrong. */
bool graph_is_legal(fuser *q, const char **why);

/* The least cost of all states of a module of at most 8 definitions: every set of copies, every
 * partition. -1: there are too many copies. */
double graph_optimum(neo_module *m, neo_arena *a, const neo_fuse_options *o);

/* The least cost that any sequence of moves reaches, whatever each of them costs. It knows the rows
 * of fusion/kinds.def and nothing of what they do. */
double graph_best_of_moves(neo_module *m, neo_arena *a, const neo_fuse_options *o);

#endif

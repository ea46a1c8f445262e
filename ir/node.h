/* What an expression is made of, from the bottom up: node.c interns nodes, fold.c finds what a node is
 * known to equal, build.c makes expressions of both. Private to these. */
#pragma once
#include "ir/ir.h"

/* ---- node.c: the node with this identity. `attr` is the bits of a constant, else the attribute. */
neo_expr neo_node_intern(neo_module *m, neo_op op, neo_type type, uint64_t attr,
                         const neo_expr *arg, size_t n, neo_span span);

/* ---- fold.c */
/* What the node is known to equal, or 0 if a node has to be made. Never changes a float's bits. */
neo_expr neo_fold(neo_module *m, neo_op op, neo_type type, const neo_expr *arg, size_t n);

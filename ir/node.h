/* The layers that make an expression, from the bottom up: node.c interns nodes, fold.c finds a
 * known equal of a node, build.c makes expressions from both, import.c copies nodes of another
 * module. Private to these. */
#pragma once
#include "ir/ir.h"

/* ---- node.c: the node with this identity. `attr` is the bits of a constant, else the
 * attribute. */
neo_expr neo_node_intern(neo_module *m, neo_op op, neo_type type, uint64_t attr,
                         const neo_expr *arg, size_t n, neo_span span);

/* ---- fold.c, for build.c */
/* The known equal of a node, or 0 if the node has to be made. Never changes a float's bits. */
neo_expr neo_fold(neo_module *m, neo_op op, neo_type type, const neo_expr *arg, size_t n);

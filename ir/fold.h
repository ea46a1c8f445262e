/* Local simplification while nodes are made; private to build.c and fold.c. */
#ifndef NEO_IR_FOLD_H
#define NEO_IR_FOLD_H
#include "ir/ir.h"

/* What the node is known to equal, or 0 if a node has to be made. Never changes a float's bits. */
neo_expr neo_fold(neo_module *m, neo_op op, neo_type type, const neo_expr *arg, size_t n);

#endif

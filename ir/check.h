/* The type rules of ops.def for one node; private to verify.c and the parser. */
#pragma once
#include "ir/ir.h"

/* Null if a node of these parts obeys its operator's rule, else what is wrong, as a phrase
 * ("arguments differ in type"). `arg` are valid ids. The position of an AXIS and the number of an
 * ACC depend on the definition, and are not checked. */
const char *neo_check_node(const neo_module *m, neo_op op, neo_type type, uint32_t attr,
                           const neo_expr *arg, size_t n);

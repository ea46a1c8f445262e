/* The type rules of ops.def for one node; private to verify.c and the parser. */
#pragma once
#include "ir/ir.h"

/* Null when a node of these parts obeys its operator's rule, else what is wrong, as a phrase
 * ("arguments differ in type"). Arguments are valid ids. An AXIS position and an ACC depend on the
 * definition and are not looked at. */
const char *neo_check_node(const neo_module *m, neo_op op, neo_type type, uint32_t attr,
                           const neo_expr *arg, size_t n);

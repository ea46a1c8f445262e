/* For frontend/check: a `case` on a run-time value during checking. */
#pragma once
#include "frontend/sema/parts.h"

/* The value of a case, to be compared with labels. A value that kernels cannot test
 * (ir/condition.h), although it is constant in a call or in an iteration of the loops around,
 * becomes a scalar with the name `full`. `at` is a frame without indices. */
neo_expr neo_branch_value(neo_frame *at, neo_expr value, const char *full, neo_span span);
/* The conditions of the branches: value == label; 0 for the last one, which is taken if no other
 * is. `at` is a frame without indices. False after a report. */
bool neo_branch_conditions(neo_frame *at, const neo_ast_region *g, neo_expr value,
                           neo_expr *condition) NEO_MUST_CHECK;
/* Defines each result by the symbols of its name in the scopes of the branches. */
void neo_branches_bind(neo_inst *in, const neo_ast_stmt *s, const neo_expr *condition,
                       neo_scope *const *scope);

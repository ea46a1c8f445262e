/* A `case` on a run-time value as it is checked; frontend/check runs its branches. */
#pragma once
#include "frontend/sema/parts.h"

/* The value that a case looks at, as it is compared with labels: what kernels cannot ask for themselves
 * (ir/condition.h), though it is one for the whole call, or for an iteration of the loops around, becomes a scalar of this
 * name. `at`: a frame without indices. */
neo_expr neo_branch_value(neo_frame *at, neo_expr value, const char *full, neo_span span);
/* The conditions of the branches: value == label; 0 for the last, which is taken where no other is. `at`:
 * a frame without indices. False after a report. */
bool neo_branch_conditions(neo_frame *at, const neo_ast_region *g, neo_expr value,
                           neo_expr *condition) NEO_MUST_CHECK;
/* Defines each result from the symbols of its name in the scopes of the branches. */
void neo_branches_bind(neo_inst *in, const neo_ast_stmt *s, const neo_expr *condition,
                       neo_scope *const *scope);

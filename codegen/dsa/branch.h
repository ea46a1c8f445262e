/* For search.c: the decisions of the search (branch.c). Private to codegen/dsa. */
#pragma once
#include "codegen/dsa/state.h"

/* The column of columns begin to end - 1 that is decided next. */
int32_t dsa_branch_column(const dsa_state *s, const dsa_strategy *by, int32_t begin, int32_t end);
/* The free buffers that can begin at the column's floor, the best first; of equal ones, one. `at`
 * has room for all that are in the column; returns their number. */
int32_t dsa_branch_buffers(const dsa_state *s, const dsa_strategy *by, int32_t column, int32_t *at);
/* The least offset of the column's lowest free buffer if none of these is chosen; INT64_MAX: there
 * is no such offset. */
int64_t dsa_branch_rise(const dsa_state *s, int32_t column);

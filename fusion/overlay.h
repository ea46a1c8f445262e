/* For tools/pipeline: shared memory for values of exclusive iterations (overlay). Arms of a
 * run-time case save values for the gradient in every iteration, but one arm runs:
 *
 *     a[t, i, j]: 3 x 5, computed if k[t] == 0  ->  a is within rows[t, 15]     (ir/store.h)
 *     b[t, i]: 9, computed if k[t] == 1             b is within rows[t, 15]
 *
 * An iteration writes its row of one tensor; readers of the other tensor's row never use it, as
 * they never use an unwritten one. */
#pragma once
#include "fusion/group.h"

/* Puts tensors of more than least_bytes at the largest sizes, which only segments of a recurrence
 * write under conditions of the iteration (neo_group.when), into common rows, large ones first.
 * Groups that make or read them get new forms and keys. */
void neo_grouping_overlay(neo_module *m, neo_arena *a, double least_bytes, neo_grouping *all);

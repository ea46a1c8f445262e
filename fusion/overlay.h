/* Values of iterations that exclude one another, in one memory. What arms of a run-time case save of each iteration for the
 * gradient is as large as all arms together, and one arm runs:
 *
 *     a[t, i, j]: 3 x 5, made where k[t] == 0; b[t, i]: 9, where k[t] == 1    a, b within rows[t, 15] (ir/store.h)
 *
 * An iteration writes its row of one of them, and whoever reads a row of the other does not take what is there, as it does
 * not where nothing has been written. */
#pragma once
#include "fusion/group.h"

/* Puts tensors of more than so many bytes at the largest sizes that segments of a recurrence write under conditions of the
 * iteration (neo_group.when), and no others make, into common rows, large ones first. The groups that make or read them get
 * forms and keys anew. */
void neo_grouping_overlay(neo_module *m, neo_arena *a, double least_bytes, neo_grouping *all);

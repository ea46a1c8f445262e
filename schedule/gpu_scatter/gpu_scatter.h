/* Segmented integer sums whose threads take terms:
 *
 *   Z[v, d] = sum[e where key[e] == v and ...] X[e, d]
 *
 * A thread takes one term after another and adds it to the row of its key, so the work is the
 * number of terms, not of terms by rows. One block of threads clears all rows and then adds the
 * terms by atomic additions. Integers have the same sum in any order, so results have the same bits
 * in every run; floats are refused. */
#pragma once
#include "schedule/segment/segment.h"

/* Is the group such a sum? */
bool neo_scatter_of(neo_module *m, const neo_group *g, neo_segment *out);

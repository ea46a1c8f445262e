/* Conditions that say by data where a reduction begins and ends become its range:
 *
 *     y[v] = sum[e: E] where begin[v] <= e and e < begin[v + 1]; x[e]
 *     ->  y[v] = sum[e: begin[v]..begin[v + 1]] x[e]
 *
 * Then a point costs what its range has, not E. One end alone stays a condition, as the length
 * of a padded row does: it leaves most of the range, and loops over all of it have lanes.
 * Private to transform. */
#pragma once
#include "ir/prove.h"

/* axis: of a reduction, n_axes, the first n_out of which are output axes. Puts the ranges in
 * there, and leaves in *where the rest of the condition; false: there are none. */
bool neo_take_data_ranges(neo_prover *p, neo_axis_rec *axis, uint32_t n_axes, uint32_t n_out,
                          neo_expr *where);

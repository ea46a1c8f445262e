/* Conditions that bound a reduction by data become its range (CSR rows):
 *
 *     y[v] = sum[e: E] where begin[v] <= e and e < begin[v + 1]; x[e]
 *     ->  y[v] = sum[e: begin[v]..begin[v + 1]] x[e]
 *
 * A point then costs its range, not E. A condition with one end, such as the length of a padded
 * row, stays: most of the range remains, and loops over all of it have lanes. Private to
 * transform. */
#pragma once
#include "ir/prove/prove.h"

/* Puts ranges into axis[0 .. n_axes), of which the first n_out are output axes; *where becomes the
 * rest of the condition. False: there are none. */
bool neo_take_data_ranges(neo_prover *p, neo_axis_rec *axis, uint32_t n_axes, uint32_t n_out,
                          neo_expr *where);

/* Random programs of reductions by keys: what a term's row is, data say.
 *
 *   y1[v, j] = argmax[e where key[e] == v and w[e] > 0] x[e, j]
 *   y2[e] = sum[v where begin[v] <= e and e < begin[v + 1]] q[v]
 *
 * Every reducer and element type, keys of each form (affine, several, of several axes, of
 * batches, out of range, negative, read where other data say), intervals, further conditions,
 * empty rows, sizes of 0 and 1, lanes and none, gradients, rounds of a scan. Sizes are declared
 * to be large, so that the model's choice is that of large tensors. */
#ifndef NEO_TESTS_PAIRS_KEYED_H
#define NEO_TESTS_PAIRS_KEYED_H
#include "tests/pairs/program.h"

pairs_drawer pairs_draw_keyed;

#endif

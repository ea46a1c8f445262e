/* Random programs of the language that a GPU's matrix units are for: each sum is of 192 steps or
 * more, for 64 rows or more by 64 columns or more, in a good share no multiples of anything.
 *
 *   neo_large g = neo_large_make(arena, NEO_LARGE_PRODUCT, seed);
 *   g.text                                  // a model that neoc takes; its head says the seed
 *
 * PRODUCT:   Y[n, i, j] = finish(sum[k] X[n, i, k] * W[n, k, j]): operands of bf16, f16 and f32 in
 *            every layout, perhaps a part of a larger tensor, with or without n, one sum over two
 *            axes, guarded or masked; operands that are computed on the way; bias, activation,
 *            residual, another type behind the sum; a product that follows, or the gradients
 * WINDOW:    convolutions, their gradients to image and filter, of any stride and edge
 * ATTENTION: softmax of products, multiplied, with masks that are causal, bands, or given; forward
 *            and backward: sums inside of sums
 *
 * Row counts, lengths of sums and of sequences may be run-time sizes. Same seed, same program. */
#ifndef NEO_TESTS_RANDOM_LARGE_H
#define NEO_TESTS_RANDOM_LARGE_H
#include "base/arena.h"
#include "ir/ir.h"

typedef enum { NEO_LARGE_PRODUCT, NEO_LARGE_WINDOW, NEO_LARGE_ATTENTION } neo_large_kind;

typedef struct {
  const char *text;
  neo_precision math, store; /* options that the program is to be compiled with */
  bool narrow;               /* inputs are rounded, to bf16 perhaps: see neo_large_element */
} neo_large;

neo_large neo_large_make(neo_arena *a, neo_large_kind kind, uint64_t seed);

/* The k-th element of a float input named so: any number of that type from -1 to 1. `narrow`: one
 * that bf16 has, too. The interpreter's bounds leave open which of its neighbours a number becomes
 * when it is rounded to bf16, and with all that open they would not notice much. */
double neo_large_element(uint64_t seed, const char *name, neo_type t, bool narrow, uint64_t k);

#endif

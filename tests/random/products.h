/* Random products of two tensors, and sums of products inside of sums, as texts of IR: large
 * enough, and of such types and layouts, that a GPU's kernels for them can be used. gen.h makes
 * programs of all kinds, which seldom are. Same seed, same text.
 *
 * neo_gen_product:   Y[n, b, j] = finish(sum[i] X[n, b, i] * W[n, j, i]), with or without n, the
 *                    dimensions in any order, perhaps a part of a larger tensor, b perhaps of a
 *                    run-time size; mostly what lies side by side is a multiple of 16 bytes
 * neo_gen_attention: S[h, i, j] = sum[d] Q[i, h, d] * K[j, h, d], Y[i, h, e] = sum[j] of a function
 *                    of S[h, i, j], masked, times V[j, h, e]; or two inner sums, as gradients have
 *
 * One entry, "forward". */
#ifndef NEO_TESTS_RANDOM_PRODUCTS_H
#define NEO_TESTS_RANDOM_PRODUCTS_H
#include "base/arena.h"
#include <stdint.h>

const char *neo_gen_product(neo_arena *a, uint64_t seed);
const char *neo_gen_attention(neo_arena *a, uint64_t seed);

#endif

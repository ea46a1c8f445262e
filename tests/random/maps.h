/* Random access maps: a definition that reads a tensor of rank up to 6 in the ways of a model, all
 * of them mixed, and nothing else that could hide a wrong gradient.
 *
 *   neo_gen_program g = neo_map_make(arena, seed);
 *   neo_interp *p = neo_map_interp(arena, g.m, g.sizes, seed);
 *
 * Forms: stride, dilation, padding guards, transposed windows, overlap, slices, concatenation by
 * select, reshapes (quotients and remainders, nested, by constants and run-time sizes), shuffles,
 * depth to space, diagonals, reversal, upsampling, reflected and clamped edges, triangular, banded
 * and data-dependent ranges, data-dependent conditions, lookups of lookups, several reads of one
 * tensor, definitions in pieces; reduced by sum, mean, max, min, prod.
 *
 * The program has one entry, "forward", with one output. Every read is in range for all values of
 * the run-time sizes. Same seed, same module. */
#ifndef NEO_TESTS_RANDOM_MAPS_H
#define NEO_TESTS_RANDOM_MAPS_H
#include "tests/random/gen.h"

typedef struct {
  neo_type type; /* of what is differentiated; f64 keeps everything exact */
  bool smooth;   /* sums and products only: second derivatives are exact, too */
} neo_map_options;

neo_gen_program neo_map_make(neo_arena *a, uint64_t seed, const neo_map_options *o);

/* An interpreter whose inputs are small integers, so that what is computed from them by the maps is
 * exact; where the module has a mean, inputs named "S..." are multiples of 720720. */
neo_interp *neo_map_interp(neo_arena *a, neo_module *m, const int64_t *sizes, uint64_t seed);

#endif

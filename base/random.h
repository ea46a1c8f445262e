/* Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011),
 * counter-based: the same (key, counter) gives the same numbers in the interpreter, the generated
 * code and every thread. */
#pragma once
#include <stdint.h>

/* Four random words of 32 bits for a key and a counter: out is a function of both alone. */
void neo_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* rand() of the language: uniform in [0, 1), a multiple of 2^-24, so exact in f32.
 * key = (seed low, seed high); counter = (element low, element high xor call << 8, step low, site);
 * element = row-major linear logical index; the first output word >> 8 is the number. */
double neo_rand_uniform(uint64_t seed, uint64_t step, uint32_t site, uint32_t call,
                        uint64_t element);

/* A plain sequential generator for tests and shuffles (SplitMix64). */
uint64_t neo_splitmix(uint64_t *state);

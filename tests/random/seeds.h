/* Which seeds a random test tries: its own, as many as effort.h says, or those that the environment
 * asks for. NEO_TEST_SEED is the first one, NEO_TEST_COUNT how many. */
#ifndef NEO_TESTS_RANDOM_SEEDS_H
#define NEO_TESTS_RANDOM_SEEDS_H
#include <stdbool.h>
#include <stdint.h>

typedef struct {
  uint64_t first, n, usual; /* usual: how many they are without sanitizers */
  bool given;               /* the environment names the first one */
} neo_seeds;

/* `first` and `n` unless the environment says otherwise. */
neo_seeds neo_seeds_of(uint64_t first, uint64_t n);
/* Prints each seed before it is tried if the environment named the first one, so that a crash shows
 * its seed. */
void neo_seeds_tell(const neo_seeds *s, uint64_t seed);

#endif

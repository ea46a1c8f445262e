/* See seeds.h. */
#include "tests/random/seeds.h"
#include "tests/effort.h"
#include <stdio.h>
#include <stdlib.h>

static uint64_t setting(const char *name, uint64_t otherwise) {
  const char *x = getenv(name);
  return x ? strtoull(x, NULL, 10) : otherwise;
}

neo_seeds neo_seeds_of(uint64_t first, uint64_t n) {
  return (neo_seeds){.first = setting("NEO_TEST_SEED", first),
                     .n = setting("NEO_TEST_COUNT", neo_test_count(n)),
                     .given = getenv("NEO_TEST_SEED") != NULL,
                     .usual = n};
}

void neo_seeds_tell(const neo_seeds *s, uint64_t seed) {
  if (s->given)
    fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
}

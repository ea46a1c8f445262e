/* Random choices of tests. */
#ifndef NEO_TESTS_PICK_H
#define NEO_TESTS_PICK_H
#include "base/random.h"

/* One of lo..hi, both included. */
static inline int64_t neo_pick(uint64_t *state, int64_t lo, int64_t hi) {
  return lo + (int64_t)(neo_splitmix(state) % (uint64_t)(hi - lo + 1));
}

#endif

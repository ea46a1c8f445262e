/* shuffle.c: an epoch's order of rows, from (seed, epoch) alone: Fisher-Yates (Durstenfeld, CACM
 * 7(7), 1964) on SplitMix64, each draw made unbiased by Lemire's multiplication with rejection (ACM
 * TOMACS 29(1), 2019). */
#include "runtime/shuffle.h"
#include "base/random.h"

__extension__ typedef unsigned __int128 wide;

/* Uniform in [0, n). */
static uint64_t below(uint64_t *state, uint64_t n) {
  wide m = (wide)neo_splitmix(state) * n;
  if ((uint64_t)m < n)
    for (uint64_t reject = (0 - n) % n; (uint64_t)m < reject;)
      m = (wide)neo_splitmix(state) * n;
  return (uint64_t)(m >> 64);
}

static uint64_t begin(uint64_t seed, uint64_t epoch) {
  uint64_t state = seed;
  state = neo_splitmix(&state) ^ epoch;
  return neo_splitmix(&state);
}

void neo_rti_draw(uint64_t seed, uint64_t epoch, int64_t below_this, int64_t n, int64_t *out) {
  uint64_t state = begin(seed, epoch);
  for (int64_t i = 0; i < n; i++)
    out[i] = (int64_t)below(&state, (uint64_t)below_this);
}

void neo_rt_shuffle(uint64_t seed, uint64_t epoch, int64_t n, int64_t *out) {
  uint64_t state = begin(seed, epoch);
  for (int64_t i = 0; i < n; i++) {
    int64_t j = (int64_t)below(&state, (uint64_t)i + 1);
    out[i] = out[j];
    out[j] = i;
  }
}

/* Random numbers: Philox from Random123's header, and SplitMix64. */
#include "base/random.h"

#include <Random123/philox.h>

void neo_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]) {
  philox4x32_ctr_t c = {{counter[0], counter[1], counter[2], counter[3]}};
  philox4x32_key_t k = {{key[0], key[1]}};
  philox4x32_ctr_t r = philox4x32_R(10, c, k);
  for (int i = 0; i < 4; i++)
    out[i] = r.v[i];
}

double neo_rand_uniform(uint64_t seed, uint64_t step, uint32_t site, uint32_t call,
                        uint64_t element) {
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  const uint32_t counter[4] = {(uint32_t)element, (uint32_t)(element >> 32) ^ call << 8,
                               (uint32_t)step, site};
  uint32_t out[4];
  neo_philox(key, counter, out);
  return (double)(out[0] >> 8) * 0x1p-24;
}

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
uint64_t neo_splitmix(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* Hashes: XXH3, compiled in (header only), so that nothing of xxHash is exported or linked. */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t neo_hash(const void *p, size_t size_bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(p, size_bytes, seed);
}

void neo_hash128(const void *p, size_t size_bytes, uint64_t out[2]) {
  XXH128_hash_t h = XXH3_128bits(p, size_bytes);
  out[0] = h.low64;
  out[1] = h.high64;
}

/* The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) over a combination of the two. */
uint64_t neo_hash_mix(uint64_t h, uint64_t x) {
  uint64_t z = (h << 5 | h >> 59) ^ (x + 0x9e3779b97f4a7c15u);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

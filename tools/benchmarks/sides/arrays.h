/* Arrays for the arguments of generated libraries' entries: floats of every type uniform in [-1,
 * 1), integers in their bounds, the same for the same seed. An element follows from its index and
 * the seed alone. */
#ifndef NEO_TOOLS_ARRAYS_H
#define NEO_TOOLS_ARRAYS_H
#include "tools/benchmarks/sides/bench.h"

/* 24 random bits: an integer hash (the finalizer of MurmurHash3) of the index, seeded twice. */
static inline uint32_t bench_random(uint32_t seed, uint32_t index) {
  uint32_t x = index * 0x9e3779b9u + seed * 0x85ebca6bu;
  x = (x ^ x >> 16) * 0x85ebca6bu;
  x = (x ^ x >> 13 ^ seed) * 0xc2b2ae35u;
  return (x ^ x >> 16) >> 8;
}

static inline uint32_t bench_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float bench_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* To the nearest, ties to even; for finite numbers. */
static inline uint16_t bench_to_bf16(float x) {
  uint32_t bits = bench_bits(x);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float bench_from_bf16(uint16_t x) {
  return bench_float((uint32_t)x << 16);
}

/* The number is below 1: further bits are cut off, and what is smaller than f16's normal ones is
 * 0. */
static inline uint16_t bench_to_f16(float x) {
  uint32_t bits = bench_bits(x), exponent = bits >> 23 & 255;
  if (exponent < 127 - 14)
    return 0;
  return (uint16_t)((bits >> 16 & 0x8000) | (exponent - 112) << 10 | (bits >> 13 & 0x3ff));
}

static inline float bench_from_f16(uint16_t x) {
  uint32_t exponent = x >> 10 & 31, sign = (uint32_t)(x & 0x8000) << 16;
  float small = (float)(x & 0x3ff) * 0x1p-24f;
  if (exponent == 0)
    return bench_float(sign | bench_bits(small));
  return bench_float(sign | (exponent == 31 ? 255 : exponent + 112) << 23 |
                     (uint32_t)(x & 0x3ff) << 13);
}

/* bound: of integers; 0: none is known, and they are 0 */
static inline void bench_fill(void *p, uint8_t type, int64_t n, int64_t bound, uint32_t seed) {
  for (int64_t i = 0; i < n; i++) {
    uint32_t r = bench_random(seed, (uint32_t)i);
    float x = (float)r / 8388608.0f - 1;
    int64_t k = bound > 0 ? (int64_t)r % bound : 0;
    switch (type) {
    case NEO_RT_F64:
      ((double *)p)[i] = (double)x;
      break;
    case NEO_RT_F32:
      ((float *)p)[i] = x;
      break;
    case NEO_RT_I64:
      ((int64_t *)p)[i] = k;
      break;
    case NEO_RT_I32:
      ((int32_t *)p)[i] = (int32_t)k;
      break;
    case NEO_RT_F16:
      ((uint16_t *)p)[i] = bench_to_f16(x);
      break;
    case NEO_RT_BF16:
      ((uint16_t *)p)[i] = bench_to_bf16(x);
      break;
    case NEO_RT_BOOL:
      ((uint8_t *)p)[i] = (uint8_t)(r & 1);
      break;
    default: /* i8, u8 */
      ((uint8_t *)p)[i] = (uint8_t)(bound > 0 ? k : (int64_t)(r & 127));
      break;
    }
  }
}

static inline size_t bench_type_bytes(uint8_t type) {
  switch (type) {
  case NEO_RT_F64:
  case NEO_RT_I64:
    return 8;
  case NEO_RT_F32:
  case NEO_RT_I32:
    return 4;
  case NEO_RT_F16:
  case NEO_RT_BF16:
    return 2;
  default:
    return 1;
  }
}

static inline void *bench_memory(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (!p)
    bench_die("memory", "out of memory");
  return p;
}

/* Ends of an integer tensor's elements, which each index moves (neo_rt_tensor.ends). */
typedef struct {
  int64_t least, below, by_least[16], by_below[16], extent[16];
} bench_ends;

static inline int64_t bench_end(const neo_rt_model *m, int32_t program, const int64_t *sizes,
                                int64_t otherwise) {
  return program >= 0 ? neo_rt_eval(m, program, sizes) : otherwise;
}

static inline bench_ends bench_ends_of(const neo_rt_model *m, const neo_rt_tensor *t,
                                       const int64_t *sizes) {
  const int32_t *row = m->extents + t->ends - 1;
  bench_ends e = {.least = bench_end(m, row[0], sizes, INT32_MIN),
                  .below = bench_end(m, row[1], sizes, INT32_MAX)};
  for (int d = 0; d < t->rank; d++) {
    e.extent[d] = neo_rt_eval(m, m->extents[t->extent + d], sizes);
    e.by_least[d] = bench_end(m, row[2 + d], sizes, 0);
    e.by_below[d] = bench_end(m, row[2 + t->rank + d], sizes, 0);
  }
  return e;
}

/* Integers between ends; i64 or i32. */
static inline void bench_fill_between(void *p, const neo_rt_tensor *t, int64_t n,
                                      const bench_ends *e, uint32_t seed) {
  for (int64_t i = 0; i < n; i++) {
    int64_t least = e->least, below = e->below, rest = i;
    for (int d = t->rank; d-- > 0; rest /= e->extent[d]) {
      least += e->by_least[d] * (rest % e->extent[d]);
      below += e->by_below[d] * (rest % e->extent[d]);
    }
    int64_t k = below > least ? least + bench_random(seed, (uint32_t)i) % (below - least) : least;
    if (t->type == NEO_RT_I64)
      ((int64_t *)p)[i] = k;
    else
      ((int32_t *)p)[i] = (int32_t)k;
  }
}

static inline void *bench_array(const neo_rt_model *m, const neo_rt_tensor *t, const int64_t *sizes,
                                unsigned seed) {
  int64_t n = 1, bound = 0;
  for (int k = 0; k < t->rank; k++)
    n *= neo_rt_eval(m, m->extents[t->extent + k], sizes);
  if (t->bound >= 0)
    bound = neo_rt_eval(m, t->bound, sizes);
  void *p = bench_memory((size_t)n * bench_type_bytes(t->type));
  if (t->ends && (t->type == NEO_RT_I64 || t->type == NEO_RT_I32)) {
    bench_ends e = bench_ends_of(m, t, sizes);
    bench_fill_between(p, t, n, &e, seed);
  } else {
    bench_fill(p, t->type, n, bound, seed);
  }
  return p;
}

#endif

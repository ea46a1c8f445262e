/* Arrays for the arguments of generated libraries' entries: floats uniform in [-1, 1), integers in
 * their bounds, the same for the same seed. */
#ifndef NEO_TOOLS_ARRAYS_H
#define NEO_TOOLS_ARRAYS_H
#include "tools/benchmarks/bench.h"

static inline unsigned bench_random(unsigned *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

static inline void bench_fill(void *p, uint8_t type, int64_t n, int64_t bound, unsigned seed) {
  for (int64_t i = 0; i < n; i++) {
    unsigned r = bench_random(&seed);
    double x = (double)r / 8388608.0 - 1;
    int64_t k = bound > 0 ? (int64_t)r % bound : 0;
    switch (type) {
    case NEO_RT_F64:
      ((double *)p)[i] = x;
      break;
    case NEO_RT_F32:
      ((float *)p)[i] = (float)x;
      break;
    case NEO_RT_I64:
      ((int64_t *)p)[i] = k;
      break;
    case NEO_RT_I32:
      ((int32_t *)p)[i] = (int32_t)k;
      break;
    case NEO_RT_F16:
    case NEO_RT_BF16:
      ((uint16_t *)p)[i] = 0;
      break;
    default:
      ((uint8_t *)p)[i] = (uint8_t)(k & 1);
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

static inline void *bench_array(const neo_rt_model *m, const neo_rt_tensor *t, const int64_t *sizes,
                                unsigned seed) {
  int64_t n = 1, bound = 0;
  for (int k = 0; k < t->rank; k++)
    n *= neo_rt_eval(m, m->extents[t->extent + k], sizes);
  if (t->bound >= 0)
    bound = neo_rt_eval(m, t->bound, sizes);
  void *p = aligned_alloc(64, ((size_t)n * bench_type_bytes(t->type) + 64) / 64 * 64);
  if (!p)
    bench_die("memory", "out of memory");
  bench_fill(p, t->type, n, bound, seed);
  return p;
}

#endif

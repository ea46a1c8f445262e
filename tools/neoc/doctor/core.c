/* A core's clock and its multiply-adds, by loops of instructions: a chain of additions takes a
 * cycle each; many chains of multiply-adds tell how many are begun a cycle, one chain how long one
 * takes. */
#include "base/clock.h"
#include "tools/neoc/doctor/measure.h"
#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { STEPS = 20000, CHAINS = 12, TRIES = 200 };

static void add_up(void) {
  long x = 0;
  for (int k = 0; k < STEPS; k++)
    for (int i = 0; i < 8; i++) {
      x += 1;
      __asm__ volatile("" : "+r"(x));
    }
}

/* FMA(acc) is one multiply-add of a vector. */
#define STEP(FMA, a) \
  a = FMA(a);        \
  __asm__ volatile("" : "+" REGISTER(a));
#define TWELVE(X, FMA) \
  X(FMA, a0)           \
  X(FMA, a1)           \
  X(FMA, a2)           \
  X(FMA, a3)           \
  X(FMA, a4)           \
  X(FMA, a5)           \
  X(FMA, a6)           \
  X(FMA, a7)           \
  X(FMA, a8)           \
  X(FMA, a9)           \
  X(FMA, a10)          \
  X(FMA, a11)
#define ALWAYS_FIRST(FMA, a) STEP(FMA, a0)
#define CHAINS_OF(name, type, attribute, zero, FMA)                                         \
  attribute static void name##_many(void) {                                                 \
    type a0 = zero, a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0, a8 = a0, \
         a9 = a0, a10 = a0, a11 = a0;                                                       \
    for (int k = 0; k < STEPS; k++) {                                                       \
      TWELVE(STEP, FMA)                                                                     \
    }                                                                                       \
  }                                                                                         \
  attribute static void name##_one(void) {                                                  \
    type a0 = zero;                                                                         \
    for (int k = 0; k < STEPS; k++) {                                                       \
      TWELVE(ALWAYS_FIRST, FMA)                                                             \
    }                                                                                       \
  }

#if defined(__x86_64__)
#define REGISTER(x) "x"(x)
#define FMA32(a) _mm256_fmadd_ps(a, a, a)
CHAINS_OF(avx2, __m256, __attribute__((target("avx2,fma"))), _mm256_setzero_ps(), FMA32)
#undef REGISTER
#define REGISTER(x) "v"(x)
#define FMA64(a) _mm512_fmadd_ps(a, a, a)
CHAINS_OF(avx512, __m512, __attribute__((target("avx512f"))), _mm512_setzero_ps(), FMA64)
#elif defined(__aarch64__)
#define REGISTER(x) "w"(x)
#define FMA16(a) vfmaq_f32(a, a, a)
CHAINS_OF(neon, float32x4_t, , vdupq_n_f32(0), FMA16)
#endif

/* The best of many runs. */
static double seconds_of(void (*f)(void)) {
  double best = 1e30;
  for (int k = 0; k < TRIES; k++) {
    double t = neo_clock_s(CLOCK_THREAD_CPUTIME_ID);
    f();
    t = neo_clock_s(CLOCK_THREAD_CPUTIME_ID) - t;
    best = t < best ? t : best;
  }
  return best;
}

static double half(double x) {
  return round(2 * x) / 2;
}

static void take_units(neo_machine *m, double bytes, void (*many)(void), void (*one)(void)) {
  double cycles = m->hz / ((double)STEPS * CHAINS);
  double units = fmax(0.5, half(1 / (seconds_of(many) * cycles)));
  if (bytes * units > 1.05 * m->core.unit_bytes * m->core.units || m->core.units <= 0) {
    m->core.units = units;
    m->core.unit_bytes = bytes;
  }
  m->core.latency = fmax(1, round(seconds_of(one) * cycles));
}

void neoc_measure_core(neo_machine *m) {
  m->hz = round((double)STEPS * 8 / seconds_of(add_up) / 1e7) * 1e7;
#if defined(__x86_64__)
  if (m->isa == NEO_ISA_SSE4)
    return;
  m->core.units = 0;
  take_units(m, 32, avx2_many, avx2_one);
  if (m->isa == NEO_ISA_AVX512)
    take_units(m, 64, avx512_many, avx512_one);
#elif defined(__aarch64__)
  m->core.units = 0;
  take_units(m, 16, neon_many, neon_one);
#endif
}

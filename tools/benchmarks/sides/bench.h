/* Code that the benchmarks in C share: a clock, calibration, alternation, medians, our
 * libraries. */
#ifndef NEO_TOOLS_BENCH_H
#define NEO_TOOLS_BENCH_H
#include <dlfcn.h>
#include <neo/neo_rt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double bench_now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static inline void bench_die(const char *what, const char *why) {
  fprintf(stderr, "bench: %s: %s\n", what, why);
  exit(3);
}

typedef void bench_fn(void *ctx);

/* Microseconds of a call, over `calls` of them. */
static inline double bench_time_us(bench_fn *f, void *ctx, int calls) {
  double start = bench_now_us();
  for (int k = 0; k < calls; k++)
    f(ctx);
  return (bench_now_us() - start) / calls;
}

/* As many calls as make 5 ms, so that the clock does not count. */
static inline int bench_calibrate(bench_fn *f, void *ctx) {
  int calls = 1;
  f(ctx);
  while (bench_time_us(f, ctx, calls) * calls < 5000 && calls < 1 << 20)
    calls *= 2;
  return calls;
}

static inline int bench_less(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static inline double bench_median(double *t, int n) {
  qsort(t, (size_t)n, sizeof *t, bench_less);
  return n % 2 ? t[n / 2] : (t[n / 2 - 1] + t[n / 2]) / 2;
}

/* Medians of both, alternating. */
static inline void bench_compare(bench_fn *f, void *f_ctx, bench_fn *g, void *g_ctx, int rounds,
                                 double *f_us, double *g_us) {
  double *x = (double *)calloc((size_t)rounds, sizeof *x); /* casts: C++ includes this, too */
  double *y = (double *)calloc((size_t)rounds, sizeof *y);
  if (!x || !y)
    bench_die("memory", "out of memory");
  int f_calls = bench_calibrate(f, f_ctx), g_calls = bench_calibrate(g, g_ctx);
  for (int r = 0; r < rounds; r++) {
    x[r] = bench_time_us(f, f_ctx, f_calls);
    y[r] = bench_time_us(g, g_ctx, g_calls);
  }
  *f_us = bench_median(x, rounds);
  *g_us = bench_median(y, rounds);
  free(x);
  free(y);
}

/* n floats in [-1, 1), 64-byte aligned. */
static inline float *bench_numbers(size_t n, unsigned seed) {
  float *x = (float *)aligned_alloc(64, (n * sizeof *x + 63) / 64 * 64);
  if (!x)
    bench_die("memory", "out of memory");
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(seed >> 8) / 8388608.0f - 1;
  }
  return x;
}

static inline neo_rt_ctx *bench_open(const char *path, const char *prefix, int threads,
                                     const neo_rt_model **model) {
  char symbol[256];
  neo_rt_ctx *ctx;
  void *lib = dlopen(path, RTLD_NOW);
  if (!lib)
    bench_die(path, dlerror());
  snprintf(symbol, sizeof symbol, "%s_model", prefix);
  *model = (const neo_rt_model *)dlsym(lib, symbol);
  if (!*model)
    bench_die(symbol, "not in the library");
  neo_rt_config config = {.struct_size = sizeof config, .threads = threads, .seed = 1};
  if (neo_rt_create(*model, &config, &ctx))
    bench_die("create", ctx ? neo_rt_error(ctx) : path);
  return ctx;
}

#endif

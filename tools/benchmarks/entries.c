/* Times entries of generated libraries against each other, alternating in one run after a
 * calibration loop.
 *
 *   entries THREADS ROUNDS LIB:PREFIX:ENTRY ...
 *
 * Run-time sizes are the largest ones; floats are uniform in [-1, 1), integers in their bounds.
 * Prints a row for each: LIB:PREFIX:ENTRY, median microseconds of a call, fastest round. */
#define _GNU_SOURCE
#include "tools/benchmarks/bench.h"

enum { MAX_ENTRIES = 256, MAX_ARGS = 64, MAX_SIZES = 32 };

typedef struct {
  const char *name;
  neo_rt_ctx *ctx;
  int32_t entry;
  int64_t size[MAX_SIZES];
  void *arg[MAX_ARGS];
  int calls;
  double *time_us;
} bench;

static unsigned next_random(unsigned *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

static void fill(void *p, uint8_t type, int64_t n, int64_t bound, unsigned seed) {
  for (int64_t i = 0; i < n; i++) {
    unsigned r = next_random(&seed);
    double x = (double)r / 8388608.0 - 1;
    int64_t k = bound > 0 ? (int64_t)r % bound : 0;
    switch (type) {
    case NEO_RT_F64: ((double *)p)[i] = x; break;
    case NEO_RT_F32: ((float *)p)[i] = (float)x; break;
    case NEO_RT_I64: ((int64_t *)p)[i] = k; break;
    case NEO_RT_I32: ((int32_t *)p)[i] = (int32_t)k; break;
    case NEO_RT_F16:
    case NEO_RT_BF16: ((uint16_t *)p)[i] = 0; break;
    default: ((uint8_t *)p)[i] = (uint8_t)(k & 1); break;
    }
  }
}

static size_t type_bytes(uint8_t type) {
  switch (type) {
  case NEO_RT_F64:
  case NEO_RT_I64: return 8;
  case NEO_RT_F32:
  case NEO_RT_I32: return 4;
  case NEO_RT_F16:
  case NEO_RT_BF16: return 2;
  default: return 1;
  }
}

static void *array_for(const neo_rt_model *m, const neo_rt_tensor *t, const int64_t *sizes,
                       unsigned seed) {
  int64_t n = 1, bound = 0;
  for (int k = 0; k < t->rank; k++)
    n *= neo_rt_eval(m, m->extents[t->extent + k], sizes);
  if (t->bound >= 0)
    bound = neo_rt_eval(m, t->bound, sizes);
  void *p = aligned_alloc(64, ((size_t)n * type_bytes(t->type) + 64) / 64 * 64);
  if (!p)
    bench_die("memory", "out of memory");
  fill(p, t->type, n, bound, seed);
  return p;
}

static void open_entry(bench *b, const char *spec, int threads) {
  char *copy = strdup(spec);
  char *prefix = strchr(copy, ':'), *entry = prefix ? strchr(prefix + 1, ':') : NULL;
  if (!entry)
    bench_die(spec, "is not LIB:PREFIX:ENTRY");
  *prefix++ = *entry++ = 0;
  const neo_rt_model *m;
  b->ctx = bench_open(copy, prefix, threads, &m);
  b->name = spec;
  b->entry = neo_rt_find_entry(m, entry);
  if (b->entry < 0)
    bench_die(spec, "has no such entry");
  const neo_rt_entry *e = &m->entries[b->entry];
  int64_t most[MAX_SIZES];
  if (m->n_sizes > MAX_SIZES || e->n_args > MAX_ARGS)
    bench_die(spec, "has too many sizes or arguments");
  for (int k = 0; k < m->n_sizes; k++)
    most[k] = m->sizes[k].hi;
  for (int k = 0; k < e->n_sizes; k++)
    b->size[k] = most[m->entry_sizes[e->sizes + k]];
  for (int k = 0; k < e->n_args; k++)
    b->arg[k] = array_for(m, &m->tensors[m->entry_args[e->args + k]], most, (unsigned)k + 1);
  free(copy);
}

static void call(void *ctx) {
  bench *b = ctx;
  if (neo_rt_call(b->ctx, b->entry, b->size, b->arg))
    bench_die(b->name, neo_rt_error(b->ctx));
}

int main(int argc, char **argv) {
  static bench all[MAX_ENTRIES];
  int n = argc - 3, rounds = argc > 2 ? atoi(argv[2]) : 0;
  if (n < 1 || n > MAX_ENTRIES || rounds < 1)
    bench_die("usage", "entries THREADS ROUNDS LIB:PREFIX:ENTRY ...");
  for (int k = 0; k < n; k++) {
    open_entry(&all[k], argv[k + 3], atoi(argv[1]));
    all[k].time_us = calloc((size_t)rounds, sizeof(double));
    all[k].calls = bench_calibrate(call, &all[k]);
  }
  for (int r = 0; r < rounds; r++)
    for (int k = 0; k < n; k++)
      all[k].time_us[r] = bench_time_us(call, &all[k], all[k].calls);
  for (int k = 0; k < n; k++) {
    double *t = all[k].time_us;
    double median = bench_median(t, rounds);
    printf("%s %.2f %.2f\n", all[k].name, median, t[0]);
    neo_rt_destroy(all[k].ctx);
  }
  return 0;
}

/* Times entries of generated libraries against each other, alternating in one run after a
 * calibration loop.
 *
 *   entries THREADS ROUNDS LIB:PREFIX:ENTRY ...
 *
 * Run-time sizes are the largest ones; floats are uniform in [-1, 1), integers in their bounds.
 * Prints a row for each: LIB:PREFIX:ENTRY, median microseconds of a call, fastest round, MiB of
 * memory that the first call touched. */
#define _GNU_SOURCE
#include "tools/benchmarks/sides/arrays.h"
#include <unistd.h>

enum { MAX_ENTRIES = 256, MAX_ARGS = 64, MAX_SIZES = 32 };

typedef struct {
  const char *name;
  neo_rt_ctx *ctx;
  int32_t entry;
  int64_t size[MAX_SIZES];
  void *arg[MAX_ARGS];
  int calls;
  double *time_us, touched;
} bench;

/* MiB of this process that are in memory. */
static double resident(void) {
  FILE *f = fopen("/proc/self/statm", "r");
  long all, pages = 0;
  if (!f || fscanf(f, "%ld %ld", &all, &pages) != 2)
    bench_die("/proc/self/statm", "cannot be read");
  fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
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
    b->arg[k] = bench_array(m, &m->tensors[m->entry_args[e->args + k]], most, (unsigned)k + 1);
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
    double before = resident();
    call(&all[k]);
    all[k].touched = resident() - before;
    all[k].calls = bench_calibrate(call, &all[k]);
  }
  for (int r = 0; r < rounds; r++)
    for (int k = 0; k < n; k++)
      all[k].time_us[r] = bench_time_us(call, &all[k], all[k].calls);
  for (int k = 0; k < n; k++) {
    double *t = all[k].time_us;
    double median = bench_median(t, rounds);
    printf("%s %.2f %.2f %.4f\n", all[k].name, median, t[0], all[k].touched);
    neo_rt_destroy(all[k].ctx);
  }
  return 0;
}

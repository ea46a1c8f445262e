/* The bandwidth of memory, as a side of a comparison (serve.h): a call moves 256 MiB.
 *
 *   bandwidth copy|triad THREADS
 *
 * copy: c = a by memcpy, which streams; triad: c = a + 3 b in a plain loop. Bytes are those that
 * the program names: lines that a store fetches first are not counted. */
#define _GNU_SOURCE
#include "tools/benchmarks/sides/serve.h"
#include <pthread.h>

enum { MAX_THREADS = 256 };
#define BYTES (256l << 20)

typedef struct {
  float *a, *b, *c;
  size_t n;
  bool copy;
} slice;

typedef struct {
  slice slices[MAX_THREADS];
  int threads;
} work;

static void *move(void *ctx) {
  slice *s = ctx;
  if (s->copy)
    memcpy(s->c, s->a, s->n * sizeof(float));
  else
    for (size_t i = 0; i < s->n; i++)
      s->c[i] = s->a[i] + 3 * s->b[i];
  return NULL;
}

static void run(void *ctx) {
  work *w = ctx;
  pthread_t thread[MAX_THREADS];
  for (int k = 1; k < w->threads; k++)
    if (pthread_create(&thread[k], NULL, move, &w->slices[k]))
      bench_die("threads", "cannot be created");
  move(&w->slices[0]);
  for (int k = 1; k < w->threads; k++)
    pthread_join(thread[k], NULL);
}

int main(int argc, char **argv) {
  static work w;
  char about[64];
  w.threads = argc == 3 ? atoi(argv[2]) : 0;
  if (w.threads < 1 || w.threads > MAX_THREADS)
    bench_die("usage", "bandwidth copy|triad THREADS");
  bool copy = !strcmp(argv[1], "copy");
  size_t n = (size_t)BYTES / sizeof(float) / (copy ? 2 : 3) / (size_t)w.threads;
  for (int k = 0; k < w.threads; k++)
    w.slices[k] = (slice){.a = bench_numbers(n, 1),
                          .b = bench_numbers(n, 2),
                          .c = bench_numbers(n, 3),
                          .n = n,
                          .copy = copy};
  run(&w);
  snprintf(about, sizeof about, "{\"bytes\": %ld}", BYTES);
  serve(run, &w, about);
  return 0;
}

/* A side of a comparison as a process of its own: tools/benchmarks/measure/process.py starts it,
 * stops it while another side runs, and talks to it over its standard input and output, a line
 * each:
 *
 *   (start)    ready {JSON}              or: missing WHY
 *   run N      us WALL CPU               microseconds of N calls together
 *   memory     kb N                      the most memory that the process has had (VmHWM)
 *
 * Where N > 1, a call that is not counted comes first: the others have had the caches. */
#ifndef NEO_TOOLS_SERVE_H
#define NEO_TOOLS_SERVE_H
#include "tools/benchmarks/sides/bench.h"

static inline void serve_missing(const char *why) {
  printf("missing %s\n", why);
  exit(0);
}

static inline double serve_cpu_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static inline long serve_memory_kb(void) {
  char text[256];
  long kb = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(text, sizeof text, f))
    if (sscanf(text, "VmHWM: %ld", &kb) == 1)
      break;
  if (f)
    fclose(f);
  return kb;
}

static inline void serve_run(bench_fn *f, void *ctx, int calls) {
  if (calls > 1)
    f(ctx);
  double wall = bench_now_us(), cpu = serve_cpu_us();
  for (int k = 0; k < calls; k++)
    f(ctx);
  printf("us %.3f %.3f\n", bench_now_us() - wall, serve_cpu_us() - cpu);
}

/* Answers until the input ends. `about`: JSON. */
static inline void serve(bench_fn *f, void *ctx, const char *about) {
  char command[256];
  printf("ready %s\n", about);
  fflush(stdout);
  while (fgets(command, sizeof command, stdin)) {
    int calls;
    if (sscanf(command, "run %d", &calls) == 1)
      serve_run(f, ctx, calls);
    else
      printf("kb %ld\n", serve_memory_kb());
    fflush(stdout);
  }
}

#endif

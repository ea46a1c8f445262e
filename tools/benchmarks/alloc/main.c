/* neo-alloc: plans instances of dynamic storage allocation and prints how good the plans are, with
 * what an independent check says of each. `tools/bench alloc` calls it. */
#include "base/str.h"
#include "tools/benchmarks/alloc/read.h"
#include "tools/benchmarks/alloc/valid.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GOOD, INVALID, USAGE, IO = 3 };

typedef struct {
  double seconds;
  double worst;
} total;

static int usage(FILE *to) {
  fputs(
      "usage: neo-alloc [--nodes=N] FILE.csv...\n"
      "Offsets for buffers with lifetimes, so that the peak is smallest. FILE.csv has columns id,\n"
      "lower, upper (life: lower <= t < upper), size and, if wanted, alignment, offset (given).\n"
      "  --nodes=N  budget of the search; 0: greedy plans only\n",
      to);
  return to == stderr ? USAGE : GOOD;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *fault_text(neo_arena *a, neo_dsa_verdict v) {
  switch (v.fault) {
  case NEO_DSA_VALID:
    return "valid";
  case NEO_DSA_OVERLAP:
    return neo_arena_printf(a, "INVALID: buffers %zu and %zu overlap", v.a + 1, v.b + 1);
  case NEO_DSA_NEGATIVE:
    return neo_arena_printf(a, "INVALID: buffer %zu begins before the memory", v.a + 1);
  case NEO_DSA_MISALIGNED:
    return neo_arena_printf(a, "INVALID: buffer %zu is misaligned", v.a + 1);
  default:
    return neo_arena_printf(a, "INVALID: buffer %zu is not at its offset", v.a + 1);
  }
}

static int plan_file(neo_arena *a, const char *path, int64_t nodes, total *t) {
  alloc_items items = {0};
  const char *slash = strrchr(path, '/'), *error = alloc_read(a, path, &items);
  if (error) {
    fprintf(stderr, "neo-alloc: %s\n", error);
    return IO;
  }
  double start = now();
  neo_dsa_result r = neo_dsa_plan(items.at, items.n, nodes, a);
  double seconds = now() - start;
  double ratio = r.bound_bytes ? (double)r.peak_bytes / (double)r.bound_bytes : 1;
  neo_dsa_verdict v = neo_dsa_valid(items.at, items.n, a);
  printf("%-20s %8zu %14lld %14lld %9.5f %9lld %8.3f  %-8s %s\n", slash ? slash + 1 : path, items.n,
         (long long)r.bound_bytes, (long long)r.peak_bytes, ratio, (long long)r.nodes, seconds,
         r.optimal ? "optimal" : "-", fault_text(a, v));
  t->seconds += seconds;
  t->worst = ratio > t->worst ? ratio : t->worst;
  return v.fault ? INVALID : GOOD;
}

static int plan_files(char **paths, int n, int64_t nodes) {
  int code = GOOD;
  total t = {0, 0};
  printf("%-20s %8s %14s %14s %9s %9s %8s  %-8s %s\n", "instance", "buffers", "max live", "peak",
         "ratio", "nodes", "seconds", "peak is", "plan is");
  for (int k = 0; k < n; k++) {
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    int now_code = plan_file(&a, paths[k], nodes, &t);
    code = now_code > code ? now_code : code;
    neo_arena_free(&a);
  }
  printf("%d instances in %.3f s, largest ratio %.5f\n", n, t.seconds, t.worst);
  return code;
}

int main(int argc, char **argv) {
  int64_t nodes = NEO_DSA_BENCH_NODES;
  int k = 1;
  for (; k < argc && argv[k][0] == '-'; k++) {
    char *end = argv[k];
    if (neo_streq(argv[k], "--help"))
      return usage(stdout);
    if (!strncmp(argv[k], "--nodes=", 8))
      nodes = strtoll(argv[k] + 8, &end, 10);
    if (end <= argv[k] + 8 || *end || nodes < 0)
      return usage(stderr);
  }
  return k < argc ? plan_files(argv + k, argc - k, nodes) : usage(stderr);
}

/* benchmarks NAME [ARGUMENTS]; tools/bench calls it. */
#include "tools/benchmarks/bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double x[BENCH_ROUNDS]) {
  qsort(x, BENCH_ROUNDS, sizeof *x, compare);
  return x[BENCH_ROUNDS / 2];
}

int main(int n, char **args) {
  if (n > 1 && strcmp(args[1], "gemm") == 0)
    return bench_gemm(n - 2, args + 2);
  fprintf(stderr, "usage: benchmarks gemm [N ...]\n");
  return 2;
}

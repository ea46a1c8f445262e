/* Time. One thread is measured by its own processor time: what other processes take of a shared machine is not in it. */
#include "tools/measure/measure.h"
#include <stdlib.h>
#include <time.h>

static double read_clock(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double measure_now_ns(const measure_job *j) {
  return read_clock(j->threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
}

double measure_wall_ns(void) {
  return read_clock(CLOCK_MONOTONIC);
}

/* A chain of dependent multiply-adds: nothing but the processor's own speed is in it. */
static double arithmetic(int n) {
  double x = 1;
  for (int k = 0; k < n; k++)
    x = x * 0.999999 + 1e-9;
  return x;
}

double measure_calibrate(const measure_job *j) {
  double least = 0;
  for (int k = 0; k < 5; k++) {
    double begun = measure_now_ns(j);
    volatile double kept = arithmetic(20000);
    (void)kept;
    double t = measure_now_ns(j) - begun;
    if (k == 0 || t < least)
      least = t;
  }
  return least;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double measure_median(double *x, int n) {
  qsort(x, (size_t)n, sizeof *x, compare);
  return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Clocks. A single thread is measured by its own processor time, which leaves out other processes
 * of a shared machine. */
#include "base/clock.h"
#include "tools/measure/measure.h"
#include <stdlib.h>

static double read_clock(clockid_t id) {
  return 1e9 * neo_clock_s(id);
}

double measure_now_ns(const measure_job *j) {
  return read_clock(j->threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
}

double measure_wall_ns(void) {
  return read_clock(CLOCK_MONOTONIC);
}

/* The calibration loop: independent multiply-adds, as many at a time as registers allow, like a
 * kernel without memory accesses. Another thread of the core slows it as it slows a kernel. */
static float arithmetic(int n) {
  enum { WIDE = 32 };
  float x[WIDE], y = 0;
  for (int k = 0; k < WIDE; k++)
    x[k] = (float)k;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < WIDE; k++)
      x[k] = x[k] * 0.999f + 0.001f;
  for (int k = 0; k < WIDE; k++)
    y += x[k];
  return y;
}

double measure_calibrate(const measure_job *j, int times) {
  double begun = measure_now_ns(j);
  volatile float result = arithmetic(1000 * times);
  (void)result;
  return (measure_now_ns(j) - begun) / times;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double measure_median(double *x, int n) {
  qsort(x, (size_t)n, sizeof *x, compare);
  return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

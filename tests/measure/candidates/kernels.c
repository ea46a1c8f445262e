/* Kernels, good and bad, that the tests of the measurer compile and run. All but a few compute
 * Y[i] = 2*X[i] + 1, i < 4096, in 16 units of 256, after they have done something bad. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct { /* neo_rt_args */
  void *const *buf;
  const int64_t *size;
  const uint64_t *key;
  int64_t lo, hi;
  void *scratch;
} args;

static volatile long sink;

int good(const args *a) {
  const float *x = a->buf[0];
  float *y = a->buf[1];
  for (int64_t i = a->lo * 256; i < a->hi * 256; i++)
    y[i] = 2 * x[i] + 1;
  return 0;
}

static float *result(const args *a) {
  return a->buf[1];
}

static void spin(void) {
  for (;;)
    sink++;
}

int slow(const args *a) {
  for (long k = 0; k < (a->hi - a->lo) * 20000; k++)
    sink += k;
  return good(a);
}

/* Slower than good by more than the scheduler of a busy machine can add to a sample of good. */
int slower(const args *a) {
  for (long k = 0; k < (a->hi - a->lo) * 400000; k++)
    sink += k;
  return good(a);
}

/* Fails unless the integers that it reads are 0, 1, 2, ... */
int in_order(const args *a) {
  const int32_t *x = a->buf[0];
  for (int k = 0; k < 4096; k++)
    if (x[k] != k)
      return 1;
  for (int64_t i = a->lo * 256; i < a->hi * 256; i++)
    result(a)[i] = 1;
  return 0;
}

/* Adds to what is there, if that is X. */
int adds(const args *a) {
  const float *x = a->buf[0];
  for (int64_t i = a->lo * 256; i < a->hi * 256; i++)
    result(a)[i] += x[i];
  return 0;
}

/* ---- nine kinds of bad ones */

int crash(const args *a) {
  *(volatile int *)16 = 1;
  return good(a);
}

int illegal(const args *a) {
  __builtin_trap();
  return good(a);
}

int endless(const args *a) {
  spin();
  return good(a);
}

int huge(const args *a) {
  for (;;) {
    volatile char *p = malloc(64 << 20);
    for (long k = 0; k < 64 << 20; k += 4096)
      p[k] = 1;
  }
  return good(a);
}

int storm(const args *a) {
  for (int k = 0; k < 24; k++)
    if (fork() == 0)
      spin();
  return good(a);
}

int flood(const args *a) {
  for (;;) {
    printf("%s", "nonsense\n");
    fflush(stdout);
  }
  return good(a);
}

int leak(const args *a) {
  if (open("/dev/null", O_RDONLY) + dup(1) < 0)
    sink++;
  return good(a);
}

int nan_(const args *a) {
  good(a);
  if (a->lo == 0)
    result(a)[77] = NAN;
  return 0;
}

int wrong(const args *a) {
  good(a);
  result(a)[a->lo * 256] += 0.001f;
  return 0;
}

/* ---- others */

int rounded(const args *a) { /* as another order of adding */
  good(a);
  result(a)[a->lo * 256] *= 1.000001f;
  return 0;
}

int nothing(const args *a) {
  (void)a;
  return 0;
}

int refuses(const args *a) {
  (void)a;
  return 1;
}

int fickle(const args *a) {
  static int n;
  good(a);
  result(a)[9] += (float)(n++ > 20);
  return 0;
}

int reader(const args *a) {
  ((float *)a->buf[0])[3] = 1;
  return good(a);
}

int beyond(const args *a) {
  result(a)[4096] = 1;
  return good(a);
}

int signals(const args *a) {
  kill(getppid(), SIGKILL);
  return good(a);
}

int leaves(const args *a) { /* its process group, and its session */
  setsid();
  if (fork() == 0) {
    setsid();
    spin();
  }
  return good(a);
}

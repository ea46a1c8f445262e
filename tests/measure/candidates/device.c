/* Kernels for an emulated GPU, good and bad: all but a few compute Y[i] = 2*X[i] + 1, a thread for
 * each of 4,096 elements, in blocks of 128. Parameters: X, Y, seed, step, call, units. */
#include <stdint.h>
#include <stdlib.h>

unsigned neo_gpu_place(unsigned what);
enum { BLOCK, BLOCK_SIZE, THREAD };

static int64_t number(void) {
  return (int64_t)neo_gpu_place(BLOCK) * neo_gpu_place(BLOCK_SIZE) + neo_gpu_place(THREAD);
}

static float *buffer(void **p, int k) {
  return *(float **)p[k];
}

void good(void **p) {
  int64_t i = number();
  if (i < *(int64_t *)p[5])
    buffer(p, 1)[i] = 2 * buffer(p, 0)[i] + 1;
}

void slow(void **p) {
  static volatile int sink;
  for (int k = 0; k < 4000; k++)
    sink += k;
  good(p);
}

void crash(void **p) {
  *(volatile int *)16 = 1;
  good(p);
}

void endless(void **p) {
  static volatile int sink;
  for (;;)
    sink++;
  good(p);
}

void wrong(void **p) {
  good(p);
  buffer(p, 1)[number()] += number() == 1234;
}

void some(void **p) {
  if (number() != 77)
    good(p);
}

void beyond(void **p) {
  good(p);
  buffer(p, 1)[4096] = 1;
}

void reads(void **p) {
  good(p);
  if (number() == 5)
    buffer(p, 0)[5] = 0;
}

void fickle(void **p) {
  static int runs;
  good(p);
  if (number() == 0 && runs++ > 3)
    buffer(p, 1)[0] += 1e-6f;
}

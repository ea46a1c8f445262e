/* A candidate of a forged folder: it would run code when it is opened, before any filter. RAN is the file that
 * such code makes; KIND: 0 a constructor; 1 a function that chooses `good`, and one that chooses what it calls;
 * 2 no more than `good`, in a library that needs another one. */
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

typedef struct { /* neo_rt_args */
  void *const *buf;
  const int64_t *size;
  const uint64_t *key;
  int64_t lo, hi;
  void *scratch;
} args;

static int twice(const args *a) {
  const float *x = a->buf[0];
  float *y = a->buf[1];
  for (int64_t i = a->lo * 256; i < a->hi * 256; i++)
    y[i] = 2 * x[i] + 1;
  return 0;
}

#if KIND == 2
int good(const args *a) {
  return twice(a);
}
#else
static void run(void) {
  close(open(RAN, O_CREAT | O_WRONLY, 0600));
}
#if KIND == 0
__attribute__((constructor, destructor)) static void begin(void) {
  run();
}
int good(const args *a) {
  return twice(a);
}
#else
static int (*choose(void))(const args *) {
  run();
  return twice;
}
int inner(const args *a) __attribute__((ifunc("choose")));
int good(const args *a) __attribute__((ifunc("choose")));
int calls(const args *a) {
  return inner(a);
}
#endif
#endif

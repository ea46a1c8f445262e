/* call.c: neo_rt_call from Python.
 *
 * Ctrl-C: a call that takes long must not keep the main thread from handlers of signals. Whether
 * one will is known from the one before: the first call, and those after one that took long, are
 * made in a thread of their own while the main thread waits (wait.c). An entry that updates
 * parameters runs to its end, and the exception follows; others are cancelled. */
#include "python/src/wait.h"
#include <time.h>

enum { LONG_NS = 20000000 };

typedef struct {
  neo_rt_ctx *c;
  int32_t entry, status;
  const int64_t *sizes;
  void *const *args;
} job;

static void call_now(void *user) {
  job *j = user;
  j->status = neo_rt_call(j->c, j->entry, j->sizes, j->args);
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

int32_t neo_py_call(neo_rt_ctx *c, volatile int32_t *cancel, int32_t entry, const int64_t *sizes,
                    void *const *args, int64_t *last_ns) {
  job j = {c, entry, 0, sizes, args};
  int64_t from = now_ns();
  if (*last_ns == 0 || *last_ns > LONG_NS) {
    neo_py_wait(call_now, &j, cancel);
    *cancel = 0;
  } else {
    Py_BEGIN_ALLOW_THREADS;
    call_now(&j);
    Py_END_ALLOW_THREADS;
  }
  *last_ns = now_ns() - from;
  return j.status;
}

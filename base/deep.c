/* A thread with a large stack. Walks over expressions are recursive, and passes make expressions as
 * deep as a program is long (a chain of definitions, each computed within the next one). A frame of
 * such a walk takes up to 4 KiB, so the usual stack of 8 MiB ends at some two thousand levels, and
 * this one at eight times as many. Its memory is only reserved: a page exists once it is
 * touched. */
#define _GNU_SOURCE 1 /* uselocale */
#include "base/deep.h"
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define STACK_BYTES ((size_t)64 << 20)

typedef struct {
  void (*f)(void *ctx);
  void *ctx;
  sigset_t mask;   /* signal mask of the caller */
  locale_t locale; /* how the caller reads and prints numbers */
} call;

static _Thread_local bool is_deep;

static void *run(void *p) {
  const call *c = p;
  is_deep = true;
  uselocale(c->locale);
  pthread_sigmask(SIG_SETMASK, &c->mask, NULL);
  c->f(c->ctx);
  return NULL;
}

/* Runs f on the new thread, which replaces the caller for signals, too: a signal that f blocks in
 * order to wait for it would otherwise be delivered to the caller, which waits here with all
 * signals blocked. */
void neo_deep_run(void (*f)(void *ctx), void *ctx) {
  call c = {.f = f, .ctx = ctx, .locale = uselocale((locale_t)0)};
  pthread_t thread;
  pthread_attr_t attr;
  sigset_t all;
  bool made = false;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &c.mask);
  if (!is_deep && pthread_attr_init(&attr) == 0) {
    made = pthread_attr_setstacksize(&attr, STACK_BYTES) == 0 &&
           pthread_create(&thread, &attr, run, &c) == 0;
    pthread_attr_destroy(&attr);
  }
  if (made)
    pthread_join(thread, NULL);
  pthread_sigmask(SIG_SETMASK, &c.mask, NULL);
  if (!made)
    f(ctx);
}

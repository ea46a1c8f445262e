/* compiling.c: who is within the compiler.
 *
 * LLVM has state of the whole process, which exit() destroys while other threads, daemons, may
 * still compile; and a child that was forked meanwhile would have its locks closed for ever. So the
 * end of a process, and a fork, wait until nobody is within the compiler. */
#include "python/src/compiling.h"
#include <pthread.h>
#include <unistd.h>

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  neo_py_stay *first;
  int32_t forking; /* forks that wait, or are at work */
  bool ending;
} compiler = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

bool neo_py_compiler_enter(neo_py_stay *stay, volatile int32_t *cancel) {
  pthread_mutex_lock(&compiler.lock);
  while (compiler.forking)
    pthread_cond_wait(&compiler.changed, &compiler.lock);
  bool enters = !compiler.ending;
  if (enters) {
    *stay = (neo_py_stay){cancel, compiler.first, NULL};
    if (compiler.first)
      compiler.first->before = stay;
    compiler.first = stay;
  }
  pthread_mutex_unlock(&compiler.lock);
  return enters;
}

void neo_py_compiler_leave(neo_py_stay *stay) {
  pthread_mutex_lock(&compiler.lock);
  if (stay->before)
    stay->before->next = stay->next;
  else
    compiler.first = stay->next;
  if (stay->next)
    stay->next->before = stay->before;
  pthread_cond_broadcast(&compiler.changed);
  pthread_mutex_unlock(&compiler.lock);
}

static void wait_for_all(void) {
  while (compiler.first)
    pthread_cond_wait(&compiler.changed, &compiler.lock);
}

void neo_py_compiler_end(void) {
  pthread_mutex_lock(&compiler.lock);
  __atomic_store_n(&compiler.ending, true, __ATOMIC_RELAXED);
  for (neo_py_stay *s = compiler.first; s; s = s->next)
    if (s->cancel)
      *s->cancel = 1;
  wait_for_all();
  pthread_mutex_unlock(&compiler.lock);
}

void neo_py_compiler_rest(void) {
  while (__atomic_load_n(&compiler.ending, __ATOMIC_RELAXED))
    pause();
}

void neo_py_compiler_before_fork(void) {
  pthread_mutex_lock(&compiler.lock);
  compiler.forking++;
  wait_for_all();
  pthread_mutex_unlock(&compiler.lock);
}

void neo_py_compiler_after_fork(bool child) {
  if (child) { /* other threads, which may have held them, are not here */
    pthread_mutex_init(&compiler.lock, NULL);
    pthread_cond_init(&compiler.changed, NULL);
  }
  pthread_mutex_lock(&compiler.lock);
  compiler.forking = child ? 0 : compiler.forking - 1;
  pthread_cond_broadcast(&compiler.changed);
  pthread_mutex_unlock(&compiler.lock);
}

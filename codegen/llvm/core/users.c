/* A count of the threads inside of LLVM. The child of a fork uses LLVM, and would wait for ever for
 * a lock that another thread held at the fork. So a process forks only while the count is 0. The
 * count is state of the process, as those locks are. */
#include "codegen/llvm/emit.h"
#include <pthread.h>

typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t none;
  size_t n;
} state;

static state users = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

/* Resets the count in a child, which has a single thread, outside of LLVM. */
static void forget(void) {
  users = (state){PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
}

static void watch_forks(void) {
  pthread_atfork(NULL, NULL, forget);
}

static void lock(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&users.mutex);
}

void neo_llvm_enter(void) {
  lock();
  users.n++;
  pthread_mutex_unlock(&users.mutex);
}

void neo_llvm_leave(void) {
  lock();
  if (--users.n == 0)
    pthread_cond_broadcast(&users.none);
  pthread_mutex_unlock(&users.mutex);
}

/* Waits until no thread is inside of LLVM, and locks the mutex, so that none enters until
 * neo_llvm_fork_end. */
void neo_llvm_fork_begin(void) {
  lock();
  while (users.n)
    pthread_cond_wait(&users.none, &users.mutex);
}

void neo_llvm_fork_end(void) {
  pthread_mutex_unlock(&users.mutex);
}

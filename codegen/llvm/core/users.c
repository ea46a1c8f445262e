/* Who uses LLVM at the moment, for the one that forks: its child goes on with LLVM, and would
 * wait for ever for a lock of LLVM that another thread held. So it forks while nobody is inside.
 * This is state of the process, as those locks are. */
#include "codegen/llvm/emit.h"
#include <pthread.h>

static struct {
  pthread_mutex_t mutex;
  pthread_cond_t none;
  size_t n;
} users = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

void neo_llvm_enter(void) {
  pthread_mutex_lock(&users.mutex);
  users.n++;
  pthread_mutex_unlock(&users.mutex);
}

void neo_llvm_leave(void) {
  pthread_mutex_lock(&users.mutex);
  if (--users.n == 0)
    pthread_cond_broadcast(&users.none);
  pthread_mutex_unlock(&users.mutex);
}

/* Whoever comes now waits for the mutex; in the child it is this thread's, as the memory is. */
void neo_llvm_fork_begin(void) {
  pthread_mutex_lock(&users.mutex);
  while (users.n)
    pthread_cond_wait(&users.none, &users.mutex);
}

void neo_llvm_fork_end(void) {
  pthread_mutex_unlock(&users.mutex);
}

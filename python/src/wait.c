/* wait.c: work that Ctrl-C can end; see build.c for why it is in a thread of its own. */
#define _GNU_SOURCE 1 /* syscall */
#include "python/src/wait.h"
#include "python/src/compiling.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 10 }; /* how often the main thread asks for signals */

typedef struct {
  void (*work)(void *user);
  void *user;
  pthread_mutex_t lock;
  pthread_cond_t ended;
  bool done;
} job;

static void *run(void *user) {
  job *j = user;
  j->work(j->user);
  pthread_mutex_lock(&j->lock);
  j->done = true;
  pthread_cond_signal(&j->ended);
  pthread_mutex_unlock(&j->lock);
  return NULL;
}

/* Waits a little; true once the work has ended. */
static bool wait_some(job *j) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += LOOK_MS * 1000000L;
  until.tv_sec += until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  pthread_mutex_lock(&j->lock);
  int late = 0;
  while (!j->done && late != ETIMEDOUT)
    late = pthread_cond_timedwait(&j->ended, &j->lock, &until);
  bool done = j->done;
  pthread_mutex_unlock(&j->lock);
  return done;
}

/* Signals are the main thread's business. */
static bool start(job *j, pthread_t *thread) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int failed = pthread_create(thread, NULL, run, j);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return failed == 0;
}

/* KeyboardInterrupt becomes neoc.Cancelled, which is one. Others stay. */
static void cancelled(void) {
  if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
    return;
  PyErr_Clear();
  PyObject *type = neo_py_import("neoc.errors", "Cancelled");
  if (type)
    PyErr_SetString(type, "interrupted");
  else
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  Py_XDECREF(type);
}

static void watch(job *j, volatile int32_t *cancel) {
  bool done, raised = false;
  do {
    Py_BEGIN_ALLOW_THREADS;
    done = wait_some(j);
    Py_END_ALLOW_THREADS;
    if (!done && !raised && PyErr_CheckSignals()) {
      raised = true;
      *cancel = 1;
      cancelled();
    }
  } while (!done);
}

bool neo_py_in_main_thread(void) {
  return syscall(SYS_gettid) == getpid();
}

int neo_py_wait(void (*work)(void *user), void *user, volatile int32_t *cancel) {
  job j = {.work = work, .user = user};
  pthread_t thread;
  pthread_mutex_init(&j.lock, NULL);
  pthread_cond_init(&j.ended, NULL);
  bool in_thread = neo_py_in_main_thread() && start(&j, &thread);
  if (in_thread) {
    watch(&j, cancel);
    pthread_join(thread, NULL);
  } else {
    bool main = neo_py_in_main_thread();
    Py_BEGIN_ALLOW_THREADS;
    work(user);
    if (!main)
      neo_py_compiler_rest();
    Py_END_ALLOW_THREADS;
  }
  pthread_cond_destroy(&j.ended);
  pthread_mutex_destroy(&j.lock);
  return PyErr_Occurred() ? -1 : 0;
}

/* pool.c: the spin-then-futex thread pool.
 *
 * A region runs one function on all workers; the calling thread is worker 0. Workers wait for the
 * next region by spinning about 20,000 pauses (a launch then costs a fraction of a microsecond) and
 * sleep on a futex after that. Inside of a region workers meet at a barrier, a counter and a
 * generation number. Every wait yields now and then after its first microseconds: on a busy machine
 * the system may put the waiting thread and the one that it waits for on the same core (measured:
 * 40 us a launch instead of 560). Regions of several threads that share a pool take turns by a
 * lock.
 *
 * Sleeping without a lost wake-up: a sleeper counts itself in `sleepers`, then sleeps only if the
 * word still has the old value (the kernel checks); a waker changes the word, then looks at
 * `sleepers`. Both are sequentially consistent, so one of the two sees the other. */
#define _GNU_SOURCE 1 /* sched_getaffinity */
#include "runtime/pool.h"
#include "base/machine.h"
#include "runtime/files.h"
#include "runtime/processor.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPIN_PAUSES = 20000, CROWDED_PAUSES = 100, YIELD_AFTER = 500, YIELD_EVERY = 50 };

typedef struct { /* a word that threads wait on, alone in its cache line */
  _Alignas(NEO_PADDING_BYTES) _Atomic uint32_t word;
  _Atomic uint32_t sleepers;
} waitable;

typedef struct {
  neo_rt_pool *pool;
  int32_t number;
  pthread_t thread;
} worker;

struct neo_rt_pool {
  waitable start;   /* number of the region; a change starts it */
  waitable left;    /* workers, except the caller, that have not finished the region */
  waitable barrier; /* generation of the barrier */
  _Alignas(NEO_PADDING_BYTES) _Atomic uint32_t arrived;
  neo_rti_job *job; /* null: stop. Written before `start` changes */
  void *user;
  int64_t waited_ns; /* caller's waiting time in this region, beyond short waits */
  int32_t threads, spin_pauses;
  neo_alloc alloc;
  void *raw;               /* the block to free: the pool is at a cache line within it */
  pthread_mutex_t regions; /* held by the caller of the region that runs */
  worker workers[];
};

static inline void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void sleep_while(waitable *w, uint32_t value) {
  atomic_fetch_add(&w->sleepers, 1);
  syscall(SYS_futex, &w->word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
  atomic_fetch_sub(&w->sleepers, 1);
}

static void wake(waitable *w) {
  if (atomic_load(&w->sleepers) > 0)
    syscall(SYS_futex, &w->word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Waits until the word is no longer `value`; returns its new value. */
static uint32_t wait_change(const neo_rt_pool *p, waitable *w, uint32_t value) {
  for (int32_t i = 0; i < p->spin_pauses; i++) {
    uint32_t now = atomic_load_explicit(&w->word, memory_order_acquire);
    if (now != value)
      return now;
    if (i >= YIELD_AFTER && i % YIELD_EVERY == 0)
      sched_yield();
    else
      pause_cpu();
  }
  for (;;) {
    uint32_t now = atomic_load_explicit(&w->word, memory_order_acquire);
    if (now != value)
      return now;
    sleep_while(w, value);
  }
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The same for the caller of the region, whose waits are timed. Waits of a fraction of a
 * microsecond end before the clock is read. */
static uint32_t wait_as_caller(neo_rt_pool *p, waitable *w, uint32_t value) {
  enum { SHORT = 30 };
  for (int32_t i = 0; i < SHORT; i++) {
    uint32_t now = atomic_load_explicit(&w->word, memory_order_acquire);
    if (now != value)
      return now;
    pause_cpu();
  }
  int64_t from = now_ns();
  uint32_t now = wait_change(p, w, value);
  p->waited_ns += now_ns() - from;
  return now;
}

void neo_rti_pool_barrier(neo_rt_pool *p, int32_t number) {
  uint32_t generation = atomic_load_explicit(&p->barrier.word, memory_order_relaxed);
  uint32_t before = atomic_fetch_add_explicit(&p->arrived, 1, memory_order_acq_rel);
  if (before + 1 == (uint32_t)p->threads) {
    atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
    atomic_store(&p->barrier.word, generation + 1);
    wake(&p->barrier);
  } else if (number == 0) {
    wait_as_caller(p, &p->barrier, generation);
  } else {
    wait_change(p, &p->barrier, generation);
  }
}

static void *work(void *arg) {
  worker *w = arg;
  neo_rt_pool *p = w->pool;
  uint32_t seen = 0;
  for (;;) {
    seen = wait_change(p, &p->start, seen);
    if (!p->job)
      return NULL;
    p->job(p->user, w->number, p->threads);
    if (atomic_fetch_sub(&p->left.word, 1) == 1)
      wake(&p->left);
  }
}

static void wait_finished(neo_rt_pool *p) {
  uint32_t left = atomic_load_explicit(&p->left.word, memory_order_acquire);
  while (left != 0)
    left = wait_as_caller(p, &p->left, left);
}

static void start(neo_rt_pool *p, neo_rti_job *job, void *user) {
  p->job = job;
  p->user = user;
  atomic_store_explicit(&p->left.word, (uint32_t)p->threads - 1, memory_order_relaxed);
  atomic_fetch_add(&p->start.word, 1);
  wake(&p->start);
}

static neo_rti_region_time run_region(neo_rt_pool *p, neo_rti_job *job, void *user) {
  int64_t from = now_ns();
  p->waited_ns = 0;
  start(p, job, user);
  job(user, 0, p->threads);
  wait_finished(p);
  neo_rti_region_time t = {p->threads, now_ns() - from, p->waited_ns};
  pthread_mutex_unlock(&p->regions);
  return t;
}

neo_rti_region_time neo_rti_pool_run(neo_rt_pool *p, neo_rti_job *job, void *user) {
  pthread_mutex_lock(&p->regions);
  return run_region(p, job, user);
}

neo_rti_region_time neo_rti_pool_run_alone(neo_rti_job *job, void *user) {
  int64_t from = now_ns();
  job(user, 0, 1);
  return (neo_rti_region_time){1, now_ns() - from, 0};
}

neo_rti_region_time neo_rti_pool_run_or_alone(neo_rt_pool *p, neo_rti_job *job, void *user) {
  if (pthread_mutex_trylock(&p->regions) == 0)
    return run_region(p, job, user);
  return neo_rti_pool_run_alone(job, user);
}

/* ------------------------------------------------------------ life */

int32_t neo_rti_cores(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  if (n < 1)
    n = (int)sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > NEO_RTI_MAX_THREADS ? NEO_RTI_MAX_THREADS : n;
}

/* Stops the workers 1 .. n-1. */
static void stop(neo_rt_pool *p, int32_t n) {
  p->job = NULL;
  atomic_fetch_add(&p->start.word, 1);
  wake(&p->start);
  for (int32_t i = 1; i < n; i++)
    pthread_join(p->workers[i].thread, NULL);
}

/* Starts the workers with all signals blocked: signals are for the program's own threads. */
static int32_t start_workers(neo_rt_pool *p) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int32_t n = 1;
  for (; n < p->threads; n++) {
    p->workers[n].pool = p;
    p->workers[n].number = n;
    if (pthread_create(&p->workers[n].thread, NULL, work, &p->workers[n]) != 0)
      break;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return n;
}

static void release(neo_rt_pool *p) {
  neo_alloc alloc = p->alloc;
  pthread_mutex_destroy(&p->regions);
  NEO_RTI_FREE(&alloc, p->raw);
}

neo_rt_status neo_rti_pool_create(int32_t threads, neo_alloc alloc, neo_rt_pool **out) {
  *out = NULL;
  if (threads == 0)
    threads = neo_rti_cores();
  if (threads < 0 || threads > NEO_RTI_MAX_THREADS)
    return NEO_ARGUMENT;
  size_t bytes = sizeof(neo_rt_pool) + (size_t)threads * sizeof(worker);
  void *raw = alloc.resize(alloc.ctx, NULL, bytes + NEO_PADDING_BYTES);
  if (!raw)
    return NEO_MEMORY;
  neo_rt_pool *p = (neo_rt_pool *)(((uintptr_t)raw + NEO_PADDING_BYTES - 1) &
                                   ~(uintptr_t)(NEO_PADDING_BYTES - 1));
  __builtin_memset(p, 0, bytes);
  p->alloc = alloc;
  p->raw = raw;
  p->threads = threads;
  p->spin_pauses = threads <= neo_rti_cores() ? SPIN_PAUSES : CROWDED_PAUSES;
  pthread_mutex_init(&p->regions, NULL);
  int32_t started = start_workers(p);
  if (started < threads) {
    stop(p, started);
    release(p);
    return NEO_MEMORY;
  }
  *out = p;
  return NEO_OK;
}

neo_rt_status neo_rt_pool_create(int32_t threads, neo_rt_pool **out) {
  return out ? neo_rti_pool_create(threads, neo_alloc_default, out) : NEO_NULL;
}

/* Resets the pool in a forked child: the lock may be held, and waits may count sleepers, by threads
 * that exist in the parent only. */
void neo_rt_pool_restart(neo_rt_pool *p) {
  if (!p)
    return;
  pthread_mutex_init(&p->regions, NULL);
  memset(&p->start, 0, sizeof p->start);
  memset(&p->left, 0, sizeof p->left);
  memset(&p->barrier, 0, sizeof p->barrier);
  atomic_store(&p->arrived, 0);
  int32_t started = start_workers(p);
  if (started == p->threads)
    return;
  stop(p, started);
  p->threads = 1; /* the calling thread does all of the work */
}

void neo_rt_pool_destroy(neo_rt_pool *p) {
  if (!p)
    return;
  stop(p, p->threads);
  release(p);
}

int32_t neo_rt_pool_threads(const neo_rt_pool *p) {
  return p ? p->threads : 0;
}

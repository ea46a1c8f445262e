/* workers.c: see workers.h. */
#include "runtime/net/workers.h"
#include "runtime/core/trace.h"
#include "runtime/net/crew.h"
#include "runtime/net/log.h"
#include "runtime/net/mailbox.h"
#include "runtime/pool.h"
#include "runtime/processor.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

enum { SPIN_PAUSES = 4000, CROWDED_PAUSES = 50, YIELD_EVERY = 64 };

struct neo_rti_net_worker {
  _Alignas(NEO_PADDING_BYTES) neo_rt_network *n;
  int32_t set;
  pthread_t thread;
  _Atomic uint64_t tasks, sleeps, busy_ns;
  _Atomic int32_t runs;                  /* 1: a task */
  uint64_t tasks_0, sleeps_0, busy_ns_0; /* when statistics began; of the controller */
};
typedef neo_rti_net_worker worker;

/* ---- waiting */

static inline void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static bool ends(const neo_rt_network *n) {
  return atomic_load(&n->crew->ends) != 0;
}

static bool may_run(const neo_rt_network *n) {
  return atomic_load_explicit(&n->failed, memory_order_relaxed) == 0;
}

static void sleep_until_ready(worker *w, neo_rti_net_set *s) {
  uint32_t ticket = neo_rti_net_event_ticket(&s->event);
  if (ends(w->n) || (may_run(w->n) && neo_rti_crew_any_ready(w->n->crew, s))) {
    neo_rti_net_event_cancel(&s->event);
    return;
  }
  atomic_fetch_add_explicit(&w->sleeps, 1, memory_order_relaxed);
  neo_rti_net_event_sleep(&s->event, ticket, -1);
}

/* The next actor to run; NEO_RTI_NOBODY: the crew ends. */
static int32_t next_actor(worker *w) {
  neo_rti_net_crew *c = w->n->crew;
  neo_rti_net_set *s = &c->sets[w->set];
  for (int32_t k = 0; !ends(w->n); k++) {
    int32_t actor = may_run(w->n) ? neo_rti_crew_claim(w->n, s) : NEO_RTI_NOBODY;
    if (actor != NEO_RTI_NOBODY)
      return actor;
    if (k >= c->spin_pauses) {
      sleep_until_ready(w, s);
      k = 0;
    } else if (k % YIELD_EVERY == YIELD_EVERY - 1) {
      sched_yield();
    } else {
      pause_cpu();
    }
  }
  return NEO_RTI_NOBODY;
}

/* ---- tasks */

static void add(_Atomic uint64_t *count, uint64_t more) {
  atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + more,
                        memory_order_relaxed);
}

static neo_rt_status run_task(worker *w, const neo_rti_net_task *t) {
  int32_t actor = w->n->net->nodes[t->node].actor;
  w->n->frame[actor].worker = (int32_t)(w - w->n->crew->workers);
  neo_rti_net_log_note(w->n, actor, t);
  neo_rt_status status = neo_rti_net_run(w->n, t->node, t->slot, t->back);
  add(&w->busy_ns, (uint64_t)w->n->frame[actor].taken_ns);
  add(&w->tasks, 1);
  return status;
}

static neo_rt_status run_actor(worker *w, int32_t actor) {
  neo_rti_net_mailbox *b = &w->n->mailbox[actor];
  if (atomic_load_explicit(&b->owned, memory_order_relaxed))
    return neo_rti_net_fail(w->n, NEO_RT_E_INTERNAL, "%s: two threads run it at a time",
                            w->n->net->actors[actor].model->name);
  atomic_store_explicit(&b->owned, 1, memory_order_relaxed);
  neo_rti_net_task *t = neo_rti_mailbox_take(b);
  neo_rti_crew_share(w->n);
  neo_rt_status status = t ? run_task(w, t) : NEO_OK;
  atomic_store_explicit(&b->owned, 0, memory_order_relaxed);
  if (neo_rti_mailbox_release(b))
    neo_rti_crew_make_ready(w->n, actor);
  else if (atomic_load(&w->n->drains))
    neo_rti_net_event_signal(w->n->news, 1);
  return status;
}

static void *work(void *arg) {
  worker *w = arg;
  int32_t actor;
  while ((actor = next_actor(w)) != NEO_RTI_NOBODY) {
    atomic_store_explicit(&w->runs, 1, memory_order_relaxed);
    neo_rt_status status = run_actor(w, actor);
    atomic_store_explicit(&w->runs, 0, memory_order_release);
    if (status) /* its message is there */
      neo_rti_net_event_signal(w->n->news, 1);
  }
  return NULL;
}

/* ---- life */

/* Starts threads with all signals blocked: signals are for the program's own threads. */
static int32_t start(neo_rt_network *n) {
  sigset_t all, old;
  int32_t k = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  for (; k < n->config.workers; k++) {
    worker *w = &n->crew->workers[k];
    w->n = n;
    w->set = n->crew->n_sets > 1 ? k : 0;
    if (pthread_create(&w->thread, NULL, work, w) != 0)
      break;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return k;
}

neo_rt_status neo_rti_net_crew_open(neo_rt_network *n) {
  int32_t workers = n->config.workers;
  if (!workers)
    return NEO_OK;
  neo_rti_net_crew *c = n->crew = calloc(1, sizeof *c);
  if (!c)
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "no memory");
  c->n_workers = workers;
  c->n_sets = n->config.place == NEO_RT_NET_PINNED ? workers : 1;
  c->spin_pauses = workers <= neo_rti_cores() ? SPIN_PAUSES : CROWDED_PAUSES;
  c->workers = neo_rti_net_lines((size_t)workers * sizeof *c->workers, &c->raw_workers);
  if (!neo_rti_crew_open_sets(n) || !c->workers)
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "no memory for %d workers", workers);
  c->n_workers = start(n);
  if (c->n_workers < workers)
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "no more than %d threads can be made",
                            c->n_workers);
  return NEO_OK;
}

void neo_rti_net_crew_close(neo_rt_network *n) {
  neo_rti_net_crew *c = n->crew;
  if (!c)
    return;
  atomic_store(&c->ends, 1);
  for (int32_t k = 0; c->sets && k < c->n_sets; k++)
    neo_rti_net_event_signal(&c->sets[k].event, INT32_MAX);
  for (int32_t k = 0; c->workers && k < c->n_workers; k++)
    pthread_join(c->workers[k].thread, NULL);
  free(c->raw_sets);
  free(c->raw_words);
  free(c->raw_workers);
  free(c);
  n->crew = NULL;
}

/* ---- statistics */

uint64_t neo_rti_net_crew_progress(const neo_rt_network *n, bool *runs) {
  uint64_t sum = 0;
  *runs = false;
  for (int32_t k = 0; k < n->crew->n_workers; k++) {
    const worker *w = &n->crew->workers[k];
    *runs = *runs || atomic_load(&w->runs);
    sum += atomic_load_explicit(&w->tasks, memory_order_relaxed);
  }
  return sum;
}

void neo_rti_net_crew_stats(const neo_rt_network *n, double seconds, neo_rt_net_worker_stats *out) {
  for (int32_t k = 0; k < n->crew->n_workers; k++) {
    const worker *w = &n->crew->workers[k];
    double busy_s = 1e-9 * (double)(atomic_load(&w->busy_ns) - w->busy_ns_0);
    out[k] = (neo_rt_net_worker_stats){.messages = atomic_load(&w->tasks) - w->tasks_0,
                                       .sleeps = atomic_load(&w->sleeps) - w->sleeps_0,
                                       .busy_s = busy_s,
                                       .utilisation = seconds > 0 ? busy_s / seconds : 0};
  }
}

void neo_rti_net_crew_clear(neo_rt_network *n) {
  for (int32_t k = 0; k < n->crew->n_workers; k++) {
    worker *w = &n->crew->workers[k];
    w->tasks_0 = atomic_load(&w->tasks);
    w->sleeps_0 = atomic_load(&w->sleeps);
    w->busy_ns_0 = atomic_load(&w->busy_ns);
  }
}

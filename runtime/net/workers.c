/* workers.c: see workers.h. */
#include "runtime/net/workers.h"
#include "base/random.h"
#include "runtime/net/log.h"
#include "runtime/net/mailbox.h"
#include "runtime/pool.h"
#include "runtime/processor.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

enum { SPIN_PAUSES = 4000, CROWDED_PAUSES = 50, YIELD_EVERY = 64, WORD = 64, NOBODY = -1 };

typedef struct {
  neo_rti_net_event event; /* actors have become ready, or the crew ends */
  _Atomic uint64_t *ready;
} ready_set;

typedef struct {
  _Alignas(NEO_PADDING_BYTES) neo_rt_network *n;
  int32_t set;
  pthread_t thread;
  _Atomic uint64_t tasks, sleeps, busy_ns;
  _Atomic int32_t runs;                  /* 1: a task */
  uint64_t tasks_0, sleeps_0, busy_ns_0; /* when statistics began; of the controller */
} worker;

struct neo_rti_net_crew {
  int32_t n_sets, n_words, n_workers, spin_pauses;
  ready_set *sets;
  _Atomic uint64_t *words; /* bits of all sets, each in cache lines of its own */
  worker *workers;
  void *raw_sets, *raw_words, *raw_workers;
  _Atomic int32_t ends;
};

/* ---- sets of actors that are ready */

static ready_set *set_of(const neo_rt_network *n, int32_t actor) {
  return &n->crew->sets[n->mailbox[actor].set];
}

static void make_ready(neo_rt_network *n, int32_t actor) {
  atomic_fetch_or(&set_of(n, actor)->ready[actor / WORD], (uint64_t)1 << actor % WORD);
}

static bool any_ready(const neo_rti_net_crew *c, const ready_set *s) {
  bool any = false;
  for (int32_t k = 0; k < c->n_words && !any; k++)
    any = atomic_load(&s->ready[k]) != 0;
  return any;
}

/* The ready actor with the best task; NOBODY: there is none. */
static int32_t best_ready(const neo_rt_network *n, const ready_set *s) {
  int32_t found = NOBODY;
  uint64_t least = 0;
  for (int32_t k = 0; k < n->crew->n_words; k++)
    for (uint64_t bits = atomic_load_explicit(&s->ready[k], memory_order_relaxed); bits;
         bits &= bits - 1) {
      int32_t actor = k * WORD + __builtin_ctzll(bits);
      uint64_t r = atomic_load_explicit(&n->mailbox[actor].best, memory_order_relaxed);
      if (found == NOBODY || r < least) {
        found = actor;
        least = r;
      }
    }
  return found;
}

static int32_t claim(const neo_rt_network *n, ready_set *s) {
  for (;;) {
    int32_t actor = best_ready(n, s);
    uint64_t bit = actor == NOBODY ? 0 : (uint64_t)1 << actor % WORD;
    if (actor == NOBODY || atomic_fetch_and(&s->ready[actor / WORD], ~bit) & bit)
      return actor;
  }
}

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

static void sleep_until_ready(worker *w, ready_set *s) {
  uint32_t ticket = neo_rti_net_event_ticket(&s->event);
  if (ends(w->n) || (may_run(w->n) && any_ready(w->n->crew, s))) {
    neo_rti_net_event_cancel(&s->event);
    return;
  }
  atomic_fetch_add_explicit(&w->sleeps, 1, memory_order_relaxed);
  neo_rti_net_event_sleep(&s->event, ticket, -1);
}

/* The next actor to run; NOBODY: the crew ends. */
static int32_t next_actor(worker *w) {
  neo_rti_net_crew *c = w->n->crew;
  ready_set *s = &c->sets[w->set];
  for (int32_t k = 0; !ends(w->n); k++) {
    int32_t actor = may_run(w->n) ? claim(w->n, s) : NOBODY;
    if (actor != NOBODY)
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
  return NOBODY;
}

/* ---- tasks */

static void add(_Atomic uint64_t *count, uint64_t more) {
  atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + more,
                        memory_order_relaxed);
}

static neo_rt_status run_task(worker *w, const neo_rti_net_task *t) {
  int32_t actor = w->n->net->nodes[t->node].actor;
  neo_rti_net_log_note(w->n, actor, t);
  neo_rt_status status = neo_rti_net_run(w->n, t->node, t->slot, t->back);
  add(&w->busy_ns, (uint64_t)w->n->frame[actor].taken_ns);
  add(&w->tasks, 1);
  return status;
}

static neo_rt_status run_actor(worker *w, int32_t actor) {
  neo_rti_net_mailbox *b = &w->n->mailbox[actor];
  if (atomic_exchange(&b->owned, 1))
    return neo_rti_net_fail(w->n, NEO_RT_E_INTERNAL, "%s: two threads run it at a time",
                            w->n->net->actors[actor].model->name);
  neo_rti_net_task *t = neo_rti_mailbox_take(b);
  neo_rti_net_crew_share(w->n);
  neo_rt_status status = t ? run_task(w, t) : NEO_OK;
  atomic_store(&b->owned, 0);
  if (neo_rti_mailbox_release(b))
    make_ready(w->n, actor);
  else if (atomic_load(&w->n->drains))
    neo_rti_net_event_signal(w->n->news, 1);
  return status;
}

static void *work(void *arg) {
  worker *w = arg;
  int32_t actor;
  while ((actor = next_actor(w)) != NOBODY) {
    atomic_store(&w->runs, 1);
    neo_rt_status status = run_actor(w, actor);
    atomic_store(&w->runs, 0);
    if (status) /* its message is there */
      neo_rti_net_event_signal(w->n->news, 1);
  }
  return NULL;
}

void neo_rti_net_crew_put(neo_rt_network *n, neo_rti_net_task *t) {
  int32_t actor = n->net->nodes[t->node].actor;
  if (!neo_rti_mailbox_put(&n->mailbox[actor], t))
    return;
  make_ready(n, actor);
  if (n->crew->n_sets > 1)
    neo_rti_net_event_signal(&set_of(n, actor)->event, 1);
}

void neo_rti_net_crew_share(neo_rt_network *n) {
  neo_rti_net_crew *c = n->crew;
  if (c && c->n_sets == 1 && any_ready(c, &c->sets[0]))
    neo_rti_net_event_signal(&c->sets[0].event, 1);
}

bool neo_rti_net_crew_is_idle(const neo_rt_network *n) {
  bool idle = true;
  for (int32_t k = 0; k < n->net->n_actors && idle; k++)
    idle = neo_rti_mailbox_is_idle(&n->mailbox[k]);
  return idle;
}

/* ---- life */

/* Heavy actors have parameters: they are dealt out in turn, the others at random. */
static void place(neo_rt_network *n) {
  int32_t heavy = 0;
  uint64_t state = n->seed;
  for (int32_t k = 0; k < n->net->n_actors; k++) {
    uint64_t drawn = neo_splitmix(&state);
    bool is_heavy = n->net->actors[k].model->param_bytes > 0;
    uint64_t at = is_heavy ? (uint64_t)heavy++ : drawn;
    n->mailbox[k].set = (int32_t)(at % (uint64_t)n->crew->n_sets);
  }
}

/* Zeroed memory at a cache line, within the block *raw. */
static void *lines(size_t bytes, void **raw) {
  *raw = calloc(bytes + NEO_PADDING_BYTES, 1);
  uintptr_t at = ((uintptr_t)*raw + NEO_PADDING_BYTES - 1) & ~(uintptr_t)(NEO_PADDING_BYTES - 1);
  return *raw ? (void *)at : NULL;
}

static bool allocate(neo_rti_net_crew *c) {
  size_t sets = (size_t)c->n_sets, line = NEO_PADDING_BYTES / sizeof(uint64_t);
  size_t words = ((size_t)c->n_words + line - 1) / line * line;
  c->sets = lines(sets * sizeof *c->sets, &c->raw_sets);
  c->words = lines(sets * words * sizeof *c->words, &c->raw_words);
  c->workers = lines((size_t)c->n_workers * sizeof *c->workers, &c->raw_workers);
  for (size_t k = 0; k < sets && c->sets && c->words; k++)
    c->sets[k].ready = c->words + k * words;
  return c->sets && c->words && c->workers;
}

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
  c->n_words = (n->net->n_actors + WORD - 1) / WORD;
  c->spin_pauses = workers <= neo_rti_cores() ? SPIN_PAUSES : CROWDED_PAUSES;
  if (!allocate(c))
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "no memory for %d workers", workers);
  place(n);
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

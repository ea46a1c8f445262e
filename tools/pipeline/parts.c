/* Objects of a compilation, made on all cores.
 *
 * The kernels are cut into parts by their size: runs of neighbours, each an LLVM module of its own.
 * The model record, with the thin entries, is the last part. Threads take parts from a counter, the
 * largest first, so that none is left alone with one at the end; a part's bytes depend on its
 * kernels alone and the objects keep their order, so neither the number of threads nor their timing
 * shows in what is linked.
 *
 * What a thread makes lives in its part's arena. Those get their blocks from the compilation's
 * allocator under a lock; kernels and plan are only read. */
#define _GNU_SOURCE 1 /* sched_getaffinity */
#include "tools/pipeline/emit.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

enum { MOST_THREADS = 64, MOST_PARTS = 64, LEAST_WEIGHT = 1000, RECORD_WEIGHT = 100 };

typedef struct {
  size_t first, end; /* kernels; none: the record */
  size_t weight;
  const char *path;
  neo_arena arena;
  jmp_buf on_fail;
  neo_llvm *llvm;
  neo_status status;
  const char *why;
} part;

typedef struct {
  const neo_compilation *c;
  part *at;
  size_t n;
  size_t *order; /* in which they are made */
  atomic_size_t next;
} work;

/* ---- cutting */

static size_t block_weight(const neo_block *b, size_t copies) {
  size_t w = 0;
  for (size_t k = 0; k < b->n; k++) {
    const neo_ls *s = b->at[k];
    size_t inside = copies;
    if (s->kind == NEO_LS_FOR && s->loop == NEO_LOOP_UNROLL)
      inside *= (size_t)((int64_t)s->hi->bits - (int64_t)s->lo->bits);
    w += copies + block_weight(&s->body, inside) + block_weight(&s->other, inside);
  }
  return w;
}

/* About how much code a kernel becomes. */
static size_t kernel_weight(const neo_plan_kernel *x) {
  const neo_kernel *k = x->kernel, *fast = x->fast;
  size_t more = fast ? fast->nodes.n + block_weight(&fast->body, 1) : 0;
  return k->nodes.n + block_weight(&k->body, 1) + more;
}

static void add_part(work *w, size_t first, size_t end, size_t weight) {
  w->at[w->n++] = (part){.first = first, .end = end, .weight = weight, .why = ""};
}

static void cut(work *w) {
  const neo_compilation *c = w->c;
  size_t total = 0, first = 0, weight = 0;
  for (size_t k = 0; k < c->kernels.n; k++)
    total += kernel_weight(&c->kernels.at[k]);
  size_t most = total / (MOST_PARTS - 2) + 1;
  most = most > LEAST_WEIGHT ? most : LEAST_WEIGHT;
  for (size_t k = 0; k < c->kernels.n; k++) {
    weight += kernel_weight(&c->kernels.at[k]);
    if (weight < most)
      continue;
    add_part(w, first, k + 1, weight);
    first = k + 1;
    weight = 0;
  }
  if (c->target.sm) /* its kernels are an image in the record */
    w->n = 0;
  else if (first < c->kernels.n)
    add_part(w, first, c->kernels.n, weight);
  add_part(w, c->kernels.n, c->kernels.n, RECORD_WEIGHT);
}

static void sort(work *w) {
  for (size_t k = 0; k < w->n; k++) {
    size_t i = k;
    for (; i && w->at[k].weight > w->at[w->order[i - 1]].weight; i--)
      w->order[i] = w->order[i - 1];
    w->order[i] = k;
  }
}

/* ---- one part, in any thread */

static neo_status fill(const neo_compilation *c, part *p) {
  neo_status s = neo_llvm_new(&p->arena, &c->host, c->prefix, &p->llvm, &p->why);
  for (size_t k = p->first; !s && k < p->end; k++)
    s = neo_emit_kernel(p->llvm, &c->kernels.at[k], &p->why);
  if (!s && p->first == p->end) {
    neo_plan plan = *c->plan; /* what it allocates goes to the part's arena */
    plan.arena = &p->arena;
    neo_plan_emit(&plan, &c->target, c->images.at, c->images.n, p->llvm);
  }
  if (!s)
    s = neo_llvm_finish(p->llvm, &p->why);
  return s ? s : neo_llvm_emit_object(p->llvm, p->path, &p->why);
}

static void make_part(const neo_compilation *c, part *p) {
  if (setjmp(p->on_fail)) {
    p->status = NEO_MEMORY;
    p->why = "out of memory";
  } else {
    p->status = fill(c, p);
  }
  neo_llvm_free(p->llvm);
  p->llvm = NULL;
  if (!p->status)
    neo_arena_free(&p->arena);
}

static void *run(void *ctx) {
  work *w = ctx;
  for (;;) {
    size_t k = atomic_fetch_add(&w->next, 1);
    if (k >= w->n)
      return NULL;
    make_part(w->c, &w->at[w->order[k]]);
  }
}

/* ---- threads */

static int cores(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* This thread is one of them. Signals are for the thread that called. */
static void run_on_all_cores(work *w) {
  pthread_t thread[MOST_THREADS];
  sigset_t all, old;
  int n = 0, wanted = cores() - 1;
  wanted = wanted < MOST_THREADS ? wanted : MOST_THREADS;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  while (n < wanted && (size_t)n + 1 < w->n && pthread_create(&thread[n], NULL, run, w) == 0)
    n++;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  run(w);
  while (n > 0)
    pthread_join(thread[--n], NULL);
}

typedef struct {
  pthread_mutex_t mutex;
  neo_alloc from;
} locked_alloc;

static void *locked_resize(void *ctx, void *p, size_t size_bytes) {
  locked_alloc *l = ctx;
  pthread_mutex_lock(&l->mutex);
  void *y = l->from.resize(l->from.ctx, p, size_bytes);
  pthread_mutex_unlock(&l->mutex);
  return y;
}

/* The first failure in the order of parts is the one that is told. */
static neo_status failure(neo_compilation *c, const work *w) {
  for (size_t k = 0; k < w->n; k++)
    if (w->at[k].status) {
      c->why = neo_arena_strdup(&c->arena, w->at[k].why);
      return w->at[k].status;
    }
  return NEO_OK;
}

neo_status neo_emit_objects(neo_compilation *c, const char *folder, neo_objects *out) {
  locked_alloc lock = {.from = c->arena.alloc};
  work w = {.c = c,
            .at = NEO_NEW_ARRAY(&c->arena, part, MOST_PARTS),
            .order = NEO_NEW_ARRAY(&c->arena, size_t, MOST_PARTS)};
  cut(&w);
  sort(&w);
  *out = (neo_objects){NEO_NEW_ARRAY(&c->arena, const char *, w.n), w.n};
  for (size_t k = 0; k < w.n; k++) {
    const char *name = neo_arena_printf(&c->arena, "%s.%zu.o", c->prefix, k);
    out->path[k] = w.at[k].path = neo_path_join(&c->arena, folder, name);
  }
  pthread_mutex_init(&lock.mutex, NULL);
  for (size_t k = 0; k < w.n; k++)
    neo_arena_init(&w.at[k].arena, (neo_alloc){&lock, locked_resize}, &w.at[k].on_fail);
  run_on_all_cores(&w);
  neo_status s = failure(c, &w);
  for (size_t k = 0; k < w.n; k++)
    neo_arena_free(&w.at[k].arena);
  pthread_mutex_destroy(&lock.mutex);
  return s;
}

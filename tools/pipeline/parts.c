/* Objects of a compilation, made on all cores.
 *
 * Kernels come one after the other, the first ones while others are still being made. They are cut
 * into parts by their size: runs of neighbours, each an LLVM module of its own; the more there has
 * been, the larger the next part, so that a long model has few more parts than a short one. The
 * model record, with the thin entries, is the last part. Threads take the largest part that waits,
 * so that none is left alone with one at the end; a part's bytes depend on its kernels alone and
 * the objects keep their order, so neither the number of threads nor their timing shows in what is
 * linked.
 *
 * What a thread makes lives in its part's arenas; kernels and plan are only read. */
#define _GNU_SOURCE 1 /* sched_getaffinity */
#include "base/file.h"
#include "tools/pipeline/emit.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { MOST_THREADS = 64, LEAST_WEIGHT = 1000, SHARE = 32, RECORD_WEIGHT = 100 };

typedef struct part part;
struct part {
  part *next;                       /* in order */
  NEO_VEC(neo_plan_kernel) kernels; /* none: the record */
  size_t weight;
  bool taken;
  neo_arena arena, kept; /* while it is made; of the object */
  jmp_buf on_fail;
  neo_llvm *llvm;
  const char *object;
  size_t object_bytes;
  neo_status status;
  const char *why;
};

struct neo_parts {
  const neo_compilation *c;
  part *first, **last; /* of those that may be taken */
  part *open;          /* gets the next kernel; not among them; null: none */
  size_t n, seen;      /* parts; kernels that are in them */
  size_t weight;       /* of these kernels */
  pthread_mutex_t mutex;
  pthread_cond_t more;
  bool closed; /* no part follows */
  pthread_t thread[MOST_THREADS];
  int n_threads;
};

/* ---- cutting */

static size_t block_weight(const neo_block *b, size_t copies) {
  size_t w = 0;
  for (size_t i = 0; i < b->n; i++) {
    const neo_ls *s = b->at[i];
    size_t inside = copies;
    if (neo_ls_is_loop(s, NEO_LOOP_UNROLL))
      inside *= (size_t)((int64_t)s->loop.hi->bits - (int64_t)s->loop.lo->bits);
    w += copies;
    for (uint32_t k = 0; neo_ls_block(s, k); k++)
      w += block_weight(neo_ls_block(s, k), inside);
  }
  return w;
}

/* About how much code a kernel becomes. */
static size_t kernel_weight(const neo_plan_kernel *x) {
  const neo_kernel *k = x->kernel, *fast = x->fast;
  size_t more = fast ? fast->nodes.n + block_weight(&fast->body, 1) : 0;
  return k->nodes.n + block_weight(&k->body, 1) + more;
}

static part *new_part(neo_compilation *c) {
  part *p = NEO_NEW(&c->arena, part);
  p->why = "";
  neo_arena_init(&p->arena, c->arena.alloc, &p->on_fail);
  neo_arena_init(&p->kept, c->arena.alloc, &p->on_fail);
  return p;
}

static void hand_out(neo_parts *w, part *p) {
  pthread_mutex_lock(&w->mutex);
  *w->last = p;
  w->last = &p->next;
  w->n++;
  pthread_cond_signal(&w->more);
  pthread_mutex_unlock(&w->mutex);
}

static void hand_out_open(neo_parts *w) {
  if (w->open)
    hand_out(w, w->open);
  w->open = NULL;
}

static void add_kernel(neo_parts *w, neo_compilation *c, const neo_plan_kernel *x) {
  size_t most = w->weight / SHARE, weight = kernel_weight(x);
  if (!w->open)
    w->open = new_part(c);
  NEO_PUSH(&c->arena, &w->open->kernels, *x);
  w->open->weight += weight;
  w->weight += weight;
  if (w->open->weight >= (most > LEAST_WEIGHT ? most : LEAST_WEIGHT))
    hand_out_open(w);
}

/* ---- one part, in any thread */

neo_status neo_emit_kernel(neo_llvm *l, const neo_plan_kernel *k, const char **why) {
  neo_status s = neo_llvm_kernel(l, k->kernel, k->symbol, why);
  return s || !k->fast ? s : neo_llvm_kernel(l, k->fast, k->fast_symbol, why);
}

static neo_status make_record(const neo_compilation *c, part *p) {
  neo_plan plan = *c->plan; /* what it allocates goes to the part's arena */
  plan.arena = &p->arena;
  neo_plan_emit(&plan, &c->target, c->images.at, c->images.n, p->llvm);
  neo_plan_emit_functions(&plan, &c->target, p->llvm);
  return NEO_OK;
}

static neo_status fill(const neo_compilation *c, part *p) {
  if (neo_cancelled(c))
    return NEO_INTERRUPTED;
  neo_status s = neo_llvm_new(&p->arena, &c->host, c->prefix, &p->llvm, &p->why);
  for (size_t k = 0; !s && k < p->kernels.n; k++)
    s = neo_emit_kernel(p->llvm, &p->kernels.at[k], &p->why);
  if (!s && !p->kernels.n)
    s = make_record(c, p);
  if (!s)
    s = neo_llvm_finish(p->llvm, &p->why);
  return s ? s : neo_llvm_take_object(p->llvm, &p->kept, &p->object, &p->object_bytes, &p->why);
}

static void make_part(const neo_compilation *c, part *p) {
  neo_llvm_enter();
  if (setjmp(p->on_fail)) {
    p->status = NEO_MEMORY;
    p->why = "out of memory";
  } else {
    p->status = fill(c, p);
  }
  neo_llvm_free(p->llvm);
  p->llvm = NULL;
  neo_llvm_leave();
  if (!p->status)
    neo_arena_free(&p->arena);
}

/* ---- threads */

static part *heaviest(const neo_parts *w) {
  part *best = NULL;
  for (part *p = w->first; p; p = p->next)
    if (!p->taken && (!best || p->weight > best->weight))
      best = p;
  return best;
}

static part *take(neo_parts *w) {
  part *p;
  pthread_mutex_lock(&w->mutex);
  while (!(p = heaviest(w)) && !w->closed)
    pthread_cond_wait(&w->more, &w->mutex);
  if (p)
    p->taken = true;
  pthread_mutex_unlock(&w->mutex);
  return p;
}

static void *run(void *ctx) {
  neo_parts *w = ctx;
  for (part *p; (p = take(w)) != NULL;)
    make_part(w->c, p);
  return NULL;
}

static size_t n_taken(neo_parts *w) {
  size_t n = 0;
  pthread_mutex_lock(&w->mutex);
  for (const part *p = w->first; p; p = p->next)
    n += p->taken;
  pthread_mutex_unlock(&w->mutex);
  return n;
}

/* The same on the thread that compiles, which tells how far all are. */
static void run_here(neo_compilation *c, neo_parts *w) {
  for (part *p; (p = take(w)) != NULL;) {
    neo_progress(c, "machine code", n_taken(w) - 1, w->n);
    make_part(c, p);
  }
}

static int cores(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* This thread is one of them in the end. Signals are for the thread that called. */
static void start_threads(neo_parts *w) {
  sigset_t all, old;
  int wanted = cores() - 1;
  wanted = wanted < MOST_THREADS ? wanted : MOST_THREADS;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  while (w->n_threads < wanted && pthread_create(&w->thread[w->n_threads], NULL, run, w) == 0)
    w->n_threads++;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void close_queue(neo_parts *w) {
  pthread_mutex_lock(&w->mutex);
  w->closed = true;
  pthread_cond_broadcast(&w->more);
  pthread_mutex_unlock(&w->mutex);
}

static void join(neo_parts *w) {
  while (w->n_threads > 0)
    pthread_join(w->thread[--w->n_threads], NULL);
}

/* ---- from outside */

void neo_parts_begin(neo_compilation *c) {
  neo_parts *w = NEO_NEW(&c->arena, neo_parts);
  w->c = c;
  w->last = &w->first;
  pthread_mutex_init(&w->mutex, NULL);
  pthread_cond_init(&w->more, NULL);
  c->parts = w;
  start_threads(w);
}

void neo_parts_follow(neo_compilation *c) {
  neo_parts *w = c->parts;
  for (; w && w->seen < c->kernels.n; w->seen++)
    add_kernel(w, c, &c->kernels.at[w->seen]);
}

/* Nobody waits for what is still to be made. */
void neo_parts_end(neo_compilation *c) {
  neo_parts *w = c->parts;
  if (!w)
    return;
  pthread_mutex_lock(&w->mutex);
  for (part *p = w->first; p; p = p->next)
    p->taken = true;
  pthread_mutex_unlock(&w->mutex);
  close_queue(w);
  join(w);
  for (part *p = w->first; p; p = p->next) {
    neo_arena_free(&p->arena);
    neo_arena_free(&p->kept);
  }
  pthread_mutex_destroy(&w->mutex);
  pthread_cond_destroy(&w->more);
  c->parts = NULL;
}

/* ---- files */

static neo_status write_object(neo_compilation *c, const part *p, const char *path) {
  FILE *f = fopen(path, "wb");
  bool good = f && fwrite(p->object, 1, p->object_bytes, f) == p->object_bytes;
  if (f && fclose(f) == 0 && good)
    return NEO_OK;
  int why = errno;
  c->why = neo_arena_printf(&c->arena, "%s: %s", path, strerror(why));
  return neo_status_of_errno(why);
}

/* The first failure in the order of parts is the one that is told. */
static neo_status write_objects(neo_compilation *c, const neo_parts *w, neo_objects *out) {
  neo_status s = NEO_OK;
  *out = (neo_objects){NEO_NEW_ARRAY(&c->arena, const char *, w->n), 0};
  for (const part *p = w->first; p && !s; p = p->next) {
    const char *name = neo_arena_printf(&c->arena, "%s.%zu.o", c->prefix, out->n);
    const char *path = out->path[out->n++] = neo_path_join(&c->arena, c->staging, name);
    s = p->status;
    if (s)
      c->why = neo_arena_strdup(&c->arena, p->why);
    else
      s = write_object(c, p, path);
  }
  return s;
}

neo_status neo_emit_objects(neo_compilation *c, neo_objects *out) {
  if (!c->parts)
    neo_parts_begin(c);
  if (!c->target.sm) /* a GPU's kernels are an image in the record */
    neo_parts_follow(c);
  neo_parts *w = c->parts;
  hand_out_open(w);
  part *record = new_part(c);
  record->weight = RECORD_WEIGHT;
  hand_out(w, record);
  close_queue(w);
  run_here(c, w);
  join(w);
  neo_status s = write_objects(c, w, out);
  neo_parts_end(c);
  return s;
}

/* Objects of a compilation, made on all cores.
 *
 * Kernels arrive one after the other, the first ones while others are still being made. Each is a
 * part, an LLVM module of its own, which may be in the cache already. The model record, with the
 * thin entries, is the last part. Threads take the largest waiting part, so that no thread is left
 * alone with a large one at the end.
 *
 * Functions that kernels share (random numbers, logarithms) are objects of their own: the first
 * part that calls one claims it, and makes it or takes it from the cache. The linker gets the
 * kernels in their order, the shared functions by name, and the record. A kernel's bytes depend on
 * it alone, a shared function's on its name, so the linked result does not depend on the number of
 * threads, their timing, or the cache.
 *
 * A thread allocates in its part's arenas; kernels and plan are only read. */
#define _GNU_SOURCE 1 /* sched_getaffinity */
#include "base/hash.h"
#include "base/pack.h"
#include "tools/pipeline/code.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 64, RECORD_WEIGHT = 100 };

/* Code that is a part of a library: a kernel, or a function that kernels share. */
typedef struct {
  neo_object object;
  NEO_VEC(const char *) calls; /* names of the shared functions that it needs */
} neo_code_part;

typedef struct shared shared;
struct shared {
  shared *next;
  const char *name;
  neo_object object; /* data null: the part that claimed it has to make it */
};

typedef struct part part;
struct part {
  part *next; /* in order */
  bool is_record;
  neo_plan_kernel kernel; /* unless is_record */
  size_t weight;
  bool taken;
  neo_arena arena, kept; /* for working memory; for the finished object */
  jmp_buf on_fail;
  neo_llvm *llvm;
  neo_code_part made;
  neo_status status;
  const char *why;
};

struct neo_parts {
  const neo_compilation *c;
  part *first, **last; /* queue of parts that are ready */
  size_t n, seen;      /* number of parts; number of kernels in them */
  pthread_mutex_t mutex;
  pthread_cond_t more;
  shared *shared; /* shared functions claimed so far, the last one first */
  bool closed;    /* no more parts will be added */
  pthread_t thread[MOST_THREADS];
  int n_threads, most_threads;
};

/* ---- making parts */

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

/* An estimate of a kernel's amount of code. */
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

/* ---- one part, in any thread */

neo_status neo_emit_kernel(neo_llvm *l, const neo_plan_kernel *k, const char **why) {
  neo_status s = neo_llvm_kernel(l, k->kernel, k->symbol, why);
  return s || !k->fast ? s : neo_llvm_kernel(l, k->fast, k->fast_symbol, why);
}

/* ---- shared functions */

/* Claims a shared function; the first to ask gets it. Null: another part has it. `x` is the
 * caller's memory. */
static shared *claim(neo_parts *w, shared *x, const char *name) {
  const shared *old;
  pthread_mutex_lock(&w->mutex);
  for (old = w->shared; old && !neo_streq(old->name, name); old = old->next) {
  }
  if (!old) {
    *x = (shared){.next = w->shared, .name = name};
    w->shared = x;
  }
  pthread_mutex_unlock(&w->mutex);
  return old ? NULL : x;
}

typedef NEO_VEC(shared *) shareds;

static void claim_all(neo_parts *w, part *p, shareds *own) {
  for (size_t k = 0; k < p->made.calls.n; k++) {
    shared *x = claim(w, NEO_NEW(&p->kept, shared), p->made.calls.at[k]);
    if (x)
      NEO_PUSH(&p->arena, own, x);
  }
}

/* ---- Objects of kernels in the cache. The object with the record is not cached: it differs
 * between builds. */

/* Prepares the keys of kernels. The prefix is part of a key, because functions that kernels share
 * have it in their names. */
static void kernels_begin(neo_compilation *c) {
  neo_code_begin(c);
  if (!c->code)
    return;
  neo_str s = neo_str_in(&c->arena);
  neo_pack_text(&s, "neo kernel 1");
  neo_pack_text(&s, c->code->compiler);
  neo_pack_text(&s, c->prefix);
  neo_code_add_target(&s, &c->host);
  neo_hash128(neo_str_text(&s), s.n, c->code->kernels);
}

static void add(neo_str *s, const neo_kernel *k, const char *symbol) {
  uint64_t key[2];
  neo_kernel_code_key(k, s->arena, key);
  neo_pack_text(s, symbol);
  neo_str_addn(s, (const char *)key, sizeof key);
}

static neo_code_key kernel_key(const neo_compilation *c, const neo_plan_kernel *k,
                               neo_arena *scratch) {
  neo_str s = neo_str_in(scratch);
  neo_str_addn(&s, (const char *)c->code->kernels, sizeof c->code->kernels);
  neo_pack_text(&s, "kernel");
  add(&s, k->kernel, k->symbol);
  if (k->fast)
    add(&s, k->fast, k->fast_symbol);
  return neo_code_key_of(NEO_CODE_KERNEL, neo_str_text(&s), s.n);
}

static neo_code_key shared_key(const neo_compilation *c, const char *name, neo_arena *scratch) {
  neo_str s = neo_str_in(scratch);
  neo_str_addn(&s, (const char *)c->code->kernels, sizeof c->code->kernels);
  neo_pack_text(&s, "shared");
  neo_pack_text(&s, name);
  return neo_code_key_of(NEO_CODE_KERNEL, neo_str_text(&s), s.n);
}

/* Finds a part; it is in the arena. False: the cache lacks it. */
static bool find_part(const neo_compilation *c, neo_code_key key, neo_arena *a,
                      neo_code_part *out) {
  neo_unpack r = {0};
  *out = (neo_code_part){0};
  if (!neo_code_get(c->code->cache, key, a, &r.at, &r.n))
    return false;
  for (uint64_t k = 0, n = neo_unpack_number(&r); k < n && !r.bad; k++)
    NEO_PUSH(a, &out->calls, neo_unpack_text(&r));
  out->object.data = neo_unpack_bytes(&r, &out->object.size_bytes);
  return !r.bad && r.n == 0;
}

static void keep_part(const neo_compilation *c, neo_code_key key, neo_arena *scratch,
                      const neo_code_part *made) {
  neo_str s = neo_str_in(scratch);
  neo_pack_number(&s, made->calls.n);
  for (size_t k = 0; k < made->calls.n; k++)
    neo_pack_text(&s, made->calls.at[k]);
  neo_pack_bytes(&s, made->object.data, made->object.size_bytes);
  neo_code_put(c->code->cache, key, neo_str_text(&s), s.n, false);
}

/* Takes the object of a shared function that this part has claimed and the cache lacks: LLVM has
 * outlined it. */
static neo_status make_shared(const neo_compilation *c, part *p, shared *x) {
  neo_code_part made = {0};
  size_t k = 0, n = neo_llvm_n_outlined(p->llvm);
  while (k < n && !neo_streq(neo_llvm_outlined_name(p->llvm, k), x->name))
    k++;
  p->why = "a kernel calls no function of its own entry in the cache";
  if (k == n)
    return NEO_INTERNAL;
  neo_status s = neo_llvm_take_outlined(p->llvm, k, &p->kept, &made.object.data,
                                        &made.object.size_bytes, &p->why);
  x->object = made.object;
  if (!s && c->code)
    keep_part(c, shared_key(c, x->name, &p->arena), &p->arena, &made);
  return s;
}

/* ---- a kernel */

/* `own`: shared functions that this part has to make, besides those that it is the first to
 * call. */
static neo_status compile(const neo_compilation *c, part *p, shareds *own) {
  neo_status s = neo_llvm_new(&p->arena, &c->host, c->prefix, &p->llvm, &p->why);
  if (s)
    return s;
  neo_llvm_outline_shared(p->llvm);
  s = neo_emit_kernel(p->llvm, &p->kernel, &p->why);
  if (!s)
    s = neo_llvm_finish(p->llvm, &p->why);
  if (!s)
    s = neo_llvm_take_object(p->llvm, &p->kept, &p->made.object.data, &p->made.object.size_bytes,
                             &p->why);
  p->made.calls.n = 0;
  for (size_t k = 0; !s && k < neo_llvm_n_outlined(p->llvm); k++)
    NEO_PUSH(&p->kept, &p->made.calls,
             neo_arena_strdup(&p->kept, neo_llvm_outlined_name(p->llvm, k)));
  claim_all(c->parts, p, own);
  for (size_t k = 0; !s && k < own->n; k++)
    if (!own->at[k]->object.data)
      s = make_shared(c, p, own->at[k]);
  return s;
}

/* Whether the cache has the kernel and all shared functions that it is the first to call. `own`
 * gets these functions, as this part has claimed them in either case. */
static bool find(const neo_compilation *c, part *p, neo_code_key key, shareds *own) {
  if (!find_part(c, key, &p->kept, &p->made))
    return false;
  bool all = true;
  claim_all(c->parts, p, own);
  for (size_t k = 0; k < own->n; k++) {
    neo_code_part x;
    if (find_part(c, shared_key(c, own->at[k]->name, &p->arena), &p->kept, &x))
      own->at[k]->object = x.object;
    else
      all = false;
  }
  return all;
}

static neo_status make_kernel(const neo_compilation *c, part *p) {
  shareds own = {0};
  neo_code_key key = {0};
  if (c->code)
    key = kernel_key(c, &p->kernel, &p->arena);
  if (c->code && find(c, p, key, &own))
    return NEO_OK;
  neo_status s = compile(c, p, &own);
  if (!s && c->code)
    keep_part(c, key, &p->arena, &p->made);
  return s;
}

/* ---- the record */

static neo_status make_record(const neo_compilation *c, part *p) {
  neo_plan plan = *c->plan; /* its allocations go to the part's arena */
  neo_status s = neo_llvm_new(&p->arena, &c->host, c->prefix, &p->llvm, &p->why);
  if (s)
    return s;
  plan.arena = &p->arena;
  neo_plan_emit(&plan, &c->target, c->images.at, c->images.n, p->llvm);
  if (c->options.emit & ~(unsigned)NEO_EMIT_CODE & NEO_EMIT_OBJECTS)
    neo_plan_emit_functions(&plan, &c->target, p->llvm);
  s = neo_llvm_finish(p->llvm, &p->why);
  return s ? s
           : neo_llvm_take_object(p->llvm, &p->kept, &p->made.object.data,
                                  &p->made.object.size_bytes, &p->why);
}

static void make_part(const neo_compilation *c, part *p) {
  neo_llvm_enter();
  if (neo_cancelled(c)) {
    p->status = NEO_INTERRUPTED;
  } else if (setjmp(p->on_fail)) {
    p->status = NEO_MEMORY;
    p->why = "out of memory";
  } else {
    p->status = neo_cancelled(c) ? NEO_INTERRUPTED
                : p->is_record   ? make_record(c, p)
                                 : make_kernel(c, p);
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

/* Makes parts on the compiling thread, which also reports progress. */
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

/* Starts a thread, one per kernel as long as there are cores: the compiling thread joins them in
 * the end, and a small model starts few. Signals stay with the calling thread. */
static void start_thread(neo_parts *w) {
  sigset_t all, old;
  if (w->n_threads == w->most_threads)
    return;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  if (pthread_create(&w->thread[w->n_threads], NULL, run, w) == 0)
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

static void add_kernel(neo_parts *w, neo_compilation *c, const neo_plan_kernel *x) {
  part *p = new_part(c);
  p->kernel = *x;
  p->weight = kernel_weight(x);
  hand_out(w, p);
  start_thread(w);
}

void neo_parts_begin(neo_compilation *c) {
  neo_parts *w = NEO_NEW(&c->arena, neo_parts);
  w->c = c;
  w->last = &w->first;
  pthread_mutex_init(&w->mutex, NULL);
  pthread_cond_init(&w->more, NULL);
  c->parts = w;
  kernels_begin(c);
  w->most_threads = cores() - 1 < MOST_THREADS ? cores() - 1 : MOST_THREADS;
}

void neo_parts_follow(neo_compilation *c) {
  neo_parts *w = c->parts;
  for (; w && w->seen < c->kernels.n; w->seen++)
    add_kernel(w, c, &c->kernels.at[w->seen]);
}

/* Gives up the remaining parts. */
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

/* ---- objects */

static void take_object(neo_compilation *c, const neo_object *x) {
  neo_object o = {neo_arena_copy(&c->arena, x->data, x->size_bytes), x->size_bytes};
  NEO_PUSH(&c->arena, &c->objects, o);
}

static int by_name(const void *x, const void *y) {
  const shared *const *a = x, *const *b = y;
  return strcmp((*a)->name, (*b)->name);
}

static void take_shared(neo_compilation *c, const neo_parts *w) {
  NEO_VEC(const shared *) all = {0};
  for (const shared *x = w->shared; x; x = x->next)
    NEO_PUSH(&c->arena, &all, x);
  if (all.n)
    qsort(all.at, all.n, sizeof *all.at, by_name);
  for (size_t k = 0; k < all.n; k++)
    take_object(c, &all.at[k]->object);
}

/* Takes the objects; reports the first failure in the order of parts. */
static neo_status take_objects(neo_compilation *c, const neo_parts *w) {
  for (const part *p = w->first; p; p = p->next) {
    if (p->status) {
      c->why = neo_arena_strdup(&c->arena, p->why);
      return p->status;
    }
    if (p->is_record)
      take_shared(c, w);
    take_object(c, &p->made.object);
  }
  return NEO_OK;
}

neo_status neo_emit_objects(neo_compilation *c) {
  if (!c->parts)
    neo_parts_begin(c);
  if (!c->target.sm) /* a GPU's kernels are an image in the record */
    neo_parts_follow(c);
  neo_parts *w = c->parts;
  part *record = new_part(c);
  record->is_record = true;
  record->weight = RECORD_WEIGHT;
  hand_out(w, record);
  close_queue(w);
  run_here(c, w);
  join(w);
  neo_status s = take_objects(c, w);
  neo_parts_end(c);
  return s;
}

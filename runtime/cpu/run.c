/* run.c: the steps of an entry on the workers of a processor.
 *
 * All steps of an entry run in one parallel region. A step's units of work are split over the
 * workers in contiguous ranges, or, if they are uneven, each worker takes some at a time. Workers
 * meet at a barrier between two steps, unless both are small (one unit at most), which worker 0
 * runs alone. An entry of small steps only, or one thread, needs no region; nor does an entry that
 * is faster without, because other programs want the cores (crowd.h). All workers compute in one
 * mode of rounding and traps, whatever the caller's is (base/float_mode.h).
 *
 * For a trace, workers note their times in tables of their own while an entry runs, and one thread
 * writes the events after it; so the time for that is between entries, not in them. A watch
 * (runtime/watch.h) is called for a kernel when all workers have left the steps before. */
#include "runtime/core/run.h"
#include "base/float_mode.h"
#include "runtime/core/trace.h"
#include "runtime/cpu/cpu.h"
#include <stdatomic.h>
#include <string.h>

typedef struct {
  const neo_rt_ctx *ctx;
  const neo_rti_cpu *cpu;
  const neo_rt_entry *entry;
  const uint64_t *key;            /* seed, step, call */
  const volatile int32_t *cancel; /* null: the entry runs to its end */
  _Atomic bool failed, cancelled; /* the remaining steps do nothing */
  _Atomic int64_t next[2]; /* next unit of an uneven step, and of the following uneven step */
} region;

static void run_copy(const neo_rt_ctx *c, const neo_rt_step *s, int64_t lo, int64_t hi) {
  int64_t from = lo * NEO_RTI_COPY_BYTES, to = hi * NEO_RTI_COPY_BYTES;
  int64_t n = neo_rti_copy_bytes(c, s);
  if (to > n)
    to = n;
  char *dst = c->ptr[s->first];
  const char *src = c->ptr[s->first + 1];
  if (dst != src && from < to)
    memcpy(dst + from, src + from, (size_t)(to - from));
}

/* A worker on its way through the steps. */
typedef struct {
  region *r;
  int32_t worker, n;                /* number of this worker; of all */
  bool begun, small;                /* a step has run before; it was small */
  int32_t depth;                    /* loops around */
  uint32_t n_uneven;                /* uneven steps so far */
  int64_t sizes[NEO_RT_MOST_SIZES]; /* including indices of loops */
} walker;

/* Whether the entry failed or was cancelled. Workers then skip units, but still wait at all
 * barriers, which the others need. */
static bool is_over(region *r) {
  if (r->cancel && *r->cancel)
    atomic_store_explicit(&r->cancelled, true, memory_order_relaxed);
  return atomic_load_explicit(&r->failed, memory_order_relaxed) ||
         atomic_load_explicit(&r->cancelled, memory_order_relaxed);
}

static void run_units(walker *w, const neo_rt_step *s, int64_t lo, int64_t hi) {
  const neo_rt_ctx *c = w->r->ctx;
  if (lo >= hi || is_over(w->r))
    return;
  if (s->op == NEO_RT_STEP_COPY) {
    run_copy(c, s, lo, hi);
    return;
  }
  neo_rt_args args = {c->ptr + s->first,
                      w->sizes,
                      w->r->key,
                      lo,
                      hi,
                      c->base[NEO_RT_MEM_SCRATCH] + c->scratch_stride * w->worker};
  const neo_rt_kernel *k = &c->model->kernels[s->arg];
  if ((c->fast[s->arg] ? k->fast : k->fn)(&args) != 0)
    atomic_store_explicit(&w->r->failed, true, memory_order_relaxed);
}

/* Notes the time of a step. The span of a step in a loop is from its first iteration to its last
 * one. */
static void note_span(const walker *w, int32_t i, int64_t from) {
  const neo_rti_cpu *u = w->r->cpu;
  neo_rti_cpu_span *s = &u->spans[w->worker * u->most_steps + i];
  int64_t now = neo_rti_now_ns();
  *s = (neo_rti_cpu_span){s->to ? s->from : from, now, (s->to ? s->busy : 0) + now - from};
}

/* Gives out the units of an uneven step through a shared counter. The barrier before this step
 * makes sure that all workers have left the previous uneven step, so its counter can be reset for
 * the next one. */
static void share_units(walker *w, const neo_rt_step *s, int64_t units) {
  enum { PARTS = 8 };
  region *r = w->r;
  uint32_t own = w->n_uneven++ & 1;
  int64_t part = units / (PARTS * (int64_t)w->n) + 1, lo = 0;
  if (w->worker == 0)
    atomic_store_explicit(&r->next[1 - own], 0, memory_order_relaxed);
  while ((lo = atomic_fetch_add_explicit(&r->next[own], part, memory_order_relaxed)) < units)
    run_units(w, s, lo, lo + part < units ? lo + part : units);
}

static void tell_watch(const walker *w, int32_t step, int64_t units) {
  const neo_rt_ctx *c = w->r->ctx;
  const neo_rt_step *s = &c->model->steps[step];
  neo_rti_watched x = {step, w->depth > 0, c->ptr + s->first, w->sizes, units};
  if (s->op != NEO_RT_STEP_COPY && units > 0)
    c->watch->before(c->watch->ctx, &x);
}

void neo_rti_watch_set(neo_rt_ctx *c, const neo_rti_watch *watch) {
  c->watch = watch;
}

static void run_step(walker *w, int32_t i) {
  const neo_rt_ctx *c = w->r->ctx;
  int32_t worker = w->worker, n = w->n, number = w->r->entry->first_step + i;
  const neo_rt_step *s = &c->model->steps[number];
  int64_t units = w->depth ? neo_rti_kernel_units(c, s->arg, w->sizes) : c->units[number];
  bool small = units <= 1, traced = w->r->cpu->spans != NULL;
  if (n > 1 && w->begun && !(small && w->small))
    neo_rti_pool_barrier(w->r->cpu->pool, w->worker);
  w->begun = true;
  w->small = small;
  int64_t lo = small ? 0 : units / n * worker + units % n * worker / n;
  int64_t hi = small ? units : units / n * (worker + 1) + units % n * (worker + 1) / n;
  if (c->watch && worker == 0)
    tell_watch(w, number, units);
  int64_t from = traced ? neo_rti_now_ns() : 0;
  if (!small && n > 1 && s->flags & NEO_RT_STEP_UNEVEN)
    share_units(w, s, units);
  else if (worker == 0 || !small)
    run_units(w, s, lo, hi);
  if (traced && (worker == 0 || !small) && lo < hi)
    note_span(w, i, from);
}

static void run_steps(walker *w, int32_t first, int32_t end);

/* Whether the loop continues with this iteration. All workers get the same answer: the element is
 * written before they read it, and not written again before they have. */
static bool goes_on(walker *w, const neo_rt_step *s) {
  const neo_rt_ctx *c = w->r->ctx;
  if (!(s->flags & NEO_RT_STEP_ASKS))
    return true;
  int64_t at = neo_rt_eval(c->model, c->model->loops[s->arg].element, w->sizes);
  if (at < 0)
    return true;
  if (w->n > 1 && w->begun)
    neo_rti_pool_barrier(w->r->cpu->pool, w->worker);
  w->small = false;
  return ((const bool *)c->ptr[s->first])[at];
}

/* Runs an iteration of loop i; false: the loop ends before it. Its rows, if it has any, are those
 * of the blocks at .. end - 1. */
static bool run_iteration(walker *w, int32_t i, const int32_t *rows, int64_t at, int64_t end) {
  const neo_rt_ctx *c = w->r->ctx;
  const neo_rt_step *s = &c->model->steps[w->r->entry->first_step + i];
  const neo_rt_loop *l = &c->model->loops[s->arg];
  if (l->index >= 0)
    w->sizes[l->index] = at;
  if (rows) {
    w->sizes[l->begin] = rows[at];
    w->sizes[l->end] = rows[end];
    if (rows[at] >= rows[end])
      return true;
  }
  if (!goes_on(w, s))
    return false;
  run_steps(w, i + 1, i + 1 + s->n);
  return true;
}

/* The end of a loop, which may be an element. */
static int64_t end_of(walker *w, const neo_rt_step *s, int64_t lo, int64_t hi) {
  const neo_rt_ctx *c = w->r->ctx;
  const neo_rt_model *m = c->model;
  if (!(s->flags & NEO_RT_STEP_ENDS) || lo >= hi)
    return hi;
  int64_t at = neo_rt_eval(m, m->loops[s->arg].element, w->sizes);
  if (w->n > 1 && w->begun)
    neo_rti_pool_barrier(w->r->cpu->pool, w->worker);
  w->small = false;
  int64_t end = m->bufs[m->args[s->first]].type == NEO_RT_I32
                    ? ((const int32_t *)c->ptr[s->first])[at]
                    : ((const int64_t *)c->ptr[s->first])[at];
  return end < lo ? lo : end < hi ? end : hi;
}

/* Runs a loop. All workers execute all iterations; the barriers are those of its steps. */
static void run_loop(walker *w, int32_t i) {
  const neo_rt_ctx *c = w->r->ctx;
  const neo_rt_step *s = &c->model->steps[w->r->entry->first_step + i];
  const neo_rt_loop *l = &c->model->loops[s->arg];
  const int32_t *rows = s->flags & NEO_RT_STEP_BLOCKS ? c->ptr[s->first] : NULL;
  int64_t lo = neo_rt_eval(c->model, l->lo, w->sizes), hi = neo_rt_eval(c->model, l->hi, w->sizes);
  if (rows && w->begun && w->n > 1)
    neo_rti_pool_barrier(w->r->cpu->pool, w->worker); /* an earlier step wrote them */
  bool whole = s->flags & NEO_RT_STEP_WHOLE, once = whole || s->flags & NEO_RT_STEP_SERIAL;
  int64_t end = hi = !rows               ? end_of(w, s, lo, hi)
                     : lo < hi && !whole ? neo_rti_blocks_end(rows, lo, hi)
                                         : hi;
  if (rows && s->flags & (NEO_RT_STEP_WIDE | NEO_RT_STEP_SERIAL))
    hi = neo_rti_blocks_wide_end(rows, lo, end);
  w->depth++;
  if (once)
    (void)run_iteration(w, i, rows, whole ? lo : hi, end);
  bool more = !once;
  for (int64_t k = lo; k < hi && more; k++) {
    int64_t at = l->down ? lo + hi - 1 - k : k;
    more = run_iteration(w, i, rows, at, at + 1);
  }
  w->depth--;
  if (rows)
    w->small = false; /* forces a barrier before the next step, which may overwrite the rows */
}

static void run_steps(walker *w, int32_t first, int32_t end) {
  const neo_rt_ctx *c = w->r->ctx;
  for (int32_t i = first; i < end; i++) {
    const neo_rt_step *s = &c->model->steps[w->r->entry->first_step + i];
    if (s->op != NEO_RT_STEP_LOOP) {
      run_step(w, i);
      continue;
    }
    if (c->units[w->r->entry->first_step + i])
      run_loop(w, i);
    i += s->n;
  }
}

static void run_worker(void *user, int32_t worker, int32_t n) {
  region *r = user;
  walker w = {.r = r, .worker = worker, .n = n, .small = true};
  if (r->ctx->model->n_sizes)
    memcpy(w.sizes, r->ctx->sizes, (size_t)r->ctx->model->n_sizes * sizeof *w.sizes);
  neo_float_mode before = neo_float_mode_enter();
  run_steps(&w, 0, r->entry->n_steps);
  neo_float_mode_leave(before);
}

/* Whether a step is worth several threads. A loop always is: its steps may have more units in other
 * iterations. */
static bool is_parallel(const neo_rt_ctx *c, const neo_rt_entry *e) {
  bool parallel = false;
  for (int32_t i = e->first_step; i < e->first_step + e->n_steps; i++)
    parallel |= c->units[i] > 1 || (c->units[i] && c->model->steps[i].op == NEO_RT_STEP_LOOP);
  return parallel;
}

/* Runs a region on the pool, or on one thread if that has proved quicker. With a trace or a watch
 * it always runs on the pool. */
static void run_shared(neo_rti_cpu *u, neo_rti_crowd *crowd, region *r) {
  bool looked_at = u->spans || r->ctx->watch;
  neo_rti_region_time t = neo_rti_crowd_alone(crowd) && !looked_at
                              ? neo_rti_pool_run_alone(run_worker, r)
                              : neo_rti_pool_run_or_alone(u->pool, run_worker, r);
  if (!looked_at)
    neo_rti_crowd_note(crowd, t.threads, t.ns, t.waited_ns);
}

neo_rt_status neo_rti_cpu_run(neo_rt_ctx *c, const neo_rt_entry *e, const uint64_t *key) {
  neo_rti_cpu *u = c->state;
  region r = {.ctx = c, .cpu = u, .entry = e, .key = key};
  if (e->kind != NEO_RT_ENTRY_TRAIN && e->kind != NEO_RT_ENTRY_INIT && e->n_writes == 0)
    r.cancel = c->cancel;
  if (is_parallel(c, e) && c->threads > 1)
    run_shared(u, &u->crowds[e - c->model->entries], &r);
  else
    run_worker(&r, 0, 1);
  if (atomic_load(&r.cancelled))
    return neo_rti_fail(c, NEO_INTERRUPTED, "%s: entry %s was cancelled", c->model->name, e->name);
  if (!atomic_load(&r.failed))
    return NEO_OK;
  return neo_rti_fail(c, NEO_INTERNAL, "%s: a kernel of entry %s failed", c->model->name, e->name);
}

/* device.c: a processor as a device: threads, memory of the host, kernels' variants for it. */
#define _DEFAULT_SOURCE 1 /* madvise */
#include "include/neo/dlpack.h"
#include "runtime/core/trace.h"
#include "runtime/cpu/cpu.h"
#include "runtime/processor.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* ------------------------------------------------------------ models */

static bool takes(const char *level) {
  return level == NULL;
}

static bool has_code(const neo_rt_kernel *k) {
  return k->fn != NULL;
}

/* Whether a processor can run the model: persistent kernels are for GPUs. */
static bool model_ok(const neo_rt_model *m) {
  return m->n_grids == 0;
}

/* ------------------------------------------------------------ threads */

static neo_rt_status take_threads(neo_rt_ctx *c, const neo_rt_config *config) {
  neo_rti_cpu *u = c->state;
  if (config->pool) {
    u->pool = config->pool;
    c->threads = neo_rt_pool_threads(config->pool);
    return NEO_OK;
  }
  if (config->threads < 0 || config->threads > NEO_RTI_MAX_THREADS)
    return neo_rti_fail(c, NEO_ARGUMENT, "threads: %d is not in [0, %d]", config->threads,
                        NEO_RTI_MAX_THREADS);
  c->threads = config->threads ? config->threads : neo_rti_cores();
  return NEO_OK;
}

static neo_rt_status start_threads(neo_rt_ctx *c) {
  neo_rti_cpu *u = c->state;
  if (u->pool || c->threads == 1)
    return NEO_OK;
  neo_rt_status status = neo_rti_pool_create(c->threads, c->env.alloc, &u->pool);
  u->own_pool = status == NEO_OK;
  return status ? neo_rti_fail(c, status, "%d threads could not be started", c->threads) : NEO_OK;
}

/* Chooses kernels' variants. Features that several kernels need are checked once. */
static void choose_variants(neo_rt_ctx *c) {
  const char *asked = NULL;
  char missing[256];
  bool has = false;
  for (int32_t i = 0; i < c->model->n_kernels; i++) {
    const char *needs = c->model->kernels[i].needs;
    if (!needs || !c->model->kernels[i].fast)
      continue;
    if (!asked || strcmp(asked, needs) != 0)
      has = neo_rti_features_check(needs, missing, sizeof missing);
    if (!has && (!asked || strcmp(asked, needs) != 0))
      neo_rti_log(c, NEO_RTI_LOG_INFO, "%s: without %s, other code runs instead", c->model->name,
                  missing);
    asked = needs;
    c->fast[i] = has;
  }
}

/* ------------------------------------------------------------ life */

static neo_rt_status open_state(neo_rt_ctx *c, const neo_rt_config *config) {
  if (config->device && strcmp(config->device, "cpu") != 0)
    return neo_rti_fail(c, NEO_UNSUPPORTED, "device '%s' is not known; this library runs on 'cpu'",
                        config->device);
  c->state = c->env.alloc.resize(c->env.alloc.ctx, NULL, sizeof(neo_rti_cpu));
  if (!c->state)
    return neo_rti_fail(c, NEO_MEMORY, "out of memory");
  memset(c->state, 0, sizeof(neo_rti_cpu));
  neo_rti_cpu *u = c->state;
  size_t bytes = (size_t)c->model->n_entries * sizeof *u->crowds;
  u->crowds = c->env.alloc.resize(c->env.alloc.ctx, NULL, bytes + 1);
  if (!u->crowds)
    return neo_rti_fail(c, NEO_MEMORY, "out of memory");
  memset(u->crowds, 0, bytes);
  return take_threads(c, config);
}

static void close_state(neo_rt_ctx *c) {
  neo_rti_cpu *u = c->state;
  if (u->own_pool)
    neo_rt_pool_destroy(u->pool);
  if (u->arena)
    NEO_RTI_FREE(&c->env.alloc, u->arena);
  if (u->crowds)
    NEO_RTI_FREE(&c->env.alloc, u->crowds);
  if (u->work)
    NEO_RTI_FREE(&c->env.alloc, u->work);
  NEO_RTI_FREE(&c->env.alloc, u);
  c->state = NULL;
}

static neo_rt_status start(neo_rt_ctx *c) {
  neo_rt_status status = start_threads(c);
  if (!status)
    choose_variants(c);
  return status;
}

/* ------------------------------------------------------------ memory */

/* Large arenas in large pages, where the system gives them: fewer misses of the address cache. */
static void ask_large_pages(unsigned char *p, size_t n) {
#ifdef MADV_HUGEPAGE
  const uintptr_t page = (uintptr_t)2 << 20;
  uintptr_t from = ((uintptr_t)p + page - 1) & ~(page - 1), to = ((uintptr_t)p + n) & ~(page - 1);
  if (n >= 2 * page && from < to)
    (void)madvise((void *)from, to - from, MADV_HUGEPAGE); /* a hint: failure changes nothing */
#else
  (void)p;
  (void)n;
#endif
}

static neo_rt_status take_callers(neo_rt_ctx *c, const neo_rt_config *config, size_t n) {
  if ((uintptr_t)config->arena % NEO_RTI_ALIGN)
    return neo_rti_fail(c, NEO_ARGUMENT, "the arena is not aligned to %d bytes", NEO_RTI_ALIGN);
  if (config->arena_bytes < n)
    return neo_rti_fail(c, NEO_MEMORY, "%s needs an arena of %zu bytes (%d threads), given %zu",
                        c->model->name, n, c->threads, config->arena_bytes);
  c->arena = config->arena;
  return NEO_OK;
}

/* Allocates n bytes at an aligned address; *block is the block to free. */
/* Elements of iterations that do not run take no memory: the system gives pages when they are
 * written. A large page would hold few elements that are. */
static bool stays_untouched(const neo_rt_model *m) {
  bool stays = false;
  for (int32_t k = 0; k < m->n_entries; k++)
    stays = stays || m->entries[k].ends_early;
  return stays;
}

static unsigned char *take_aligned(const neo_rt_ctx *c, size_t n, bool large, void **block) {
  *block = c->env.alloc.resize(c->env.alloc.ctx, NULL, n + NEO_RTI_ALIGN - 1);
  if (!*block)
    return NULL;
  uintptr_t p = (uintptr_t)*block + NEO_RTI_ALIGN - 1;
  unsigned char *at = (unsigned char *)(p & ~(uintptr_t)(NEO_RTI_ALIGN - 1));
  if (large)
    ask_large_pages(at, n);
  return at;
}

static neo_rt_status take_own(neo_rt_ctx *c, size_t n) {
  neo_rti_cpu *u = c->state;
  c->arena = take_aligned(c, n, true, &u->arena);
  if (!c->arena)
    return neo_rti_fail(c, NEO_MEMORY, "out of memory: %s needs %zu bytes (%d threads)",
                        c->model->name, n, c->threads);
  return NEO_OK;
}

/* Replaces the frame's block. The new one is allocated before the old one is freed, which takes no
 * more memory: the system gives pages when they are written. */
static neo_rt_status regrow(neo_rt_ctx *c, size_t n, size_t least) {
  neo_rti_cpu *u = c->state;
  void *block = NULL;
  bool large = !stays_untouched(c->model);
  unsigned char *at = take_aligned(c, n, large, &block);
  if (u->work)
    NEO_RTI_FREE(&c->env.alloc, u->work);
  if (!at)
    at = take_aligned(c, n = least, large, &block);
  u->work = block;
  c->work = at;
  c->work_bytes = at ? n : 0;
  return at ? NEO_OK
            : neo_rti_fail(c, NEO_MEMORY, "out of memory: %s needs %zu bytes at these sizes",
                           c->model->name, least);
}

static neo_rt_status allocate(neo_rt_ctx *c, const neo_rt_config *config, size_t n, size_t zero) {
  neo_rt_status s = config->arena ? take_callers(c, config, n) : take_own(c, n);
  if (!s)
    memset(c->arena, 0, zero);
  return s;
}

static neo_rt_status copy(neo_rt_ctx *c, neo_rti_way way, void *to, const void *from, size_t n) {
  (void)c;
  (void)way;
  memmove(to, from, n);
  return NEO_OK;
}

/* ------------------------------------------------------------ functions without effect on a
 * processor */

static neo_rt_status nothing(neo_rt_ctx *c) {
  (void)c;
  return NEO_OK;
}

static neo_rt_status nothing_to_wait_for(neo_rt_ctx *c, const char *doing) {
  (void)c;
  (void)doing;
  return NEO_OK;
}

static int number(const neo_rt_ctx *c) {
  (void)c;
  return 0;
}

/* ------------------------------------------------------------ traces */

static neo_rt_status trace_open(neo_rt_ctx *c, int32_t most_steps) {
  neo_rti_cpu *u = c->state;
  size_t n = (size_t)c->threads * (size_t)most_steps * sizeof *u->spans;
  u->spans = c->env.alloc.resize(c->env.alloc.ctx, NULL, n);
  if (!u->spans)
    return neo_rti_fail(c, NEO_MEMORY, "out of memory");
  memset(u->spans, 0, n);
  u->most_steps = most_steps;
  for (int w = 1; w < c->threads; w++) {
    char name[32];
    snprintf(name, sizeof name, "worker %d", w);
    neo_rti_trace_row(c->trace, w, name);
  }
  return NEO_OK;
}

static void put_steps(const neo_rt_ctx *c, const neo_rt_entry *e, int32_t worker) {
  const neo_rti_cpu *u = c->state;
  for (int32_t i = 0; i < e->n_steps; i++) {
    neo_rti_cpu_span *s = &u->spans[worker * u->most_steps + i];
    int32_t step = e->first_step + i;
    bool runs = c->model->steps[step].op != NEO_RT_STEP_COPY;
    if (s->to)
      neo_rti_trace_event(c->trace,
                          &(neo_rti_event){neo_rti_step_name(c, step), runs ? "kernel" : "copy",
                                           worker, s->from, s->to, i, -1, s->busy});
    s->to = 0;
  }
}

static void trace_put(neo_rt_ctx *c, const neo_rt_entry *e) {
  for (int32_t w = 0; w < c->threads; w++)
    put_steps(c, e, w);
}

static void trace_close(neo_rt_ctx *c) {
  neo_rti_cpu *u = c->state;
  if (u->spans)
    NEO_RTI_FREE(&c->env.alloc, u->spans);
  u->spans = NULL;
}

/* ------------------------------------------------------------ the device */

const neo_rti_device neo_rti_device_cpu = {.name = "cpu",
                                           .dlpack = NEO_DL_CPU,
                                           .takes = takes,
                                           .has_code = has_code,
                                           .model_ok = model_ok,
                                           .open = open_state,
                                           .close = close_state,
                                           .allocate = allocate,
                                           .regrow = regrow,
                                           .start = start,
                                           .warm = nothing,
                                           .number = number,
                                           .copy = copy,
                                           .synchronise = nothing_to_wait_for,
                                           .run = neo_rti_cpu_run,
                                           .end = nothing_to_wait_for,
                                           .trace_open = trace_open,
                                           .trace_begin = nothing,
                                           .trace_put = trace_put,
                                           .trace_close = trace_close};

/* ctx.c: a context's life, and where everything lies in its two blocks.
 *
 * The arena is one allocation (or the caller's memory) that holds, each part rounded up to 64
 * bytes:
 *
 *   parameters | states, settings | kept | frame | unwanted outputs | tape | scratch x threads
 *
 * The book-keeping block is the struct and its tables. Both are complete before the first kernel
 * runs, so that nothing allocates later. The tables are carved twice by the same function: first
 * from null to learn the size, then for real. */
#define _DEFAULT_SOURCE 1 /* madvise */
#include "runtime/internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

const neo_rti_env neo_rti_env_default = {{NULL, NULL},
                                         {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}};

/* ------------------------------------------------------------ messages */

neo_rt_status neo_rti_say(char *error, size_t error_bytes, neo_rt_status status, const char *fmt,
                          ...) {
  if (!error || error_bytes == 0)
    return status;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(error, error_bytes, fmt, ap);
  va_end(ap);
  return status;
}

neo_rt_status neo_rti_fail(neo_rt_ctx *ctx, neo_rt_status status, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(ctx->error, sizeof ctx->error, fmt, ap);
  va_end(ap);
  if (ctx->log)
    ctx->log(ctx->log_user, NEO_RTI_LOG_ERROR, ctx->error);
  return status;
}

void neo_rti_log(neo_rt_ctx *ctx, int level, const char *fmt, ...) {
  if (!ctx->log)
    return;
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  ctx->log(ctx->log_user, level, text);
}

const char *neo_rt_error(const neo_rt_ctx *ctx) {
  return ctx ? ctx->error : "";
}

const char *neo_rt_status_text(neo_rt_status status) {
  return neo_status_text((neo_status)status);
}

neo_rt_status neo_rti_alive(neo_rt_ctx *ctx) {
  if (!ctx)
    return NEO_NULL;
  return ctx->alive ? NEO_OK : NEO_STATE;
}

/* ------------------------------------------------------------ the arena */

typedef struct {
  int64_t at[NEO_RTI_N_MEM], places, spill, total; /* offsets in the arena; CONST: on a device */
} layout;

/* Of a class that the model says no size of. */
static int64_t bytes_of(const neo_rt_model *m, uint8_t mem) {
  int64_t n = 0;
  for (int32_t i = 0; i < m->n_bufs; i++) {
    int64_t end = m->bufs[i].offset + m->bufs[i].size_bytes;
    if (m->bufs[i].mem == mem && end > n)
      n = end;
  }
  return n;
}

static int64_t spill_bytes(const neo_rt_model *m) {
  int64_t most = 0;
  for (int32_t i = 0; i < m->n_entries; i++) {
    const neo_rt_entry *e = &m->entries[i];
    int64_t n = 0;
    for (int32_t k = m->device ? 0 : e->n_inputs; k < e->n_args; k++)
      n += neo_rti_spill_bytes(m, &m->tensors[m->entry_args[e->args + k]]);
    if (n > most)
      most = n;
  }
  return most;
}

static layout arena_layout(const neo_rt_model *m, int32_t threads) {
  layout l = {{0}, 0, 0, 0};
  l.at[NEO_RT_MEM_STATE] = neo_rti_round_up(m->param_bytes);
  l.places = l.at[NEO_RT_MEM_STATE] + neo_rti_round_up(m->state_bytes);
  l.at[NEO_RT_MEM_KEPT] = l.places + (int64_t)m->n_grids * NEO_RTI_PLACE_BYTES;
  l.at[NEO_RT_MEM_FRAME] = l.at[NEO_RT_MEM_KEPT] + neo_rti_round_up(m->kept_bytes);
  l.spill = l.at[NEO_RT_MEM_FRAME] + neo_rti_round_up(m->frame_bytes);
  l.at[NEO_RT_MEM_TAPE] = l.spill + spill_bytes(m);
  l.at[NEO_RT_MEM_SCRATCH] = l.at[NEO_RT_MEM_TAPE] + neo_rti_round_up(bytes_of(m, NEO_RT_MEM_TAPE));
  l.total = l.at[NEO_RT_MEM_SCRATCH];
  if (!m->device) /* there it is the shared memory of each block */
    l.total += neo_rti_round_up(m->scratch_bytes) * threads;
  l.at[NEO_RT_MEM_CONST] = l.total;
  if (m->device)
    l.total += neo_rti_round_up(bytes_of(m, NEO_RT_MEM_CONST));
  return l;
}

int64_t neo_rt_arena_size(const neo_rt_model *model, int32_t threads) {
  char unused[1];
  if (!model || threads < 0 || threads > NEO_RTI_MAX_THREADS)
    return -1;
  neo_rt_status status = neo_rti_model_check(model, unused, sizeof unused);
  if (status && status != NEO_UNSUPPORTED)
    return -1;
  return arena_layout(model, threads ? threads : neo_rti_cores()).total;
}

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

/* On a device; constants go there with it. */
static neo_rt_status take_device_arena(neo_rt_ctx *c, const neo_rt_config *config,
                                       const layout *l) {
  if (config->arena)
    return neo_rti_fail(c, NEO_UNSUPPORTED, "%s runs on a GPU: it takes no arena of the caller's",
                        c->model->name);
  neo_rt_status s =
      neo_rti_cuda_alloc(c, (size_t)l->total, (size_t)l->at[NEO_RT_MEM_KEPT], &c->arena);
  return s ? s
           : neo_rti_put(c, c->arena + l->at[NEO_RT_MEM_CONST], c->model->const_data,
                         (size_t)bytes_of(c->model, NEO_RT_MEM_CONST));
}

static neo_rt_status take_host_arena(neo_rt_ctx *c, const neo_rt_config *config, const layout *l) {
  size_t need = (size_t)l->total;
  if (config->arena) {
    if ((uintptr_t)config->arena % NEO_RTI_ALIGN)
      return neo_rti_fail(c, NEO_ARGUMENT, "the arena is not aligned to %d bytes", NEO_RTI_ALIGN);
    if (config->arena_bytes < need)
      return neo_rti_fail(c, NEO_MEMORY, "%s needs an arena of %zu bytes (%d threads), given %zu",
                          c->model->name, need, c->threads, config->arena_bytes);
    c->arena = config->arena;
  } else {
    c->arena_raw = c->env.alloc.resize(c->env.alloc.ctx, NULL, need + NEO_RTI_ALIGN);
    if (!c->arena_raw)
      return neo_rti_fail(c, NEO_MEMORY, "out of memory: %s needs %zu bytes (%d threads)",
                          c->model->name, need, c->threads);
    uintptr_t p = (uintptr_t)c->arena_raw + NEO_RTI_ALIGN - 1;
    c->arena = (unsigned char *)(p & ~(uintptr_t)(NEO_RTI_ALIGN - 1));
    ask_large_pages(c->arena, need);
  }
  memset(c->arena, 0, (size_t)l->at[NEO_RT_MEM_KEPT]);
  return NEO_OK;
}

static neo_rt_status take_arena(neo_rt_ctx *c, const neo_rt_config *config, const layout *l) {
  neo_rt_status s = c->cuda ? take_device_arena(c, config, l) : take_host_arena(c, config, l);
  if (s)
    return s;
  c->arena_bytes = (size_t)l->total;
  c->base[NEO_RT_MEM_CONST] = c->arena + l->at[NEO_RT_MEM_CONST];
  for (int mem = NEO_RT_MEM_PARAM; mem <= NEO_RT_MEM_SCRATCH; mem++)
    c->base[mem] = c->arena + l->at[mem];
  c->base[NEO_RT_MEM_KEPT] = c->arena + l->at[NEO_RT_MEM_KEPT];
  c->spill = c->arena + l->spill;
  c->places = c->arena + l->places;
  c->scratch_stride = neo_rti_round_up(c->model->scratch_bytes);
  return NEO_OK;
}

/* ------------------------------------------------------------ the tables */

static void *carve(char **at, int64_t n, size_t size_bytes) {
  char *p = *at;
  *at = p + (((size_t)n * size_bytes + 15) & ~(size_t)15);
  return p;
}

static int32_t count_patches(const neo_rt_model *m) {
  int32_t n = 0;
  for (int32_t i = 0; i < m->n_entries; i++)
    for (int32_t k = 0; k < m->entries[i].n_steps; k++) {
      const neo_rt_step *s = &m->steps[m->entries[i].first_step + k];
      n += s->op == NEO_RT_STEP_COPY ? 2 : s->n;
    }
  return n;
}

static int32_t most_args(const neo_rt_model *m) {
  int32_t n = 0;
  for (int32_t i = 0; i < m->n_entries; i++)
    if (m->entries[i].n_args > n)
      n = m->entries[i].n_args;
  return n;
}

/* Tables of `c` in the memory from `at`; returns its end. */
static char *carve_tables(neo_rt_ctx *c, const neo_rt_model *m, char *at) {
  c->addr = carve(&at, m->n_bufs, sizeof *c->addr);
  c->ptr = carve(&at, neo_rti_model_positions(m), sizeof *c->ptr);
  c->patches = carve(&at, count_patches(m), sizeof *c->patches);
  c->patch = carve(&at, m->n_entries, sizeof *c->patch);
  c->caller = carve(&at, m->n_tensors, sizeof *c->caller);
  c->fast = carve(&at, m->n_kernels, sizeof *c->fast);
  c->units = carve(&at, m->n_steps, sizeof *c->units);
  c->sizes = carve(&at, m->n_sizes, sizeof *c->sizes);
  c->bound = carve(&at, m->n_tensors, sizeof *c->bound);
  c->viewed = carve(&at, m->n_tensors, sizeof *c->viewed);
  c->stale = carve(&at, m->n_keeps, sizeof *c->stale);
  c->strides = carve(&at, (int64_t)m->n_tensors * NEO_RTI_MAX_RANK, sizeof *c->strides);
  c->run_args = carve(&at, most_args(m), sizeof *c->run_args);
  c->size_from = carve(&at, m->n_sizes, sizeof *c->size_from);
  return at;
}

static void patch_entry(neo_rt_ctx *c, int32_t entry, int32_t *n) {
  const neo_rt_model *m = c->model;
  const neo_rt_entry *e = &m->entries[entry];
  c->patch[entry].first = *n;
  for (int32_t i = 0; i < e->n_steps; i++) {
    const neo_rt_step *s = &m->steps[e->first_step + i];
    int32_t n_args = s->op == NEO_RT_STEP_COPY ? 2 : s->n;
    for (int32_t k = s->first; k < s->first + n_args; k++)
      if (m->bufs[m->args[k]].mem == NEO_RT_MEM_CALLER)
        c->patches[(*n)++] = k;
  }
  c->patch[entry].n = *n - c->patch[entry].first;
}

/* The machine is asked once for what several kernels need. */
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

static void fill_strides(neo_rt_ctx *c) {
  for (int32_t i = 0; i < c->model->n_tensors; i++) {
    const neo_rt_tensor *t = &c->model->tensors[i];
    int64_t extent[NEO_RTI_MAX_RANK], stride = 1;
    if (!neo_rti_tensor_kept(t))
      continue;
    neo_rti_extents(c->model, t, NULL, extent);
    for (int d = t->rank; d-- > 0; stride *= extent[d])
      c->strides[i * NEO_RTI_MAX_RANK + d] = stride;
  }
}

static void fill_tables(neo_rt_ctx *c) {
  int32_t n = 0;
  for (int32_t i = 0; i < c->model->n_entries; i++)
    patch_entry(c, i, &n);
  fill_strides(c);
  neo_rti_resolve(c);
}

static void *constant(const neo_rt_model *m, int64_t offset) {
  return (void *)((uintptr_t)m->const_data + (size_t)offset);
}

/* Where buffer b lies if it is (part of) the store of a bound parameter or state; else null. */
static void *bound_address(const neo_rt_ctx *c, const neo_rt_buf *b) {
  for (int32_t i = 0; i < c->model->n_tensors; i++) {
    const neo_rt_tensor *t = &c->model->tensors[i];
    if (!c->bound[i].data || !neo_rti_tensor_kept(t))
      continue;
    const neo_rt_buf *own = &c->model->bufs[t->buf];
    if (b->mem == own->mem && b->offset >= own->offset &&
        b->offset + b->size_bytes <= own->offset + own->size_bytes)
      return (char *)c->bound[i].data + (b->offset - own->offset);
  }
  return NULL;
}

void neo_rti_resolve(neo_rt_ctx *c) {
  const neo_rt_model *m = c->model;
  for (int32_t i = 0; i < m->n_bufs; i++) {
    const neo_rt_buf *b = &m->bufs[i];
    if (b->mem == NEO_RT_MEM_CALLER)
      c->addr[i] = NULL;
    else if (b->mem == NEO_RT_MEM_CONST)
      c->addr[i] = c->cuda ? c->base[b->mem] + b->offset : constant(m, b->offset);
    else
      c->addr[i] = c->base[b->mem] + b->offset;
    bool kept = b->mem == NEO_RT_MEM_PARAM || b->mem == NEO_RT_MEM_STATE;
    void *bound = kept ? bound_address(c, b) : NULL;
    if (bound)
      c->addr[i] = bound;
  }
  for (int32_t i = 0; i < m->n_steps; i++) {
    const neo_rt_step *s = &m->steps[i];
    int32_t n = s->op == NEO_RT_STEP_COPY ? 2 : s->n;
    for (int32_t k = s->first; k < s->first + n; k++)
      c->ptr[k] = c->addr[m->args[k]];
  }
}

void *neo_rti_tensor_data(const neo_rt_ctx *ctx, const neo_rt_tensor *t) {
  return ctx->addr[t->buf];
}

/* ------------------------------------------------------------ life */

/* The struct with its tables when the model is sound, without them when only a message is kept. */
static neo_rt_ctx *new_ctx(const neo_rt_model *m, const neo_rti_env *env, bool sound) {
  neo_rt_ctx probe;
  memset(&probe, 0, sizeof probe);
  const size_t head = (sizeof(neo_rt_ctx) + 15) & ~(size_t)15;
  size_t tables = sound ? (size_t)(carve_tables(&probe, m, (char *)16) - (char *)16) : 0;
  neo_rt_ctx *c = env->alloc.resize(env->alloc.ctx, NULL, head + tables);
  if (!c)
    return NULL;
  memset(c, 0, head + tables);
  c->model = m;
  c->env = *env;
  if (sound)
    carve_tables(c, m, (char *)c + head);
  return c;
}

static neo_rt_status take_threads(neo_rt_ctx *c, const neo_rt_config *config) {
  if (config->pool) {
    c->pool = config->pool;
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
  if (c->pool || c->threads == 1)
    return NEO_OK;
  c->own_pool = true;
  neo_rt_status status = neo_rti_pool_create(c->threads, c->env.alloc, &c->pool);
  return status ? neo_rti_fail(c, status, "%d threads could not be started", c->threads) : NEO_OK;
}

static neo_rt_status set_up(neo_rt_ctx *c, const neo_rt_config *config) {
  c->log = config->log;
  c->log_user = config->log_user;
  c->flags = config->flags;
  bool gpu = c->model->device != NULL;
  if (!gpu && config->device && strcmp(config->device, "cpu") != 0)
    return neo_rti_fail(c, NEO_UNSUPPORTED, "device '%s' is not known; this library runs on 'cpu'",
                        config->device);
  neo_rt_status status =
      gpu ? neo_rti_cuda_open(c, config->device, config->stream) : take_threads(c, config);
  if (status)
    return status;
  c->threads = gpu ? 1 : c->threads;
  layout l = arena_layout(c->model, c->threads);
  status = take_arena(c, config, &l);
  if (!status)
    status = start_threads(c);
  if (status)
    return status;
  fill_tables(c);
  choose_variants(c);
  c->alive = true;
  status = neo_rt_reset(c, config->seed);
  c->alive = status == NEO_OK;
  if (c->alive)
    neo_rti_log(c, NEO_RTI_LOG_INFO, "%s: %d threads, %lld bytes", c->model->name, c->threads,
                (long long)c->arena_bytes);
  return status;
}

/* A caller with an older header has a shorter struct; what it lacks is 0. */
static neo_rt_config full_config(const neo_rt_config *given) {
  neo_rt_config config;
  memset(&config, 0, sizeof config);
  if (!given)
    return config;
  size_t n = given->struct_size;
  memcpy(&config, given, n == 0 || n > sizeof config ? sizeof config : n);
  return config;
}

static neo_rti_env filled(const neo_rti_env *env) {
  neo_rti_env e = *env;
  if (!e.alloc.resize)
    e.alloc = neo_alloc_default;
  if (!e.io.open)
    e.io = neo_io_default;
  return e;
}

neo_rt_status neo_rti_create(const neo_rt_model *model, const neo_rt_config *given,
                             const neo_rti_env *env, neo_rt_ctx **out) {
  if (!out)
    return NEO_NULL;
  *out = NULL;
  if (!model)
    return NEO_NULL;
  neo_rt_config config = full_config(given);
  neo_rti_env e = filled(env);
  char broken[sizeof((neo_rt_ctx *)0)->error] = "";
  neo_rt_status status = neo_rti_model_check(model, broken, sizeof broken);
  neo_rt_ctx *c = new_ctx(model, &e, status == NEO_OK);
  if (!c)
    return NEO_MEMORY;
  *out = c;
  if (!status)
    return set_up(c, &config);
  c->log = config.log;
  c->log_user = config.log_user;
  return neo_rti_fail(c, status, "%s", broken);
}

neo_rt_status neo_rt_create(const neo_rt_model *model, const neo_rt_config *config,
                            neo_rt_ctx **out) {
  return neo_rti_create(model, config, &neo_rti_env_default, out);
}

void neo_rt_destroy(neo_rt_ctx *c) {
  if (!c)
    return;
  neo_alloc alloc = c->env.alloc;
  (void)neo_rti_trace_close(c);
  if (c->own_pool)
    neo_rt_pool_destroy(c->pool);
  if (c->arena_raw)
    NEO_RTI_FREE(&alloc, c->arena_raw);
  neo_rti_cuda_close(c);
  if (c->loaded)
    NEO_RTI_FREE(&alloc, c->loaded);
  NEO_RTI_FREE(&alloc, c);
}

const neo_rt_entry *neo_rti_init_entry(const neo_rt_model *m, int32_t which) {
  for (int32_t i = 0; i < m->n_entries; i++)
    if (m->entries[i].kind == NEO_RT_ENTRY_INIT && which-- == 0)
      return &m->entries[i];
  return NULL;
}

neo_rt_status neo_rti_init_run(neo_rt_ctx *c, const neo_rt_entry *e) {
  for (int32_t i = 0; i < c->model->n_sizes; i++)
    c->sizes[i] = c->model->sizes[i].hi;
  return neo_rti_entry_run(c, e, NULL);
}

neo_rt_status neo_rt_reset(neo_rt_ctx *c, uint64_t seed) {
  neo_rt_status status = neo_rti_alive(c);
  if (status)
    return status;
  c->seed = seed;
  c->step = c->calls = 0;
  neo_rti_keep_changed(c, -1);
  const neo_rt_entry *init = neo_rti_init_entry(c->model, 0);
  return init ? neo_rti_init_run(c, init) : NEO_OK;
}

neo_rt_status neo_rt_warm(neo_rt_ctx *c) {
  neo_rt_status status = neo_rti_alive(c);
  return status || !c->cuda ? status : neo_rti_cuda_warm(c);
}

neo_rt_status neo_rt_wait(neo_rt_ctx *c) {
  neo_rt_status status = neo_rti_alive(c);
  return status || !c->cuda ? status : neo_rti_cuda_finish(c, "waiting");
}

const neo_rt_model *neo_rt_model_of(const neo_rt_ctx *ctx) {
  return ctx ? ctx->model : NULL;
}
uint64_t neo_rt_step_count(const neo_rt_ctx *ctx) {
  return ctx ? ctx->step : 0;
}

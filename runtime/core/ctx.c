/* ctx.c: a context's life.
 *
 * Its book-keeping (the struct and its tables) and its arena are complete before the first kernel
 * runs. Only its work grows later, between entries (frame.c). */
#include "runtime/context.h"
#include "runtime/core/call_cache.h"
#include "runtime/core/run.h"
#include "runtime/core/setup.h"
#include "runtime/core/trace.h"
#include <string.h>

/* Allocates a context. With a sound model it includes the tables; otherwise it only holds a
 * message. */
static neo_rt_ctx *new_ctx(const neo_rt_model *m, const neo_rti_env *env, bool sound) {
  neo_rt_ctx probe;
  memset(&probe, 0, sizeof probe);
  const size_t head = (sizeof(neo_rt_ctx) + 15) & ~(size_t)15;
  size_t tables = sound ? (size_t)(neo_rti_tables_carve(&probe, m, (char *)16) - (char *)16) : 0;
  neo_rt_ctx *c = env->alloc.resize(env->alloc.ctx, NULL, head + tables);
  if (!c)
    return NULL;
  memset(c, 0, head + tables);
  c->model = m;
  c->env = *env;
  if (sound)
    neo_rti_tables_carve(c, m, (char *)c + head);
  return c;
}

static neo_rt_status set_up(neo_rt_ctx *c, const neo_rt_config *config) {
  c->device = neo_rti_device_of(c->model);
  c->flags = config->flags;
  c->cancel = config->cancel;
  neo_rt_status status = c->device->open(c, config);
  if (!status)
    status = neo_rti_arena_take(c, config);
  if (!status)
    status = c->device->start(c);
  if (status)
    return status;
  neo_rti_tables_fill(c);
  c->alive = true;
  status = neo_rt_reset(c, config->seed);
  c->alive = status == NEO_OK;
  if (c->alive)
    neo_rti_log(c, NEO_RTI_LOG_INFO, "%s: %d threads, %lld bytes", c->model->name, c->threads,
                (long long)neo_rt_bytes(c));
  return status;
}

/* The configuration of a caller with an older header, whose struct is shorter: missing members are
 * 0. */
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

/* `interface` is the hash in the caller's header; null: it has none. */
static neo_rt_status check(const neo_rt_model *m, const uint64_t *interface, char *why, size_t n) {
  neo_rt_status status = neo_rti_model_check(m, why, n);
  if (status || !interface || *interface == m->interface)
    return status;
  return neo_rti_say(why, n, NEO_HEADER,
                     "the header of %s that this program was compiled with is not the library's: "
                     "compile the model, and then the program, again",
                     m->name);
}

static neo_rt_status create(const neo_rt_model *model, const uint64_t *interface,
                            const neo_rt_config *given, const neo_rti_env *env, neo_rt_ctx **out) {
  if (!out)
    return NEO_NULL;
  *out = NULL;
  if (!model)
    return NEO_NULL;
  neo_rt_config config = full_config(given);
  neo_rti_env e = filled(env);
  char broken[sizeof((neo_rt_ctx *)0)->error] = "";
  neo_rt_status status = check(model, interface, broken, sizeof broken);
  neo_rt_ctx *c = new_ctx(model, &e, status == NEO_OK);
  if (!c)
    return NEO_MEMORY;
  *out = c;
  c->log = config.log;
  c->log_user = config.log_user;
  return !status ? set_up(c, &config) : neo_rti_fail(c, status, "%s", broken);
}

neo_rt_status neo_rti_create(const neo_rt_model *model, const neo_rt_config *config,
                             const neo_rti_env *env, neo_rt_ctx **out) {
  return create(model, NULL, config, env, out);
}

neo_rt_status neo_rt_create(const neo_rt_model *model, const neo_rt_config *config,
                            neo_rt_ctx **out) {
  neo_rti_env env = {neo_alloc_default, neo_io_default};
  return neo_rti_create(model, config, &env, out);
}

neo_rt_status neo_rt_create_for(const neo_rt_model *model, uint64_t interface,
                                const neo_rt_config *config, neo_rt_ctx **out) {
  neo_rti_env env = {neo_alloc_default, neo_io_default};
  return create(model, &interface, config, &env, out);
}

void neo_rt_destroy(neo_rt_ctx *c) {
  if (!c)
    return;
  neo_alloc alloc = c->env.alloc;
  neo_rt_status lost = neo_rti_trace_close(c); /* the failure is in the log; no caller can get it */
  (void)lost;
  if (c->state)
    c->device->close(c);
  if (c->loaded)
    NEO_RTI_FREE(&alloc, c->loaded);
  NEO_RTI_FREE(&alloc, c);
}

neo_rt_status neo_rt_reset(neo_rt_ctx *c, uint64_t seed) {
  neo_rt_status status = neo_rti_alive(c);
  if (status)
    return status;
  c->seed = seed;
  c->step = c->calls = 0;
  neo_rti_call_cache_written(c, -1);
  const neo_rt_entry *init = neo_rti_init_entry(c->model, 0);
  return init ? neo_rti_init_run(c, init) : NEO_OK;
}

void neo_rti_copy_position(const neo_rt_ctx *from, neo_rt_ctx *to) {
  to->seed = from->seed;
  to->step = from->step;
  to->calls = from->calls;
}

void neo_rti_set_position(neo_rt_ctx *c, uint64_t seed, uint64_t step) {
  c->seed = seed;
  c->step = step;
  c->calls = 0;
}

neo_rt_status neo_rt_seek(neo_rt_ctx *c, uint64_t seed, uint64_t step) {
  neo_rt_status status = neo_rti_alive(c);
  if (!status)
    neo_rti_set_position(c, seed, step);
  return status;
}

neo_rt_status neo_rt_warm(neo_rt_ctx *c) {
  neo_rt_status status = neo_rti_alive(c);
  return status ? status : c->device->warm(c);
}

neo_rt_status neo_rt_wait(neo_rt_ctx *c) {
  neo_rt_status status = neo_rti_alive(c);
  return status ? status : c->device->synchronise(c, "waiting");
}

const neo_rt_model *neo_rt_model_of(const neo_rt_ctx *ctx) {
  return ctx ? ctx->model : NULL;
}
uint64_t neo_rt_step_count(const neo_rt_ctx *ctx) {
  return ctx ? ctx->step : 0;
}

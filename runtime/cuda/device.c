/* device.c: contexts of models for NVIDIA GPUs, over the driver.
 *
 * A context has the primary context of its device, a stream of its own, and its arena in the
 * device's memory: the classes of memory lie there at the offsets that a processor's arena would
 * have, and after them the places of the caller's tensors, which are copied there before an entry
 * runs and from there afterwards. The primary context is pushed for the time of a call, so that the
 * caller's choice of a device stays. The arena is of the driver's memory pool, where it has one, so
 * that contexts that come and go do not stop the device.
 *
 * The module is loaded, and its functions are looked up, when a kernel is launched first, by the
 * entry that sets initial values as a rule, or by neo_rt_warm. */
#include "runtime/cuda/cuda.h"
#include "base/gpu.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------ messages */

static neo_rt_status status_of(cuda_result r) {
  switch (r) {
  case CUDA_OUT_OF_MEMORY:
    return NEO_MEMORY;
  case CUDA_NO_DEVICE:
  case CUDA_NO_BINARY:
  case CUDA_INVALID_PTX:
  case CUDA_UNSUPPORTED_PTX:
    return NEO_UNSUPPORTED;
  default:
    return NEO_INTERNAL;
  }
}

typedef struct {
  char text[64];
} note;

/* "; 12 of 8589934592 bytes are free", where that is the reason and can be known. */
static note free_bytes(neo_rt_ctx *c, cuda_result r) {
  note n = {""};
  size_t has = 0, all = 0;
  if (r == CUDA_OUT_OF_MEMORY && c->cuda->context && c->cuda->api.memory_info(&has, &all) == 0)
    snprintf(n.text, sizeof n.text, "; %zu of %zu bytes are free", has, all);
  return n;
}

neo_rt_status neo_rti_cuda_told(neo_rt_ctx *c, cuda_result r, const char *doing) {
  char text[CUDA_TEXT];
  if (r == 0 || !doing)
    return r ? status_of(r) : NEO_OK;
  return neo_rti_fail(c, status_of(r), "%s: %s%s", c->cuda->name[0] ? c->cuda->name : "CUDA",
                      neo_rti_cuda_why(&c->cuda->api, r, doing, text), free_bytes(c, r).text);
}

/* ------------------------------------------------------------ the driver and its device */

static neo_rt_status open_driver(neo_rt_ctx *c) {
  neo_rti_cuda *u = c->cuda;
  char text[CUDA_TEXT];
  const char *why = neo_rti_cuda_driver(&u->api, &u->library, text);
  if (why)
    return neo_rti_fail(c, NEO_UNSUPPORTED, "%s runs on a GPU: %s", c->model->name, why);
  return neo_rti_cuda_told(c, u->api.init(0), "initialising the driver");
}

/* "cuda", "cuda:1"; null: the first. */
static neo_rt_status device_number(neo_rt_ctx *c, const char *device, int *number) {
  char rest;
  *number = 0;
  if (!device || strcmp(device, "cuda") == 0)
    return NEO_OK;
  if (sscanf(device, "cuda:%d%c", number, &rest) == 1 && *number >= 0)
    return NEO_OK;
  return neo_rti_fail(c, NEO_UNSUPPORTED, "device '%s' is not known; %s runs on 'cuda' or 'cuda:N'",
                      device, c->model->name);
}

static neo_rt_status check_level(neo_rt_ctx *c) {
  neo_rti_cuda *u = c->cuda;
  int major = 0, minor = 0;
  neo_rt_status s =
      neo_rti_cuda_told(c, u->api.device_attribute(&major, CUDA_CAPABILITY_MAJOR, u->device),
                        "asking for the device's generation");
  if (!s)
    s = neo_rti_cuda_told(c, u->api.device_attribute(&minor, CUDA_CAPABILITY_MINOR, u->device),
                          "asking for the device's generation");
  if (s)
    return s;
  const char *level = c->model->device;
  char name[NEO_GPU_NAME];
  int has = 10 * major + minor;
  if (neo_gpu_runs(has, level))
    return NEO_OK;
  if (!neo_gpu_name(has, name))
    return neo_rti_fail(c, NEO_UNSUPPORTED,
                        "%s was compiled for %s; %s (compute capability %d.%d) is older than all "
                        "GPUs that neoc compiles for",
                        c->model->name, level, u->name, major, minor);
  return neo_rti_fail(c, NEO_UNSUPPORTED,
                      "%s was compiled for %s, which %s (compute capability %d.%d) cannot run: "
                      "compile it with --target=nvptx:%s",
                      c->model->name, level, u->name, major, minor, name);
}

static neo_rt_status open_device(neo_rt_ctx *c, const char *device) {
  neo_rti_cuda *u = c->cuda;
  int n = 0;
  neo_rt_status s = device_number(c, device, &u->number);
  if (!s)
    s = open_driver(c);
  if (!s)
    s = neo_rti_cuda_told(c, u->api.device_count(&n), "counting devices");
  if (s)
    return s;
  if (u->number >= n)
    return neo_rti_fail(c, NEO_UNSUPPORTED, "there is no device cuda:%d: the driver has %d",
                        u->number, n);
  s = neo_rti_cuda_told(c, u->api.device_get(&u->device, u->number), "opening the device");
  if (!s)
    s = neo_rti_cuda_told(c,
                          u->api.device_attribute(&u->processors, CUDA_MULTIPROCESSORS, u->device),
                          "counting multiprocessors");
  if (!s)
    s = neo_rti_cuda_told(c, u->api.device_name(u->name, (int)sizeof u->name, u->device),
                          "naming the device");
  return s ? s : check_level(c);
}

neo_rt_status neo_rti_cuda_enter(neo_rt_ctx *c) {
  return neo_rti_cuda_told(c, c->cuda->api.context_push(c->cuda->context),
                           "making the device current");
}

void neo_rti_cuda_leave(neo_rt_ctx *c) {
  cuda_context before;
  (void)c->cuda->api.context_pop(&before);
}

/* ------------------------------------------------------------ life */

/* And the pinned memory of its copies. */
static neo_rt_status make_stream(neo_rt_ctx *c, void *stream) {
  neo_rti_cuda *u = c->cuda;
  neo_rt_status s =
      neo_rti_cuda_told(c, u->api.context_retain(&u->context, u->device), "opening the device");
  if (s)
    return s;
  u->retained = true;
  s = neo_rti_cuda_enter(c);
  if (s)
    return s;
  u->stream = stream;
  if (!stream) {
    s = neo_rti_cuda_told(c, u->api.stream_create(&u->stream, CUDA_STREAM_NON_BLOCKING),
                          "making a stream");
    u->own_stream = s == NEO_OK;
  }
  if (!s)
    s = neo_rti_cuda_ring_open(c);
  neo_rti_cuda_leave(c);
  return s;
}

static size_t most_params(const neo_rt_model *m) {
  int32_t n = 0;
  for (int32_t i = 0; i < m->n_steps; i++)
    if (m->steps[i].n > n)
      n = m->steps[i].n;
  size_t plain = (size_t)n + (size_t)m->n_sizes + 5 + NEO_RT_MOST_MAPS;
  size_t grid = neo_rti_cuda_grid_params(m);
  return plain > grid ? plain : grid;
}

static bool is_text(const char *variable, const char *text) {
  const char *asked = getenv(variable);
  return asked && strcmp(asked, text) == 0;
}

static bool is_off(const char *variable) {
  return is_text(variable, "0");
}

/* NEO_CUDA_GRAPHS=0: kernels are launched one by one; 2: graphs are made for the first call. */
static bool wants_graphs(const neo_rti_cuda *u) {
  const cuda_api *a = &u->api;
  return !is_off("NEO_CUDA_GRAPHS") && a->graph_create && a->graph_destroy && a->graph_kernel &&
         a->graph_copy && a->graph_make && a->graph_set_kernel && a->graph_set_copy &&
         a->graph_launch && a->graph_end;
}

static size_t round_up(size_t n) {
  return (n + 15) & ~(size_t)15;
}

neo_rt_status neo_rti_cuda_open(neo_rt_ctx *c, const char *device, void *stream) {
  const neo_rt_model *m = c->model;
  size_t head = round_up(sizeof(neo_rti_cuda));
  size_t functions = round_up((size_t)m->n_kernels * sizeof(cuda_function));
  size_t params = round_up(most_params(m) * sizeof(void *));
  size_t resident = round_up((size_t)m->n_grids * sizeof(cuda_resident));
  size_t bytes = head + functions + params + resident + neo_rti_cuda_graphs_bytes(m);
  char *p = c->env.alloc.resize(c->env.alloc.ctx, NULL, bytes);
  if (!p)
    return neo_rti_fail(c, NEO_MEMORY, "out of memory");
  memset(p, 0, bytes);
  c->cuda = (neo_rti_cuda *)(void *)p;
  c->cuda->function = (cuda_function *)(void *)(p + head);
  c->cuda->param = (void **)(void *)(p + head + functions);
  c->cuda->resident = (cuda_resident *)(void *)(p + head + functions + params);
  c->cuda->graphs = (cuda_graphs *)(void *)(p + head + functions + params + resident);
  neo_rt_status s = open_device(c, device);
  if (!s)
    s = make_stream(c, stream);
  c->cuda->with_graphs = wants_graphs(c->cuda);
  c->cuda->with_early = c->cuda->api.graph_edges && !is_off("NEO_CUDA_EARLY");
  c->cuda->with_persistent = !is_off("NEO_CUDA_PERSISTENT");
  c->cuda->at_once = is_text("NEO_CUDA_GRAPHS", "2");
  c->cuda->with_grids = !s && neo_rti_cuda_wants_grids(c->cuda);
  return s;
}

int neo_rti_cuda_number(const neo_rt_ctx *c) {
  return c->cuda ? c->cuda->number : 0;
}

static void free_arena(neo_rti_cuda *u) {
  if (u->arena && u->pooled)
    (void)u->api.pool_free(u->arena, u->stream);
  else if (u->arena)
    (void)u->api.memory_free(u->arena);
}

void neo_rti_cuda_close(neo_rt_ctx *c) {
  neo_rti_cuda *u = c->cuda;
  if (!u)
    return;
  if (u->retained && u->api.context_push(u->context) == 0) {
    if (u->stream)
      (void)u->api.stream_wait(u->stream);
    neo_rti_cuda_graphs_close(c);
    neo_rti_cuda_ring_close(c);
    if (u->module)
      (void)u->api.module_unload(u->module);
    free_arena(u);
    if (u->own_stream)
      (void)u->api.stream_destroy(u->stream);
    neo_rti_cuda_leave(c);
  }
  if (u->retained)
    (void)u->api.context_release(u->device);
  if (u->library)
    dlclose(u->library);
  NEO_RTI_FREE(&c->env.alloc, u);
  c->cuda = NULL;
}

static neo_rt_status out_of_memory(neo_rt_ctx *c, size_t n) {
  size_t has = 0, all = 0;
  (void)c->cuda->api.memory_info(&has, &all);
  return neo_rti_fail(c, NEO_MEMORY, "out of memory on %s: %s needs %zu bytes, %zu of %zu are free",
                      c->cuda->name, c->model->name, n, has, all);
}

/* From the pool of the device, in the stream's order, where there is one. */
static cuda_result take_arena(neo_rti_cuda *u, size_t n) {
  int pools = 0;
  if (u->api.pool_alloc && u->api.pool_free &&
      u->api.device_attribute(&pools, CUDA_MEMORY_POOLS, u->device) == 0 && pools) {
    cuda_result r = u->api.pool_alloc(&u->arena, n, u->stream);
    u->pooled = r == 0;
    if (r == 0 || r == CUDA_OUT_OF_MEMORY)
      return r;
  }
  return u->api.memory_alloc(&u->arena, n);
}

neo_rt_status neo_rti_cuda_alloc(neo_rt_ctx *c, size_t n, size_t zero, unsigned char **out) {
  neo_rti_cuda *u = c->cuda;
  neo_rt_status s = neo_rti_cuda_enter(c);
  if (s)
    return s;
  cuda_result r = take_arena(u, n ? n : 1);
  if (r == CUDA_OUT_OF_MEMORY)
    s = out_of_memory(c, n);
  else
    s = neo_rti_cuda_told(c, r, "allocating memory");
  if (!s && zero)
    s = neo_rti_cuda_told(c, u->api.memory_zero(u->arena, 0, zero, u->stream), "clearing memory");
  if (!s)
    s = neo_rti_cuda_told(c, u->api.stream_wait(u->stream), "clearing memory");
  neo_rti_cuda_leave(c);
  *out = (unsigned char *)(uintptr_t)u->arena;
  return s;
}

/* ------------------------------------------------------------ kernels */

/* What each CUDA reads: PTX of a later version is refused. */
static neo_rt_status too_old(neo_rt_ctx *c, cuda_result r) {
  int version = 0;
  (void)c->cuda->api.driver_version(&version);
  return neo_rti_fail(c, NEO_UNSUPPORTED,
                      "%s: the driver, of CUDA %d.%d, is too old for the kernels of %s (%s, %d): "
                      "update it, or compile with ptxas installed",
                      c->cuda->name, version / 1000, version % 1000 / 10, c->model->name,
                      c->model->device, r);
}

/* The first image that the driver takes. */
static neo_rt_status load_module(neo_rt_ctx *c) {
  neo_rti_cuda *u = c->cuda;
  cuda_result r = CUDA_NO_BINARY;
  for (int32_t i = 0; i < c->model->n_images && !u->module; i++)
    if ((r = u->api.module_load(&u->module, c->model->images[i].data)) != 0)
      u->module = NULL;
  if (u->module)
    return NEO_OK;
  return r == CUDA_UNSUPPORTED_PTX ? too_old(c, r) : neo_rti_cuda_told(c, r, "loading the kernels");
}

/* What a launch may ask for of shared memory without being allowed to is little. */
static cuda_result allow_shared(neo_rti_cuda *u, cuda_function f, int64_t bytes) {
  return bytes <= CUDA_PLAIN_SHARED_BYTES ? 0
                                          : u->api.function_set(f, CUDA_MOST_SHARED, (int)bytes);
}

neo_rt_status neo_rti_cuda_function(neo_rt_ctx *c, int32_t kernel) {
  neo_rti_cuda *u = c->cuda;
  const neo_rt_kernel *k = &c->model->kernels[kernel];
  neo_rt_status s = u->module ? NEO_OK : load_module(c);
  if (s || u->function[kernel])
    return s;
  cuda_function f;
  s = neo_rti_cuda_told(c, u->api.module_function(&f, u->module, k->device_symbol),
                        "looking up a kernel");
  if (!s)
    s = neo_rti_cuda_told(c, allow_shared(u, f, k->scratch_bytes), k->name);
  if (!s)
    u->function[kernel] = f;
  return s;
}

neo_rt_status neo_rti_cuda_warm(neo_rt_ctx *c) {
  neo_rt_status s = neo_rti_cuda_enter(c);
  if (s)
    return s;
  for (int32_t k = 0; !s && k < c->model->n_kernels; k++)
    s = neo_rti_cuda_function(c, k);
  neo_rti_cuda_leave(c);
  return s;
}

cuda_kernel_node neo_rti_cuda_kernel(neo_rt_ctx *c, int32_t i, const uint64_t *key) {
  neo_rti_cuda *u = c->cuda;
  const neo_rt_step *step = &c->model->steps[i];
  const neo_rt_kernel *k = &c->model->kernels[step->arg];
  size_t n = 0;
  for (int32_t a = 0; a < step->n; a++)
    u->param[n++] = &c->ptr[step->first + a];
  for (int32_t a = 0; a < c->model->n_sizes; a++)
    u->param[n++] = &c->sizes[a];
  for (int32_t a = 0; a < 3; a++)
    u->param[n++] = (void *)(uintptr_t)&key[a];
  u->param[n++] = &c->units[i];
  for (int32_t a = 0; a < k->n_maps; a++)
    u->param[n++] = &u->map[a];
  u->param[n] = NULL;
  int64_t each = u->with_persistent ? k->persistent : 0; /* any number of blocks will do */
  unsigned grid = (unsigned)cuda_blocks(c->units[i], k->block_units, each, u->processors);
  return (cuda_kernel_node){.function = u->function[step->arg],
                            .grid = {grid, 1, 1},
                            .block = {(unsigned)k->block, 1, 1},
                            .shared_bytes = (unsigned)k->scratch_bytes,
                            .params = u->param};
}

bool neo_rti_cuda_step_runs(const neo_rt_ctx *c, int32_t i, int64_t *bytes) {
  const neo_rt_step *s = &c->model->steps[i];
  if (c->units[i] == 0 || s->op == NEO_RT_STEP_RUN)
    return c->units[i] != 0;
  int64_t n = neo_rt_eval(c->model, s->arg, c->sizes);
  if (bytes)
    *bytes = n;
  return n > 0 && c->ptr[s->first] != c->ptr[s->first + 1];
}

/* ------------------------------------------------------------ running */

static neo_rt_status launch(neo_rt_ctx *c, int32_t i, const uint64_t *key) {
  int32_t kernel = c->model->steps[i].arg;
  neo_rt_status s = neo_rti_cuda_function(c, kernel);
  if (!s)
    s = neo_rti_cuda_told(c, neo_rti_cuda_maps(c, i), "describing tensors to the device");
  if (s)
    return s;
  cuda_kernel_node k = neo_rti_cuda_kernel(c, i, key);
  cuda_result r =
      c->cuda->api.launch(k.function, k.grid[0], k.grid[1], k.grid[2], k.block[0], k.block[1],
                          k.block[2], k.shared_bytes, c->cuda->stream, k.params, NULL);
  return neo_rti_cuda_told(c, r, c->model->kernels[kernel].name);
}

static neo_rt_status copy(neo_rt_ctx *c, const neo_rt_step *s, size_t n) {
  cuda_ptr to = (cuda_ptr)(uintptr_t)c->ptr[s->first];
  cuda_ptr from = (cuda_ptr)(uintptr_t)c->ptr[s->first + 1];
  return neo_rti_cuda_told(c, c->cuda->api.copy(to, from, n, c->cuda->stream), "copying");
}

static neo_rt_status run_step(neo_rt_ctx *c, int32_t i, const uint64_t *key) {
  const neo_rt_step *s = &c->model->steps[i];
  int64_t n = 0;
  if (!neo_rti_cuda_step_runs(c, i, &n))
    return NEO_OK;
  neo_rti_cuda_mark_step(c, i);
  neo_rt_status status = s->op == NEO_RT_STEP_RUN ? launch(c, i, key) : copy(c, s, (size_t)n);
  neo_rti_cuda_mark_end(c);
  return status;
}

neo_rt_status neo_rti_cuda_run(neo_rt_ctx *c, const neo_rt_entry *e, const uint64_t *key) {
  bool ran = false;
  neo_rt_status s = neo_rti_cuda_enter(c);
  if (s)
    return s;
  if (!c->trace) /* which tells kernels apart */
    s = neo_rti_cuda_graph_run(c, e, key, &ran);
  for (int32_t i = e->first_step; !s && !ran && i < e->first_step + e->n_steps; i++)
    s = run_step(c, i, key);
  neo_rti_cuda_leave(c);
  return s;
}

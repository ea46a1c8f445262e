/* open.c: the device of a context, its stream, and the features of the driver that it may use.
 *
 * A context has the primary context of its device, and a stream of its own or the caller's. */
#define _GNU_SOURCE 1 /* secure_getenv */
#include "base/gpu.h"
#include "runtime/cuda/cuda.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------ the driver and its device */

static neo_rt_status open_driver(neo_rt_ctx *c) {
  neo_rti_cuda *u = cuda_of(c);
  char text[CUDA_TEXT];
  const char *why = neo_rti_cuda_driver(&u->api, &u->library, text);
  if (why)
    return neo_rti_fail(c, NEO_UNSUPPORTED, "%s runs on a GPU: %s", c->model->name, why);
  return neo_rti_cuda_status(c, u->api.init(0), "initialising the driver");
}

/* Reads "cuda" or "cuda:1"; null: the first. */
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
  neo_rti_cuda *u = cuda_of(c);
  int major = 0, minor = 0;
  neo_rt_status s =
      neo_rti_cuda_status(c, u->api.device_attribute(&major, CUDA_CAPABILITY_MAJOR, u->device),
                          "asking for the device's generation");
  if (!s)
    s = neo_rti_cuda_status(c, u->api.device_attribute(&minor, CUDA_CAPABILITY_MINOR, u->device),
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
  neo_rti_cuda *u = cuda_of(c);
  int n = 0;
  neo_rt_status s = device_number(c, device, &u->number);
  if (!s)
    s = open_driver(c);
  if (!s)
    s = neo_rti_cuda_status(c, u->api.device_count(&n), "counting devices");
  if (s)
    return s;
  if (u->number >= n)
    return neo_rti_fail(c, NEO_UNSUPPORTED, "there is no device cuda:%d: the driver has %d",
                        u->number, n);
  s = neo_rti_cuda_status(c, u->api.device_get(&u->device, u->number), "opening the device");
  if (!s)
    s = neo_rti_cuda_status(
        c, u->api.device_attribute(&u->processors, CUDA_MULTIPROCESSORS, u->device),
        "counting multiprocessors");
  if (!s)
    s = neo_rti_cuda_status(c, u->api.device_name(u->name, (int)sizeof u->name, u->device),
                            "naming the device");
  return s ? s : check_level(c);
}

/* ------------------------------------------------------------ life */

/* Gets the stream, and the pinned memory of its copies. */
static neo_rt_status make_stream(neo_rt_ctx *c, void *stream) {
  neo_rti_cuda *u = cuda_of(c);
  neo_rt_status s =
      neo_rti_cuda_status(c, u->api.context_retain(&u->context, u->device), "opening the device");
  if (s)
    return s;
  u->retained = true;
  s = neo_rti_cuda_enter(c);
  if (s)
    return s;
  u->stream = stream;
  if (!stream) {
    s = neo_rti_cuda_status(c, u->api.stream_create(&u->stream, CUDA_STREAM_NON_BLOCKING),
                            "making a stream");
    u->own_stream = s == NEO_OK;
  }
  if (!s)
    s = neo_rti_cuda_staging_open(c);
  neo_rti_cuda_leave(c);
  return s;
}

static size_t most_params(const neo_rt_model *m) {
  int32_t n = 0;
  for (int32_t i = 0; i < m->n_steps; i++)
    if (neo_rti_step_args(&m->steps[i]) > n)
      n = neo_rti_step_args(&m->steps[i]);
  size_t plain = (size_t)n + (size_t)m->n_sizes + 5 + NEO_RT_MOST_MAPS;
  size_t grid = neo_rti_cuda_grid_params(m);
  return plain > grid ? plain : grid;
}

static bool is_text(const char *variable, const char *text) {
  const char *asked = secure_getenv(variable);
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

/* Makes c->state, with its tables after it. */
static neo_rti_cuda *new_state(neo_rt_ctx *c) {
  const neo_rt_model *m = c->model;
  size_t head = round_up(sizeof(neo_rti_cuda));
  size_t functions = round_up((size_t)m->n_kernels * sizeof(cuda_function));
  size_t params = round_up(most_params(m) * sizeof(void *));
  size_t resident = round_up((size_t)m->n_grids * sizeof(cuda_resident));
  size_t bytes = head + functions + params + resident + neo_rti_cuda_graphs_bytes(m);
  char *p = c->env.alloc.resize(c->env.alloc.ctx, NULL, bytes);
  if (!p)
    return NULL;
  memset(p, 0, bytes);
  neo_rti_cuda *u = c->state = p;
  u->function = (cuda_function *)(void *)(p + head);
  u->param = (void **)(void *)(p + head + functions);
  u->resident = (cuda_resident *)(void *)(p + head + functions + params);
  u->graphs = (cuda_graphs *)(void *)(p + head + functions + params + resident);
  return u;
}

neo_rt_status neo_rti_cuda_open(neo_rt_ctx *c, const neo_rt_config *config) {
  c->threads = 1;
  neo_rti_cuda *u = new_state(c);
  if (!u)
    return neo_rti_fail(c, NEO_MEMORY, "out of memory");
  neo_rt_status s = open_device(c, config->device);
  if (!s)
    s = make_stream(c, config->stream);
  u->with_graphs = wants_graphs(u);
  u->with_programmatic = u->api.graph_edges && !is_off("NEO_CUDA_EARLY");
  u->with_persistent = !is_off("NEO_CUDA_PERSISTENT");
  u->at_once = is_text("NEO_CUDA_GRAPHS", "2");
  u->with_grids = u->with_grid_nodes = !s && neo_rti_cuda_wants_grids(u);
  return s;
}

/* Frees everything in the driver's context, which is current. */
static void close_stream(neo_rt_ctx *c) {
  neo_rti_cuda *u = cuda_of(c);
  if (u->stream)
    (void)u->api.stream_wait(u->stream);
  neo_rti_cuda_graphs_close(c);
  neo_rti_cuda_staging_close(c);
  if (u->module)
    (void)u->api.module_unload(u->module);
  neo_rti_cuda_arena_free(u);
  if (u->own_stream)
    (void)u->api.stream_destroy(u->stream);
}

void neo_rti_cuda_close(neo_rt_ctx *c) {
  neo_rti_cuda *u = cuda_of(c);
  if (u->retained && u->api.context_push(u->context) == 0) {
    close_stream(c);
    neo_rti_cuda_leave(c);
  }
  if (u->retained)
    (void)u->api.context_release(u->device);
  if (u->library)
    dlclose(u->library);
  NEO_RTI_FREE(&c->env.alloc, u);
  c->state = NULL;
}

/* cuda.c: contexts of models for NVIDIA GPUs, over the driver.
 *
 * A context has the primary context of its device, a stream of its own, and its arena in the
 * device's memory: the classes of memory lie there at the offsets that a processor's arena would
 * have, and after them the places of the caller's tensors, which are copied there before an entry
 * runs and from there afterwards. The primary context is pushed for the time of a call, so that the
 * caller's choice of a device stays.
 *
 * The module is loaded, and its functions are looked up, when a kernel is launched first: by the
 * entry that sets initial values, as a rule. */
#include "runtime/cuda_api.h"
#include "runtime/internal.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct neo_rti_cuda {
  void *library;
  cuda_api api;
  cuda_device device;
  int number;
  char name[128];
  bool retained;
  cuda_context context;
  cuda_stream stream;
  bool own_stream;
  cuda_module module;
  cuda_function *function; /* [n_kernels]; null: not looked up yet */
  void **param;            /* of one launch */
  cuda_ptr arena;
};

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

/* NEO_OK if r is success; else what was done and what the driver says of it. */
static neo_rt_status told(neo_rt_ctx *c, cuda_result r, const char *doing) {
  const char *name = NULL, *text = NULL;
  if (r == 0)
    return NEO_OK;
  (void)c->cuda->api.error_name(r, &name);
  (void)c->cuda->api.error_text(r, &text);
  return neo_rti_fail(c, status_of(r), "%s: %s failed: %s (%s, %d)%s",
                      c->cuda->name[0] ? c->cuda->name : "CUDA", doing, text ? text : "no text",
                      name ? name : "unknown error", r, free_bytes(c, r).text);
}

/* ------------------------------------------------------------ the driver and its device */

static neo_rt_status open_driver(neo_rt_ctx *c) {
  const char *own = getenv("NEO_CUDA_DRIVER"), *path = own && *own ? own : "libcuda.so.1";
  neo_rti_cuda *u = c->cuda;
  u->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!u->library)
    return neo_rti_fail(c, NEO_UNSUPPORTED,
                        "%s runs on a GPU, but the CUDA driver cannot be opened: %s",
                        c->model->name, dlerror());
#define FIND(member, symbol, params)                                                             \
  *(void **)&u->api.member = dlsym(u->library, #symbol);                                         \
  if (!u->api.member)                                                                            \
    return neo_rti_fail(c, NEO_UNSUPPORTED, "%s: the CUDA driver is too old: it lacks %s", path, \
                        #symbol);
  CUDA_FUNCTIONS(FIND)
#undef FIND
  return told(c, u->api.init(0), "initialising the driver");
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

/* A level "sm_90a" runs on 9.0 alone, "sm_80" on 8.0 and all later ones. */
static neo_rt_status check_level(neo_rt_ctx *c) {
  neo_rti_cuda *u = c->cuda;
  int major = 0, minor = 0, want = 0;
  neo_rt_status s = told(c, u->api.device_attribute(&major, CUDA_CAPABILITY_MAJOR, u->device),
                         "asking for the device's generation");
  if (!s)
    s = told(c, u->api.device_attribute(&minor, CUDA_CAPABILITY_MINOR, u->device),
             "asking for the device's generation");
  if (s)
    return s;
  const char *level = c->model->device;
  bool own = level[strlen(level) - 1] == 'a';
  sscanf(level, "sm_%d", &want);
  int has = 10 * major + minor;
  if (own ? has == want : has >= want)
    return NEO_OK;
  return neo_rti_fail(c, NEO_UNSUPPORTED,
                      "%s was compiled for %s, which %s (sm_%d) cannot run: compile it with "
                      "--target=nvptx:sm_%d",
                      c->model->name, level, u->name, has, has);
}

static neo_rt_status open_device(neo_rt_ctx *c, const char *device) {
  neo_rti_cuda *u = c->cuda;
  int n = 0;
  neo_rt_status s = device_number(c, device, &u->number);
  if (!s)
    s = open_driver(c);
  if (!s)
    s = told(c, u->api.device_count(&n), "counting devices");
  if (s)
    return s;
  if (u->number >= n)
    return neo_rti_fail(c, NEO_UNSUPPORTED, "there is no device cuda:%d: the driver has %d",
                        u->number, n);
  s = told(c, u->api.device_get(&u->device, u->number), "opening the device");
  if (!s)
    s = told(c, u->api.device_name(u->name, (int)sizeof u->name, u->device), "naming the device");
  return s ? s : check_level(c);
}

static neo_rt_status enter(neo_rt_ctx *c) {
  return told(c, c->cuda->api.context_push(c->cuda->context), "making the device current");
}

static void leave(neo_rt_ctx *c) {
  cuda_context before;
  (void)c->cuda->api.context_pop(&before);
}

static neo_rt_status wait(neo_rt_ctx *c, const char *doing) {
  return told(c, c->cuda->api.stream_wait(c->cuda->stream), doing);
}

/* ------------------------------------------------------------ life */

static neo_rt_status make_stream(neo_rt_ctx *c, void *stream) {
  neo_rti_cuda *u = c->cuda;
  neo_rt_status s = told(c, u->api.context_retain(&u->context, u->device), "opening the device");
  if (s)
    return s;
  u->retained = true;
  u->stream = stream;
  if (stream)
    return NEO_OK;
  s = enter(c);
  if (s)
    return s;
  s = told(c, u->api.stream_create(&u->stream, CUDA_STREAM_NON_BLOCKING), "making a stream");
  u->own_stream = s == NEO_OK;
  leave(c);
  return s;
}

static size_t most_params(const neo_rt_model *m) {
  int32_t n = 0;
  for (int32_t i = 0; i < m->n_steps; i++)
    if (m->steps[i].n > n)
      n = m->steps[i].n;
  return (size_t)n + (size_t)m->n_sizes + 4;
}

neo_rt_status neo_rti_cuda_open(neo_rt_ctx *c, const char *device, void *stream) {
  const neo_rt_model *m = c->model;
  size_t head = (sizeof(neo_rti_cuda) + 15) & ~(size_t)15;
  size_t functions = ((size_t)m->n_kernels * sizeof(cuda_function) + 15) & ~(size_t)15;
  size_t bytes = head + functions + most_params(m) * sizeof(void *);
  char *p = c->env.alloc.resize(c->env.alloc.ctx, NULL, bytes);
  if (!p)
    return neo_rti_fail(c, NEO_MEMORY, "out of memory");
  memset(p, 0, bytes);
  c->cuda = (neo_rti_cuda *)(void *)p;
  c->cuda->function = (cuda_function *)(void *)(p + head);
  c->cuda->param = (void **)(void *)(p + head + functions);
  neo_rt_status s = open_device(c, device);
  return s ? s : make_stream(c, stream);
}

int neo_rti_cuda_number(const neo_rt_ctx *c) {
  return c->cuda ? c->cuda->number : 0;
}

void neo_rti_cuda_close(neo_rt_ctx *c) {
  neo_rti_cuda *u = c->cuda;
  if (!u)
    return;
  if (u->retained && u->api.context_push(u->context) == 0) {
    if (u->stream)
      (void)u->api.stream_wait(u->stream);
    if (u->own_stream)
      (void)u->api.stream_destroy(u->stream);
    if (u->module)
      (void)u->api.module_unload(u->module);
    if (u->arena)
      (void)u->api.memory_free(u->arena);
    leave(c);
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

neo_rt_status neo_rti_cuda_alloc(neo_rt_ctx *c, size_t n, size_t zero, unsigned char **out) {
  neo_rti_cuda *u = c->cuda;
  neo_rt_status s = enter(c);
  if (s)
    return s;
  cuda_result r = u->api.memory_alloc(&u->arena, n ? n : 1);
  if (r == CUDA_OUT_OF_MEMORY)
    s = out_of_memory(c, n);
  else
    s = told(c, r, "allocating memory");
  if (!s && zero)
    s = told(c, u->api.memory_zero(u->arena, 0, zero, u->stream), "clearing memory");
  if (!s)
    s = wait(c, "clearing memory");
  leave(c);
  *out = (unsigned char *)(uintptr_t)u->arena;
  return s;
}

/* ------------------------------------------------------------ copies */

neo_rt_status neo_rti_cuda_upload(neo_rt_ctx *c, void *to, const void *from, size_t n) {
  neo_rt_status s = enter(c);
  if (s)
    return s;
  s = told(c, c->cuda->api.upload((cuda_ptr)(uintptr_t)to, from, n, c->cuda->stream),
           "copying to the device");
  if (!s)
    s = wait(c, "copying to the device");
  leave(c);
  return s;
}

neo_rt_status neo_rti_cuda_copy(neo_rt_ctx *c, void *to, const void *from, size_t n) {
  neo_rt_status s = enter(c);
  if (s)
    return s;
  s = told(
      c, c->cuda->api.copy((cuda_ptr)(uintptr_t)to, (cuda_ptr)(uintptr_t)from, n, c->cuda->stream),
      "copying");
  if (!s)
    s = wait(c, "copying");
  leave(c);
  return s;
}

neo_rt_status neo_rti_cuda_download(neo_rt_ctx *c, void *to, const void *from, size_t n) {
  neo_rt_status s = enter(c);
  if (s)
    return s;
  s = told(c, c->cuda->api.download(to, (cuda_ptr)(uintptr_t)from, n, c->cuda->stream),
           "copying from the device");
  if (!s)
    s = wait(c, "copying from the device");
  leave(c);
  return s;
}

/* ------------------------------------------------------------ running */

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
  return r == CUDA_UNSUPPORTED_PTX ? too_old(c, r) : told(c, r, "loading the kernels");
}

static neo_rt_status find_function(neo_rt_ctx *c, int32_t kernel) {
  neo_rti_cuda *u = c->cuda;
  neo_rt_status s = u->module ? NEO_OK : load_module(c);
  if (s || u->function[kernel])
    return s;
  const char *symbol = c->model->kernels[kernel].device_symbol;
  return told(c, u->api.module_function(&u->function[kernel], u->module, symbol),
              "looking up a kernel");
}

static neo_rt_status launch(neo_rt_ctx *c, const neo_rt_step *step, const uint64_t *key,
                            int64_t units) {
  neo_rti_cuda *u = c->cuda;
  const neo_rt_kernel *k = &c->model->kernels[step->arg];
  neo_rt_status s = find_function(c, step->arg);
  if (s)
    return s;
  size_t n = 0;
  for (int32_t i = 0; i < step->n; i++)
    u->param[n++] = &c->ptr[step->first + i];
  for (int32_t i = 0; i < c->model->n_sizes; i++)
    u->param[n++] = &c->sizes[i];
  for (int32_t i = 0; i < 3; i++)
    u->param[n++] = (void *)(uintptr_t)&key[i];
  u->param[n++] = &units;
  unsigned grid = (unsigned)((units + k->block_units - 1) / k->block_units);
  cuda_result r = u->api.launch(u->function[step->arg], grid, 1, 1, (unsigned)k->block, 1, 1,
                                (unsigned)k->scratch_bytes, u->stream, u->param, NULL);
  return told(c, r, k->name);
}

static neo_rt_status run_step(neo_rt_ctx *c, int32_t i, const uint64_t *key) {
  const neo_rt_step *s = &c->model->steps[i];
  if (c->units[i] == 0)
    return NEO_OK;
  if (s->op == NEO_RT_STEP_RUN)
    return launch(c, s, key, c->units[i]);
  int64_t n = neo_rt_eval(c->model, s->arg, c->sizes);
  cuda_ptr to = (cuda_ptr)(uintptr_t)c->ptr[s->first];
  cuda_ptr from = (cuda_ptr)(uintptr_t)c->ptr[s->first + 1];
  if (n <= 0 || to == from)
    return NEO_OK;
  return told(c, c->cuda->api.copy(to, from, (size_t)n, c->cuda->stream), "copying");
}

neo_rt_status neo_rti_cuda_run(neo_rt_ctx *c, const neo_rt_entry *e, const uint64_t *key) {
  neo_rt_status s = enter(c);
  if (s)
    return s;
  for (int32_t i = e->first_step; !s && i < e->first_step + e->n_steps; i++)
    s = run_step(c, i, key);
  neo_rt_status end = wait(c, e->name);
  leave(c);
  return s ? s : end;
}

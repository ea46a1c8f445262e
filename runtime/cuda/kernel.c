/* kernel.c: kernels of a model: their module, their functions, and a step as a launch.
 *
 * The module is loaded, and its functions are looked up, when a kernel is launched first: as a rule
 * by the entry that sets initial values, or by neo_rt_warm. */
#include "runtime/cuda/cuda.h"

/* Each version of CUDA reads PTX up to one version, and refuses later ones. */
static neo_rt_status too_old(neo_rt_ctx *c, cuda_result r) {
  int version = 0;
  (void)cuda_of(c)->api.driver_version(&version);
  return neo_rti_fail(c, NEO_UNSUPPORTED,
                      "%s: the driver, of CUDA %d.%d, is too old for the kernels of %s (%s, %d): "
                      "update it, or compile with ptxas installed",
                      cuda_of(c)->name, version / 1000, version % 1000 / 10, c->model->name,
                      c->model->device, r);
}

/* The module is the first image that the driver takes. */
static neo_rt_status load_module(neo_rt_ctx *c) {
  neo_rti_cuda *u = cuda_of(c);
  cuda_result r = CUDA_NO_BINARY;
  for (int32_t i = 0; i < c->model->n_images && !u->module; i++)
    if ((r = u->api.module_load(&u->module, c->model->images[i].data)) != 0)
      u->module = NULL;
  if (u->module)
    return NEO_OK;
  return r == CUDA_UNSUPPORTED_PTX ? too_old(c, r)
                                   : neo_rti_cuda_status(c, r, "loading the kernels");
}

/* Allows the function more shared memory than a launch may ask for by default. */
static cuda_result allow_shared(neo_rti_cuda *u, cuda_function f, int64_t bytes) {
  return bytes <= CUDA_PLAIN_SHARED_BYTES ? 0
                                          : u->api.function_set(f, CUDA_MOST_SHARED, (int)bytes);
}

neo_rt_status neo_rti_cuda_function(neo_rt_ctx *c, int32_t kernel) {
  neo_rti_cuda *u = cuda_of(c);
  const neo_rt_kernel *k = &c->model->kernels[kernel];
  neo_rt_status s = u->module ? NEO_OK : load_module(c);
  if (s || u->function[kernel])
    return s;
  cuda_function f;
  s = neo_rti_cuda_status(c, u->api.module_function(&f, u->module, k->device_symbol),
                          "looking up a kernel");
  if (!s)
    s = neo_rti_cuda_status(c, allow_shared(u, f, k->scratch_bytes), k->name);
  if (!s)
    u->function[kernel] = f;
  return s;
}

cuda_kernel_node neo_rti_cuda_kernel(neo_rt_ctx *c, int32_t i, const uint64_t *key) {
  neo_rti_cuda *u = cuda_of(c);
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
  int64_t each = u->with_persistent ? k->persistent : 0; /* the kernel works with any number of
                                                            blocks */
  unsigned grid = (unsigned)cuda_blocks(c->units[i], k->block_units, each, u->processors);
  return (cuda_kernel_node){.function = u->function[step->arg],
                            .grid = {grid, 1, 1},
                            .block = {(unsigned)k->block, 1, 1},
                            .shared_bytes = (unsigned)k->scratch_bytes,
                            .params = u->param};
}

bool neo_rti_cuda_step_runs(const neo_rt_ctx *c, int32_t i, int64_t *bytes) {
  const neo_rt_step *s = &c->model->steps[i];
  if (c->units[i] == 0 || s->op != NEO_RT_STEP_COPY)
    return c->units[i] != 0;
  int64_t n = neo_rt_eval(c->model, s->arg, c->sizes);
  if (bytes)
    *bytes = n;
  return n > 0 && c->ptr[s->first] != c->ptr[s->first + 1];
}

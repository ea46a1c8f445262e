/* arena.c: the arena of a context in the device's memory: the classes of memory lie there at the
 * offsets that a processor's arena would have, and after them the places of the caller's tensors,
 * which are copied there before an entry runs and from there afterwards.
 *
 * The arena comes from the driver's memory pool, if there is one, so that creating and destroying
 * contexts does not synchronize the device. */
#include "runtime/cuda/cuda.h"

static neo_rt_status out_of_memory(neo_rt_ctx *c, size_t n) {
  size_t has = 0, all = 0;
  (void)cuda_of(c)->api.memory_info(&has, &all);
  return neo_rti_fail(c, NEO_MEMORY, "out of memory on %s: %s needs %zu bytes, %zu of %zu are free",
                      cuda_of(c)->name, c->model->name, n, has, all);
}

/* Allocates from the device's pool, in stream order, if there is one. */
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

neo_rt_status neo_rti_cuda_allocate(neo_rt_ctx *c, const neo_rt_config *config, size_t n,
                                    size_t zero) {
  neo_rti_cuda *u = cuda_of(c);
  if (config->arena)
    return neo_rti_fail(c, NEO_UNSUPPORTED, "%s runs on a GPU: it takes no arena of the caller's",
                        c->model->name);
  neo_rt_status s = neo_rti_cuda_enter(c);
  if (s)
    return s;
  cuda_result r = take_arena(u, n ? n : 1);
  if (r == CUDA_OUT_OF_MEMORY)
    s = out_of_memory(c, n);
  else
    s = neo_rti_cuda_status(c, r, "allocating memory");
  if (!s && zero)
    s = neo_rti_cuda_status(c, u->api.memory_zero(u->arena, 0, zero, u->stream), "clearing memory");
  if (!s)
    s = neo_rti_cuda_status(c, u->api.stream_wait(u->stream), "clearing memory");
  neo_rti_cuda_leave(c);
  c->arena = (unsigned char *)(uintptr_t)u->arena;
  return s;
}

void neo_rti_cuda_arena_free(neo_rti_cuda *u) {
  if (u->arena && u->pooled)
    (void)u->api.pool_free(u->arena, u->stream);
  else if (u->arena)
    (void)u->api.memory_free(u->arena);
}

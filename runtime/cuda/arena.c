/* arena.c: the arena and the work of a context in the device's memory. Classes of memory have the
 * offsets in the arena that they would have on a processor. In the work, the caller's tensors come
 * after the frame: they are copied there before an entry runs, and from there afterwards.
 *
 * Both come from the driver's memory pool, if there is one, so that creating and destroying
 * contexts does not synchronize the device. Graphs contain the address of the work, and are made
 * anew when it has grown. */
#include "runtime/cuda/cuda.h"

static neo_rt_status out_of_memory(neo_rt_ctx *c, size_t n) {
  size_t has = 0, all = 0;
  (void)cuda_of(c)->api.memory_info(&has, &all);
  return neo_rti_fail(c, NEO_MEMORY, "out of memory on %s: %s needs %zu bytes, %zu of %zu are free",
                      cuda_of(c)->name, c->model->name, n, has, all);
}

/* Allocates from the device's pool, in stream order, if there is one. */
static cuda_result take(neo_rti_cuda *u, size_t n, cuda_block *out) {
  int pools = 0;
  out->pooled = false;
  if (u->api.pool_alloc && u->api.pool_free &&
      u->api.device_attribute(&pools, CUDA_MEMORY_POOLS, u->device) == 0 && pools) {
    cuda_result r = u->api.pool_alloc(&out->at, n, u->stream);
    out->pooled = r == 0;
    if (r == 0 || r == CUDA_OUT_OF_MEMORY)
      return r;
  }
  return u->api.memory_alloc(&out->at, n);
}

static void give_back(neo_rti_cuda *u, cuda_block *block) {
  if (block->at && block->pooled)
    (void)u->api.pool_free(block->at, u->stream);
  else if (block->at)
    (void)u->api.memory_free(block->at);
  *block = (cuda_block){0};
}

static neo_rt_status taken(neo_rt_ctx *c, cuda_result r, size_t n) {
  return r == CUDA_OUT_OF_MEMORY ? out_of_memory(c, n)
                                 : neo_rti_cuda_status(c, r, "allocating memory");
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
  s = taken(c, take(u, n ? n : 1, &u->arena), n);
  if (!s && zero)
    s = neo_rti_cuda_status(c, u->api.memory_zero(u->arena.at, 0, zero, u->stream),
                            "clearing memory");
  if (!s)
    s = neo_rti_cuda_status(c, u->api.stream_wait(u->stream), "clearing memory");
  neo_rti_cuda_leave(c);
  c->arena = (unsigned char *)(uintptr_t)u->arena.at;
  return s;
}

/* Replaces the work memory by a larger one. Earlier calls in the stream may still use the old one,
 * which the pool frees after them. */
neo_rt_status neo_rti_cuda_regrow(neo_rt_ctx *c, size_t n, size_t least) {
  neo_rti_cuda *u = cuda_of(c);
  neo_rt_status s = neo_rti_cuda_enter(c);
  if (s)
    return s;
  if (u->work.at && !u->work.pooled)
    s = neo_rti_cuda_status(c, u->api.stream_wait(u->stream), "waiting");
  if (!s) {
    neo_rti_cuda_graphs_close(c);
    give_back(u, &u->work);
    cuda_result r = take(u, n, &u->work);
    if (r == CUDA_OUT_OF_MEMORY && n > least)
      r = take(u, n = least, &u->work);
    s = taken(c, r, n);
    if (s)
      u->work = (cuda_block){0};
    c->work = (unsigned char *)(uintptr_t)u->work.at;
    c->work_bytes = s ? 0 : n;
  }
  neo_rti_cuda_leave(c);
  return s;
}

void neo_rti_cuda_arena_free(neo_rti_cuda *u) {
  give_back(u, &u->work);
  give_back(u, &u->arena);
}

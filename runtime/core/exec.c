/* exec.c: runs the steps of an entry.
 *
 * All steps of an entry run in one parallel region. A step's units of work are split over the
 * workers in contiguous ranges; workers meet at a barrier between two steps, unless both are small
 * (one unit at most), which worker 0 does alone. An entry of small steps only, or one thread, needs
 * no region. A step whose kept value is up to date has no units. Nothing here allocates. */
#include "runtime/internal.h"
#include <stdatomic.h>
#include <string.h>

enum { COPY_CHUNK_BYTES = 64 * 1024 };

typedef struct {
  const neo_rt_ctx *ctx;
  const neo_rt_entry *entry;
  uint64_t key[3]; /* seed, step, call */
  _Atomic bool failed;
} region;

static int64_t copy_bytes(const neo_rt_ctx *c, const neo_rt_step *s) {
  int64_t n = neo_rt_eval(c->model, s->arg, c->sizes);
  return n < 0 ? 0 : n;
}

static void run_copy(const neo_rt_ctx *c, const neo_rt_step *s, int64_t lo, int64_t hi) {
  int64_t from = lo * COPY_CHUNK_BYTES, to = hi * COPY_CHUNK_BYTES, n = copy_bytes(c, s);
  if (to > n)
    to = n;
  char *dst = c->ptr[s->first];
  const char *src = c->ptr[s->first + 1];
  if (dst != src && from < to)
    memcpy(dst + from, src + from, (size_t)(to - from));
}

static int64_t kernel_units(const neo_rt_ctx *c, int32_t kernel) {
  const neo_rt_kernel *k = &c->model->kernels[kernel];
  return neo_rt_eval(c->model, c->fast[kernel] ? k->fast_units : k->units, c->sizes);
}

static void run_units(region *r, const neo_rt_step *s, int64_t lo, int64_t hi, int32_t worker) {
  const neo_rt_ctx *c = r->ctx;
  if (lo >= hi || atomic_load_explicit(&r->failed, memory_order_relaxed))
    return;
  if (s->op == NEO_RT_STEP_COPY) {
    run_copy(c, s, lo, hi);
    return;
  }
  neo_rt_args args = {c->ptr + s->first,
                      c->sizes,
                      r->key,
                      lo,
                      hi,
                      c->base[NEO_RT_MEM_SCRATCH] + c->scratch_stride * worker};
  const neo_rt_kernel *k = &c->model->kernels[s->arg];
  if ((c->fast[s->arg] ? k->fast : k->fn)(&args) != 0)
    atomic_store_explicit(&r->failed, true, memory_order_relaxed);
}

static void run_worker(void *user, int32_t worker, int32_t n) {
  region *r = user;
  const neo_rt_ctx *c = r->ctx;
  bool small_before = true;
  for (int32_t i = 0; i < r->entry->n_steps; i++) {
    int64_t units = c->units[r->entry->first_step + i];
    bool small = units <= 1;
    if (n > 1 && i > 0 && !(small && small_before))
      neo_rti_pool_barrier(c->pool);
    small_before = small;
    int64_t lo = small ? 0 : units / n * worker + units % n * worker / n;
    int64_t hi = small ? units : units / n * (worker + 1) + units % n * (worker + 1) / n;
    int64_t from = c->trace ? neo_rti_now_ns() : 0;
    if (worker == 0 || !small)
      run_units(r, &c->model->steps[r->entry->first_step + i], lo, hi, worker);
    if (c->trace && (worker == 0 || !small) && lo < hi)
      neo_rti_trace_step(c->trace, worker, i, from);
  }
}

/* Units of every step of this call; whether any is worth more than one thread. */
static bool count_units(neo_rt_ctx *c, const neo_rt_entry *e) {
  bool parallel = false;
  for (int32_t i = e->first_step; i < e->first_step + e->n_steps; i++) {
    const neo_rt_step *s = &c->model->steps[i];
    if (!neo_rti_keep_runs(c, s))
      c->units[i] = 0;
    else if (s->op == NEO_RT_STEP_COPY)
      c->units[i] = (copy_bytes(c, s) + COPY_CHUNK_BYTES - 1) / COPY_CHUNK_BYTES;
    else
      c->units[i] = kernel_units(c, s->arg);
    parallel |= c->units[i] > 1;
  }
  return parallel;
}

/* Whether kernels write this output straight to the caller's memory. */
static bool is_direct(const neo_rt_model *m, int32_t tensor) {
  const neo_rt_buf *b = &m->bufs[m->tensors[tensor].buf];
  return m->tensors[tensor].role == NEO_RT_ROLE_OUTPUT && b->mem == NEO_RT_MEM_CALLER &&
         b->offset == tensor;
}

/* Whether kernels use what the caller has on the device where it is: they read and write 16 bytes
 * at once, from multiples of that on. */
static bool in_place(const neo_rt_ctx *c, void *const *args, int32_t i, int32_t tensor) {
  enum { WIDEST = 16 };
  return neo_rti_on_device(c, args, tensor) && (uintptr_t)args[i] % WIDEST == 0;
}

static neo_rt_status copy_input(neo_rt_ctx *c, void *const *args, int32_t i, int32_t tensor,
                                void *to, size_t bytes) {
  bool there = neo_rti_on_device(c, args, tensor);
  return neo_rti_cuda_copy(c, there ? NEO_RTI_ON_DEVICE : NEO_RTI_TO_DEVICE, to, args[i], bytes);
}

/* On a device every argument of the host's has its place in the arena, and inputs are copied
 * there. */
static neo_rt_status stage_args(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  unsigned char *place = c->spill;
  neo_rt_status s = NEO_OK;
  for (int32_t i = 0; !s && i < e->n_args; i++) {
    int32_t k = c->model->entry_args[e->args + i];
    const neo_rt_tensor *t = &c->model->tensors[k];
    int64_t extent[NEO_RTI_MAX_RANK], n = neo_rti_extents(c->model, t, c->sizes, extent);
    bool used = args[i] && in_place(c, args, i, k);
    if (i < e->n_inputs || is_direct(c->model, k))
      c->caller[k] = used ? args[i] : place;
    if (i < e->n_inputs && args[i] && n > 0 && !used)
      s = copy_input(c, args, i, k, place, (size_t)n * neo_rti_type_bytes(t->type));
    place += neo_rti_spill_bytes(c->model, t);
  }
  return s;
}

static void place_host_args(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  unsigned char *spill = c->spill;
  for (int32_t i = 0; i < e->n_args; i++) {
    int32_t t = c->model->entry_args[e->args + i];
    if (i < e->n_inputs) {
      c->caller[t] = args[i];
    } else if (is_direct(c->model, t)) {
      c->caller[t] = args[i] ? args[i] : spill;
      spill += neo_rti_spill_bytes(c->model, &c->model->tensors[t]);
    }
  }
}

static neo_rt_status place_args(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  neo_rt_status s = NEO_OK;
  if (c->cuda)
    s = stage_args(c, e, args);
  else
    place_host_args(c, e, args);
  const neo_rti_patch *p = &c->patch[e - c->model->entries];
  for (int32_t i = p->first; i < p->first + p->n; i++) {
    int32_t k = c->patches[i];
    const neo_rt_buf *b = &c->model->bufs[c->model->args[k]];
    c->ptr[k] = b->shift ? (char *)c->caller[b->offset] + b->shift : c->caller[b->offset];
  }
  return s;
}

/* Outputs that are something else as well (an input, a parameter) are copied when all is done; all
 * are that go from a device to the host. */
static neo_rt_status copy_outputs(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  neo_rt_status s = NEO_OK;
  for (int32_t i = e->n_inputs; !s && i < e->n_args; i++) {
    int32_t k = c->model->entry_args[e->args + i];
    const neo_rt_tensor *t = &c->model->tensors[k];
    bool there = args[i] && neo_rti_on_device(c, args, k);
    if (!args[i] || (is_direct(c->model, k) && (!c->cuda || in_place(c, args, i, k))))
      continue;
    const neo_rt_buf *b = &c->model->bufs[t->buf];
    const void *from = b->mem == NEO_RT_MEM_CALLER ? c->caller[b->offset] : c->addr[t->buf];
    int64_t extent[NEO_RTI_MAX_RANK], n = neo_rti_extents(c->model, t, c->sizes, extent);
    size_t bytes = n > 0 ? (size_t)n * neo_rti_type_bytes(t->type) : 0;
    if (from && bytes && c->cuda)
      s = neo_rti_cuda_copy(c, there ? NEO_RTI_ON_DEVICE : NEO_RTI_FROM_DEVICE, args[i], from,
                            bytes);
    else if (from && bytes && args[i] != from)
      memmove(args[i], from, bytes);
  }
  return s;
}

static neo_rt_status run_steps(neo_rt_ctx *c, const neo_rt_entry *e, region *r) {
  bool parallel = count_units(c, e);
  if (c->cuda)
    return neo_rti_cuda_run(c, e, r->key);
  if (parallel && c->threads > 1)
    neo_rti_pool_run(c->pool, run_worker, r);
  else
    run_worker(r, 0, 1);
  if (!atomic_load(&r->failed))
    return NEO_OK;
  return neo_rti_fail(c, NEO_INTERNAL, "%s: a kernel of entry %s failed", c->model->name, e->name);
}

neo_rt_status neo_rti_entry_run(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  bool forward = e->kind == NEO_RT_ENTRY_FORWARD;
  region r = {c, e, {c->seed, c->step, forward ? c->calls : 0}, false};
  if (c->trace)
    neo_rti_trace_begin(c->trace);
  neo_rt_status status = c->trace && c->cuda ? neo_rti_cuda_trace_begin(c) : NEO_OK;
  if (!status)
    status = place_args(c, e, args);
  if (!status)
    status = run_steps(c, e, &r);
  if (!status)
    status = copy_outputs(c, e, args);
  neo_rt_status end = c->cuda ? neo_rti_cuda_end(c, status ? NULL : e->name) : NEO_OK;
  status = status ? status : end;
  if (c->trace)
    neo_rti_trace_end(c, e);
  neo_rti_keep_done(c, e, status == NEO_OK);
  if (status)
    return status;
  if (e->kind == NEO_RT_ENTRY_TRAIN)
    c->step++;
  if (forward)
    c->calls++;
  return NEO_OK;
}

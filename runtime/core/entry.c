/* entry.c: runs an entry: places its arguments, lets the device run its steps, and copies outputs
 * that the caller wants elsewhere. A step whose cached value is up to date has no units of work.
 * Nothing allocates from the first step on. */
#include "runtime/core/call_cache.h"
#include "runtime/core/frame.h"
#include "runtime/core/run.h"
#include "runtime/core/trace.h"

int64_t neo_rti_copy_bytes(const neo_rt_ctx *c, const neo_rt_step *s) {
  int64_t n = neo_rt_eval(c->model, s->arg, c->sizes);
  return n < 0 ? 0 : n;
}

int64_t neo_rti_kernel_units(const neo_rt_ctx *c, int32_t kernel, const int64_t *sizes) {
  const neo_rt_kernel *k = &c->model->kernels[kernel];
  int64_t n = neo_rt_eval(c->model, c->fast[kernel] ? k->fast_units : k->units, sizes);
  return n < 0 ? 0 : n;
}

/* A linear search: a binary one would read elements that are not written. */
int64_t neo_rti_blocks_end(const int32_t *rows, int64_t lo, int64_t hi) {
  int32_t all = rows[hi];
  while (lo < hi && rows[lo] < all)
    lo++;
  return lo;
}

int64_t neo_rti_blocks_wide_end(const int32_t *rows, int64_t lo, int64_t end) {
  while (lo < end && rows[end] - rows[end - 1] == 1)
    end--;
  return end;
}

/* Sets the sizes of a block to their largest: all rows, whose number is at most that of blocks. */
static void take_all_rows(neo_rt_ctx *c, const neo_rt_step *s) {
  const neo_rt_loop *l = &c->model->loops[s->arg];
  int64_t most = c->model->sizes[l->end].hi, n = neo_rt_eval(c->model, l->hi, c->sizes);
  c->sizes[l->begin] = c->model->sizes[l->begin].lo;
  c->sizes[l->end] = n < most && !(s->flags & NEO_RT_STEP_WHOLE) ? n : most;
}

/* Counts the units of every step in this call; for a step in a loop, in the iteration with most
 * units. */
static void count_units(neo_rt_ctx *c, const neo_rt_entry *e) {
  for (int32_t i = e->first_step; i < e->first_step + e->n_steps; i++) {
    const neo_rt_step *s = &c->model->steps[i];
    if (s->op == NEO_RT_STEP_LOOP && s->flags & NEO_RT_STEP_BLOCKS)
      take_all_rows(c, s);
    if (!neo_rti_call_cache_runs(c, s))
      c->units[i] = 0;
    else if (s->op == NEO_RT_STEP_COPY)
      c->units[i] = (neo_rti_copy_bytes(c, s) + NEO_RTI_COPY_BYTES - 1) / NEO_RTI_COPY_BYTES;
    else if (s->op == NEO_RT_STEP_LOOP)
      c->units[i] = 1;
    else
      c->units[i] = neo_rti_kernel_units(c, s->arg, c->sizes);
  }
}

/* Whether kernels write this output straight to the caller's memory. */
static bool is_direct(const neo_rt_model *m, int32_t tensor) {
  const neo_rt_buf *b = &m->bufs[m->tensors[tensor].buf];
  return m->tensors[tensor].role == NEO_RT_ROLE_OUTPUT && b->mem == NEO_RT_MEM_CALLER &&
         b->offset == tensor;
}

/* Whether kernels use the caller's tensor on the device without a copy. They read and write 16
 * bytes at once, so that it has to be aligned to 16. */
static bool in_place(const neo_rt_ctx *c, void *const *args, int32_t i, int32_t tensor) {
  enum { WIDEST = 16 };
  return neo_rti_on_device(c, args, tensor) && (uintptr_t)args[i] % WIDEST == 0;
}

static neo_rt_status copy_input(neo_rt_ctx *c, void *const *args, int32_t i, int32_t tensor,
                                void *to, size_t bytes) {
  bool there = neo_rti_on_device(c, args, tensor);
  return c->device->copy(c, there ? NEO_RTI_ON_DEVICE : NEO_RTI_TO_DEVICE, to, args[i], bytes);
}

static int64_t bytes_of(const neo_rt_ctx *c, int32_t tensor) {
  const neo_rt_tensor *t = &c->model->tensors[tensor];
  int64_t extent[NEO_RTI_MAX_RANK], n = neo_rti_extents(c->model, t, c->sizes, extent);
  return n * (int64_t)neo_rti_type_bytes(t->type);
}

/* Sums the bytes of the entry's arguments. On a device with memory of its own, every argument from
 * the host has its own part of the work memory, wherever the caller's data are, so that a driver's
 * graph made for these sizes finds it at the same address again. */
static int64_t room_for_args(neo_rt_ctx *c, const neo_rt_entry *e) {
  int64_t room = 0;
  for (int32_t i = 0; i < e->n_args; i++) {
    int32_t k = c->model->entry_args[e->args + i];
    c->caller_bytes[k] = bytes_of(c, k);
    room += neo_rti_round_up(c->caller_bytes[k]);
  }
  return room;
}

/* Sets the addresses of arguments: the caller's memory if the device can use it, else spill memory,
 * to which inputs are copied. */
static neo_rt_status stage_args(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  unsigned char *place = c->spill;
  neo_rt_status s = NEO_OK;
  for (int32_t i = 0; !s && i < e->n_args; i++) {
    int32_t k = c->model->entry_args[e->args + i];
    bool used = args[i] && in_place(c, args, i, k);
    if (i < e->n_inputs || is_direct(c->model, k))
      c->caller[k] = used ? args[i] : place;
    if (i < e->n_inputs && args[i] && c->caller_bytes[k] > 0 && !used)
      s = copy_input(c, args, i, k, place, (size_t)c->caller_bytes[k]);
    place += neo_rti_round_up(c->caller_bytes[k]);
  }
  return s;
}

/* Returns the bytes of outputs that the caller does not want. */
static int64_t take_host_args(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  int64_t room = 0;
  for (int32_t i = 0; i < e->n_args; i++) {
    int32_t k = c->model->entry_args[e->args + i];
    c->caller[k] = args[i];
    if (!args[i] && i >= e->n_inputs && is_direct(c->model, k))
      room += neo_rti_round_up(bytes_of(c, k));
  }
  return room;
}

static void place_unwanted(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  unsigned char *place = c->spill;
  for (int32_t i = e->n_inputs; i < e->n_args; i++) {
    int32_t k = c->model->entry_args[e->args + i];
    if (args[i] || !is_direct(c->model, k))
      continue;
    c->caller[k] = place;
    place += neo_rti_round_up(bytes_of(c, k));
  }
}

static void patch_args(neo_rt_ctx *c, const neo_rt_entry *e) {
  const neo_rti_patch *p = &c->patch[e - c->model->entries];
  for (int32_t i = p->first; i < p->first + p->n; i++) {
    int32_t k = c->patches[i];
    const neo_rt_buf *b = &c->model->bufs[c->model->args[k]];
    c->ptr[k] = b->shift ? (char *)c->caller[b->offset] + b->shift : c->caller[b->offset];
    if (c->device->separate) {
      int64_t room = c->caller_bytes[b->offset] - b->shift;
      c->room[c->model->args[k]] = room > 0 ? room : 0;
    }
  }
}

/* Makes room for the call, and places its arguments. */
static neo_rt_status place_args(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  bool separate = c->device->separate;
  int64_t room = separate ? room_for_args(c, e) : take_host_args(c, e, args);
  neo_rt_status s = neo_rti_frame_take(c, e, room);
  if (!s && separate)
    s = stage_args(c, e, args);
  else if (!s && room)
    place_unwanted(c, e, args);
  if (!s)
    patch_args(c, e);
  return s;
}

/* Copies outputs to the caller after all steps: outputs that are also an input or a parameter, and
 * all outputs of a separate device. */
static neo_rt_status copy_outputs(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  neo_rt_status s = NEO_OK;
  for (int32_t i = e->n_inputs; !s && i < e->n_args; i++) {
    int32_t k = c->model->entry_args[e->args + i];
    const neo_rt_tensor *t = &c->model->tensors[k];
    bool there = args[i] && neo_rti_on_device(c, args, k);
    if (!args[i] || (is_direct(c->model, k) && (!c->device->separate || in_place(c, args, i, k))))
      continue;
    const neo_rt_buf *b = &c->model->bufs[t->buf];
    const void *from = b->mem == NEO_RT_MEM_CALLER ? c->caller[b->offset] : c->addr[t->buf];
    int64_t extent[NEO_RTI_MAX_RANK], n = neo_rti_extents(c->model, t, c->sizes, extent);
    size_t bytes = n > 0 ? (size_t)n * neo_rti_type_bytes(t->type) : 0;
    if (from && bytes && args[i] != from)
      s = c->device->copy(c, there ? NEO_RTI_ON_DEVICE : NEO_RTI_FROM_DEVICE, args[i], from, bytes);
  }
  return s;
}

static neo_rt_status run_all(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args,
                             const uint64_t *key) {
  neo_rt_status status = place_args(c, e, args);
  if (status)
    return status;
  count_units(c, e);
  status = c->device->run(c, e, key);
  return status ? status : copy_outputs(c, e, args);
}

neo_rt_status neo_rti_entry_run_keyed(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args,
                                      const uint64_t *key) {
  neo_rt_status status = c->trace ? neo_rti_trace_begin(c) : NEO_OK;
  if (!status)
    status = run_all(c, e, args, key);
  neo_rt_status end = c->device->end(c, status ? NULL : e->name);
  status = status ? status : end;
  if (c->trace)
    neo_rti_trace_end(c, e);
  neo_rti_call_cache_done(c, e, status == NEO_OK);
  return status;
}

neo_rt_status neo_rti_entry_run(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  bool forward = e->kind == NEO_RT_ENTRY_FORWARD, init = e->kind == NEO_RT_ENTRY_INIT;
  /* initial values always use step 0 */
  const uint64_t key[3] = {c->seed, init ? 0 : c->step, forward ? c->calls : 0};
  neo_rt_status status = neo_rti_entry_run_keyed(c, e, args, key);
  if (status)
    return status;
  if (e->kind == NEO_RT_ENTRY_TRAIN)
    c->step++;
  if (forward)
    c->calls++;
  return NEO_OK;
}

/* ------------------------------------------------------------ initial values */

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

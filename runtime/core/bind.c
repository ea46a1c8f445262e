/* bind.c: DLPack tensors instead of pointers: neo_rt_bind, neo_rt_view.
 *
 * A bound input or output serves later runs. A bound parameter or state replaces the context's own
 * store: all buffers within it move to the caller's memory. That memory must be aligned to 64
 * bytes, because kernels assume this of memory that the context owns. */
#include "runtime/core/bind.h"
#include "include/neo/dlpack.h"
#include "runtime/core/call_cache.h"
#include "runtime/core/device.h"
#include "runtime/core/run.h"
#include <string.h>

const neo_rt_tensor *neo_rti_tensor(const neo_rt_ctx *c, int32_t tensor) {
  return tensor >= 0 && tensor < c->model->n_tensors ? &c->model->tensors[tensor] : NULL;
}

static neo_dl_type dl_type(uint8_t type) {
  static const uint8_t code[] = {NEO_DL_FLOAT,  NEO_DL_FLOAT, NEO_DL_FLOAT,
                                 NEO_DL_BFLOAT, NEO_DL_INT,   NEO_DL_INT,
                                 NEO_DL_INT,    NEO_DL_UINT,  NEO_DL_BOOL};
  return (neo_dl_type){code[type], (uint8_t)(8 * neo_rti_type_bytes(type)), 1};
}

/* Our name of a DLPack type; null if we have none. */
static const char *dl_name(neo_dl_type t) {
  for (uint8_t i = 0; i <= NEO_RT_BOOL; i++) {
    neo_dl_type own = dl_type(i);
    if (own.code == t.code && own.bits == t.bits && t.lanes == 1)
      return neo_rti_type_name(i);
  }
  return NULL;
}

static bool is_on_device(const neo_rt_ctx *c, const neo_dl_tensor *dl) {
  return c->device->separate && dl->device.type == c->device->dlpack &&
         dl->device.id == c->device->number(c);
}

static neo_rt_status check_kind(neo_rt_ctx *c, const neo_rt_tensor *t, const neo_dl_tensor *dl) {
  const neo_rti_device *d = c->device;
  if (d->separate && dl->device.type == d->dlpack && !is_on_device(c, dl))
    return neo_rti_fail(c, NEO_UNSUPPORTED, "%s: the tensor is on %s:%d, expected %s:%d (%s)",
                        t->name, d->name, (int)dl->device.id, d->name, d->number(c), t->place);
  if (dl->device.type != NEO_DL_CPU && dl->device.type != NEO_DL_CUDA_HOST && !is_on_device(c, dl))
    return neo_rti_fail(c, NEO_UNSUPPORTED,
                        "%s: the tensor is on device type %d, expected the CPU (%s)", t->name,
                        (int)dl->device.type, t->place);
  const char *given = dl_name(dl->dtype), *want = neo_rti_type_name(t->type);
  if (!given)
    return neo_rti_fail(c, NEO_TYPE,
                        "%s: type is DLPack code %d with %d bits and %d lanes, expected %s (%s)",
                        t->name, dl->dtype.code, dl->dtype.bits, dl->dtype.lanes, want, t->place);
  if (given != want)
    return neo_rti_fail(c, NEO_TYPE, "%s: type is %s, expected %s (%s)", t->name, given, want,
                        t->place);
  return NEO_OK;
}

neo_rt_status neo_rti_wrong_dim(neo_rt_ctx *c, const neo_rt_tensor *t, int d, int64_t given,
                                int64_t want) {
  return neo_rti_fail(c, NEO_SHAPE, "%s: dim %d is %lld, expected %lld (%s)", t->name, d,
                      (long long)given, (long long)want, t->place);
}

/* Checks a dimension as far as it is known before a call: against its value, or the bounds of its
 * size. */
static neo_rt_status check_dim(neo_rt_ctx *c, const neo_rt_tensor *t, int d, int64_t given) {
  int32_t program = c->model->extents[t->extent + d];
  int32_t size = neo_rti_program_size(c->model, program);
  if (size >= 0 && !neo_rti_tensor_persists(t)) {
    const neo_rt_size *s = &c->model->sizes[size];
    if (given >= s->lo && given <= s->hi)
      return NEO_OK;
    return neo_rti_fail(c, NEO_SHAPE, "%s: dim %d is %lld, but %s must be in [%lld, %lld] (%s)",
                        t->name, d, (long long)given, s->name, (long long)s->lo, (long long)s->hi,
                        t->place);
  }
  if (!neo_rti_tensor_persists(t) && !neo_rti_program_fixed(c->model, program)) {
    if (given >= 0)
      return NEO_OK;
    return neo_rti_fail(c, NEO_SHAPE, "%s: dim %d is %lld (%s)", t->name, d, (long long)given,
                        t->place);
  }
  int64_t largest[NEO_RTI_MAX_RANK];
  neo_rti_extents(c->model, t, NULL, largest);
  return given == largest[d] ? NEO_OK : neo_rti_wrong_dim(c, t, d, given, largest[d]);
}

static neo_rt_status check_shape(neo_rt_ctx *c, const neo_rt_tensor *t, const neo_dl_tensor *dl) {
  if (dl->ndim != t->rank)
    return neo_rti_fail(c, NEO_SHAPE, "%s: rank is %d, expected %d (%s)", t->name, dl->ndim,
                        t->rank, t->place);
  if (t->rank > 0 && !dl->shape)
    return neo_rti_fail(c, NEO_NULL, "%s: the shape is null (%s)", t->name, t->place);
  neo_rt_status status = NEO_OK;
  for (int d = 0; !status && d < t->rank; d++)
    status = check_dim(c, t, d, dl->shape[d]);
  return status;
}

static neo_rt_status check_strides(neo_rt_ctx *c, const neo_rt_tensor *t, const neo_dl_tensor *dl) {
  int64_t stride = 1, n = 1;
  for (int d = 0; d < t->rank; d++)
    if (!neo_rti_mul(n, dl->shape[d], &n) || n > INT64_MAX / 8)
      return neo_rti_fail(c, NEO_SHAPE, "%s: the shape is too large (%s)", t->name, t->place);
  for (int d = t->rank; dl->strides && n > 0 && d-- > 0; stride *= dl->shape[d])
    if (dl->shape[d] != 1 && dl->strides[d] != stride)
      return neo_rti_fail(c, NEO_SHAPE,
                          "%s: stride of dim %d is %lld, expected %lld: not contiguous and "
                          "row-major (%s)",
                          t->name, d, (long long)dl->strides[d], (long long)stride, t->place);
  return NEO_OK;
}

static neo_rt_status check_memory(neo_rt_ctx *c, const neo_rt_tensor *t, const neo_dl_tensor *dl,
                                  const void *data) {
  bool empty = false;
  for (int d = 0; d < t->rank; d++)
    empty |= dl->shape[d] == 0;
  if (!dl->data && !empty)
    return neo_rti_fail(c, NEO_NULL, "%s: pointer is null (%s)", t->name, t->place);
  size_t align = neo_rti_tensor_persists(t) ? NEO_RTI_ALIGN : neo_rti_type_bytes(t->type);
  if ((uintptr_t)data % align)
    return neo_rti_fail(c, NEO_ARGUMENT, "%s: pointer is not aligned to %zu bytes (%s)", t->name,
                        align, t->place);
  return NEO_OK;
}

/* Checks that the store has no other tensor, and that no buffer crosses its edge: these could not
 * move with it. */
static neo_rt_status check_alone(neo_rt_ctx *c, const neo_rt_tensor *t) {
  const neo_rt_buf *own = &c->model->bufs[t->buf];
  int64_t end = own->offset + own->size_bytes;
  for (int32_t i = 0; i < c->model->n_bufs; i++) {
    const neo_rt_buf *b = &c->model->bufs[i];
    int64_t b_end = b->offset + b->size_bytes;
    bool meets = b->mem == own->mem && b->offset < end && own->offset < b_end;
    if (meets && (b->offset < own->offset || b_end > end))
      return neo_rti_fail(c, NEO_UNSUPPORTED,
                          "%s: shares its store with others and cannot be bound (%s)", t->name,
                          t->place);
  }
  return NEO_OK;
}

/* Moves the store of a tensor that the context owns to `data`; null: back into the context, with
 * its values. */
static void move_store(neo_rt_ctx *c, int32_t tensor, void *data) {
  const neo_rt_tensor *t = &c->model->tensors[tensor];
  const neo_rt_buf *b = &c->model->bufs[t->buf];
  void *before = c->bound[tensor].data;
  if (!data && before)
    memcpy(c->base[b->mem] + b->offset, before, neo_rti_tensor_bytes(c->model, t, NULL));
  c->bound[tensor].data = data;
  neo_rti_note_store(c, tensor);
  neo_rti_call_cache_written(c, tensor); /* values cached before are out of date when the tensor is
                                            unbound */
  neo_rti_resolve(c);
}

/* Switches on or off the check of the tensor's values in each call, if anything constrains them. */
static void expose(neo_rt_ctx *c, int32_t tensor, bool exposed) {
  const neo_rt_tensor *t = &c->model->tensors[tensor];
  bool limited =
      t->type == NEO_RT_BOOL || (neo_rti_type_is_int(t->type) && (t->bound >= 0 || t->ends));
  int32_t n = 0;
  for (int32_t i = 0; i < c->n_exposed; i++)
    if (c->exposed[i] != tensor)
      c->exposed[n++] = c->exposed[i];
  if (exposed && limited)
    c->exposed[n++] = tensor;
  c->n_exposed = n;
}

static neo_rt_status bind_owned(neo_rt_ctx *c, int32_t tensor, void *data) {
  const neo_rt_tensor *t = &c->model->tensors[tensor];
  if (c->device->separate)
    return neo_rti_fail(c, NEO_UNSUPPORTED, "%s: lies on the GPU, and cannot be bound (%s)",
                        t->name, t->place);
  neo_rt_status status = check_alone(c, t);
  if (!status)
    status = neo_rti_check_store(c, t, data);
  if (!status)
    status = neo_rti_check_values(c, t, data, NULL);
  if (status)
    return status;
  move_store(c, tensor, data);
  expose(c, tensor, true);
  return NEO_OK;
}

/* Unbinds a tensor. The caller's memory is free afterwards in any case. Values outside of their
 * bound are copied back, too; calls are refused as long as they are there. */
static neo_rt_status unbind(neo_rt_ctx *c, int32_t tensor) {
  const neo_rt_tensor *t = &c->model->tensors[tensor];
  bool was_bound = c->bound[tensor].data;
  if (!neo_rti_tensor_persists(t) || !was_bound) {
    c->bound[tensor].data = NULL;
    return NEO_OK;
  }
  move_store(c, tensor, NULL);
  neo_rt_status status = neo_rti_check_values(c, t, neo_rti_tensor_data(c, t), NULL);
  expose(c, tensor, status || c->viewed[tensor]);
  return status;
}

neo_rt_status neo_rt_bind(neo_rt_ctx *c, int32_t tensor, struct neo_dl_tensor *dl) {
  neo_rt_status status = neo_rti_alive(c);
  if (status)
    return status;
  const neo_rt_tensor *t = neo_rti_tensor(c, tensor);
  if (!t)
    return neo_rti_fail(c, NEO_NAME, "%s has no tensor %d", c->model->name, tensor);
  if (!dl)
    return unbind(c, tensor);
  char *data = (char *)((uintptr_t)dl->data + dl->byte_offset);
  status = check_kind(c, t, dl);
  if (!status)
    status = check_shape(c, t, dl);
  if (!status)
    status = check_strides(c, t, dl);
  if (!status)
    status = check_memory(c, t, dl, data);
  if (status)
    return status;
  if (neo_rti_tensor_persists(t))
    return bind_owned(c, tensor, data);
  static const char empty_store[NEO_RTI_ALIGN] = {0}; /* the address of a tensor without elements */
  c->bound[tensor].data = data ? data : (void *)(uintptr_t)empty_store;
  c->bound[tensor].on_device = data && is_on_device(c, dl);
  if (t->rank > 0)
    memcpy(c->bound[tensor].extent, dl->shape, t->rank * sizeof *dl->shape);
  return NEO_OK;
}

neo_rt_status neo_rt_view(neo_rt_ctx *c, int32_t tensor, struct neo_dl_tensor *dl, int64_t *shape) {
  neo_rt_status status = neo_rti_alive(c);
  if (status)
    return status;
  const neo_rt_tensor *t = neo_rti_tensor(c, tensor);
  if (!t)
    return neo_rti_fail(c, NEO_NAME, "%s has no tensor %d", c->model->name, tensor);
  if (!neo_rti_tensor_persists(t))
    return neo_rti_fail(c, NEO_ARGUMENT, "%s: an %s is not kept in the context (%s)", t->name,
                        neo_rti_role_name(t->role), t->place);
  if (!dl || !shape)
    return neo_rti_fail(c, NEO_NULL, "%s: no place for the view", t->name);
  neo_rti_extents(c->model, t, NULL, shape);
  c->viewed[tensor] = true;
  expose(c, tensor, true);
  *dl = (neo_dl_tensor){.data = neo_rti_tensor_data(c, t),
                        .device = {c->device->dlpack, c->device->number(c)},
                        .ndim = t->rank,
                        .dtype = dl_type(t->type),
                        .shape = shape,
                        .strides = c->strides + (size_t)tensor * NEO_RTI_MAX_RANK};
  return NEO_OK;
}

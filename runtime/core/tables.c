/* tables.c: a context's tables: their place in its block of book-keeping, and the addresses of
 * buffers in them. They are carved twice by the same function: first from null to learn the size,
 * then for real, so that nothing allocates later. */
#include "runtime/core/ctx.h"
#include "runtime/core/device.h"
#include "runtime/core/setup.h"

static void *carve(char **at, int64_t n, size_t size_bytes) {
  char *p = *at;
  *at = p + (((size_t)n * size_bytes + 15) & ~(size_t)15);
  return p;
}

static int32_t count_patches(const neo_rt_model *m) {
  int32_t n = 0;
  for (int32_t i = 0; i < m->n_entries; i++)
    for (int32_t k = 0; k < m->entries[i].n_steps; k++) {
      const neo_rt_step *s = &m->steps[m->entries[i].first_step + k];
      n += neo_rti_step_args(s);
    }
  return n;
}

static int32_t most_args(const neo_rt_model *m) {
  int32_t n = 0;
  for (int32_t i = 0; i < m->n_entries; i++)
    if (m->entries[i].n_args > n)
      n = m->entries[i].n_args;
  return n;
}

/* The largest position that is used in model->args, plus one. */
static int32_t model_positions(const neo_rt_model *m) {
  int32_t n = 0;
  for (int32_t i = 0; i < m->n_steps; i++) {
    const neo_rt_step *s = &m->steps[i];
    int32_t end = s->first + neo_rti_step_args(s);
    if (end > n)
      n = end;
  }
  return n;
}

char *neo_rti_tables_carve(neo_rt_ctx *c, const neo_rt_model *m, char *at) {
  c->frame = carve(&at, m->n_entries, sizeof *c->frame);
  c->frame_sizes = carve(&at, (int64_t)m->n_entries * m->n_sizes, sizeof *c->frame_sizes);
  c->place = carve(&at, m->n_places, sizeof *c->place);
  c->room = carve(&at, m->n_bufs, sizeof *c->room);
  c->caller_bytes = carve(&at, m->n_tensors, sizeof *c->caller_bytes);
  c->addr = carve(&at, m->n_bufs, sizeof *c->addr);
  c->ptr = carve(&at, model_positions(m), sizeof *c->ptr);
  c->patches = carve(&at, count_patches(m), sizeof *c->patches);
  c->patch = carve(&at, m->n_entries, sizeof *c->patch);
  c->caller = carve(&at, m->n_tensors, sizeof *c->caller);
  c->fast = carve(&at, m->n_kernels, sizeof *c->fast);
  c->units = carve(&at, m->n_steps, sizeof *c->units);
  c->sizes = carve(&at, m->n_sizes, sizeof *c->sizes);
  c->bound = carve(&at, m->n_tensors, sizeof *c->bound);
  c->outside = carve(&at, m->n_tensors, sizeof *c->outside);
  c->viewed = carve(&at, m->n_tensors, sizeof *c->viewed);
  c->exposed = carve(&at, m->n_tensors, sizeof *c->exposed);
  c->spans = carve(&at, most_args(m), sizeof *c->spans);
  c->chunk = carve(&at, neo_rti_device_of(m)->separate ? NEO_RTI_CHUNK : 0, 1);
  c->stale = carve(&at, m->n_cached, sizeof *c->stale);
  c->strides = carve(&at, (int64_t)m->n_tensors * NEO_RTI_MAX_RANK, sizeof *c->strides);
  c->run_args = carve(&at, most_args(m), sizeof *c->run_args);
  c->size_from = carve(&at, m->n_sizes, sizeof *c->size_from);
  return at;
}

static void patch_entry(neo_rt_ctx *c, int32_t entry, int32_t *n) {
  const neo_rt_model *m = c->model;
  const neo_rt_entry *e = &m->entries[entry];
  c->patch[entry].first = *n;
  for (int32_t i = 0; i < e->n_steps; i++) {
    const neo_rt_step *s = &m->steps[e->first_step + i];
    int32_t n_args = neo_rti_step_args(s);
    for (int32_t k = s->first; k < s->first + n_args; k++)
      if (m->bufs[m->args[k]].mem == NEO_RT_MEM_CALLER)
        c->patches[(*n)++] = k;
  }
  c->patch[entry].n = *n - c->patch[entry].first;
}

static void fill_strides(neo_rt_ctx *c) {
  for (int32_t i = 0; i < c->model->n_tensors; i++) {
    const neo_rt_tensor *t = &c->model->tensors[i];
    int64_t extent[NEO_RTI_MAX_RANK], stride = 1;
    if (!neo_rti_tensor_persists(t))
      continue;
    neo_rti_extents(c->model, t, NULL, extent);
    for (int d = t->rank; d-- > 0; stride *= extent[d])
      c->strides[i * NEO_RTI_MAX_RANK + d] = stride;
  }
}

void neo_rti_tables_fill(neo_rt_ctx *c) {
  int32_t n = 0;
  for (int32_t i = 0; i < c->model->n_entries; i++)
    patch_entry(c, i, &n);
  for (int32_t i = 0; i < c->model->n_bufs; i++)
    c->room[i] = c->model->bufs[i].size_bytes;
  fill_strides(c);
  neo_rti_resolve(c);
}

static void *constant(const neo_rt_model *m, int64_t offset) {
  return (void *)((uintptr_t)m->const_data + (size_t)offset);
}

/* The address of buffer b if it is (part of) the store of a bound parameter or state; else null. */
static void *bound_address(const neo_rt_ctx *c, const neo_rt_buf *b) {
  for (int32_t i = 0; i < c->model->n_tensors; i++) {
    const neo_rt_tensor *t = &c->model->tensors[i];
    if (!c->bound[i].data || !neo_rti_tensor_persists(t))
      continue;
    const neo_rt_buf *own = &c->model->bufs[t->buf];
    if (b->mem == own->mem && b->offset >= own->offset &&
        b->offset + b->size_bytes <= own->offset + own->size_bytes)
      return (char *)c->bound[i].data + (b->offset - own->offset);
  }
  return NULL;
}

void neo_rti_resolve(neo_rt_ctx *c) {
  const neo_rt_model *m = c->model;
  for (int32_t i = 0; i < m->n_bufs; i++) {
    const neo_rt_buf *b = &m->bufs[i];
    if (b->mem == NEO_RT_MEM_CALLER || b->mem == NEO_RT_MEM_FRAME)
      c->addr[i] = NULL;
    else if (b->mem == NEO_RT_MEM_CONST)
      c->addr[i] = c->device->separate ? c->base[b->mem] + b->offset : constant(m, b->offset);
    else
      c->addr[i] = c->base[b->mem] + b->offset;
    bool owned = b->mem == NEO_RT_MEM_PARAM || b->mem == NEO_RT_MEM_STATE;
    void *bound = owned ? bound_address(c, b) : NULL;
    if (bound)
      c->addr[i] = bound;
  }
  for (int32_t i = 0; i < m->n_steps; i++) {
    const neo_rt_step *s = &m->steps[i];
    int32_t n = neo_rti_step_args(s);
    for (int32_t k = s->first; k < s->first + n; k++)
      c->ptr[k] = c->addr[m->args[k]];
  }
  for (int32_t i = 0; i < m->n_entries; i++)
    c->frame[i].resolved = false;
}

void *neo_rti_tensor_data(const neo_rt_ctx *ctx, const neo_rt_tensor *t) {
  return ctx->addr[t->buf];
}

/* sharing.c: memory that a context shares with its caller.
 *
 * The compiler assumes that tensors do not overlap: an update replaces the old version in place
 * once nothing reads that any more, and outputs are written while inputs are read. So memory that
 * an entry writes must not be used otherwise: an output is neither in the context nor in another
 * argument; an input is neither in an updated tensor nor in the context's work. Inputs may share
 * memory that is only read.
 *
 * The values of memory that the caller can write without our knowing are checked in each call, as
 * generated code uses indices without checks. */
#include "runtime/core/bind.h"
#include "runtime/core/device.h"
#include "runtime/core/run.h"

/* ------------------------------------------------------------ stores outside of the arena */

static bool overlap(const neo_rti_span *a, const neo_rti_span *b) {
  return a->from < b->to && b->from < a->to && a->from < a->to && b->from < b->to;
}

/* Whether the span overlaps the context's memory from `from` on. */
static inline bool in_own(const neo_rt_ctx *c, const neo_rti_span *s, const unsigned char *from) {
  neo_rti_span arena = {(uintptr_t)from, (uintptr_t)c->arena + c->arena_bytes, -1};
  neo_rti_span work = {(uintptr_t)c->work, (uintptr_t)c->work + c->work_bytes, -1};
  return overlap(s, &arena) || overlap(s, &work);
}

static neo_rti_span span_of(const neo_rt_ctx *c, int32_t tensor, const void *p,
                            const int64_t *sizes) {
  const neo_rt_tensor *t = &c->model->tensors[tensor];
  int64_t extent[NEO_RTI_MAX_RANK], n = p ? neo_rti_extents(c->model, t, sizes, extent) : 0;
  uintptr_t from = (uintptr_t)p;
  return (neo_rti_span){from, from + (size_t)n * neo_rti_type_bytes(t->type), tensor};
}

/* The number of the first span that ends after this address. Spans are disjoint and sorted. */
static int32_t first_after(const neo_rt_ctx *c, uintptr_t at) {
  int32_t lo = 0, hi = c->n_outside;
  while (lo < hi) {
    int32_t mid = lo + (hi - lo) / 2;
    if (c->outside[mid].to <= at)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

static void forget_store(neo_rt_ctx *c, int32_t tensor) {
  int32_t n = 0;
  for (int32_t i = 0; i < c->n_outside; i++)
    if (c->outside[i].tensor != tensor)
      c->outside[n++] = c->outside[i];
  c->n_outside = n;
}

void neo_rti_note_store(neo_rt_ctx *c, int32_t tensor) {
  forget_store(c, tensor);
  neo_rti_span s = span_of(c, tensor, c->bound[tensor].data, NULL);
  if (s.from == s.to)
    return;
  int32_t at = first_after(c, s.from);
  for (int32_t i = c->n_outside++; i > at; i--)
    c->outside[i] = c->outside[i - 1];
  c->outside[at] = s;
}

static neo_rt_status in_own_memory(neo_rt_ctx *c, const neo_rt_tensor *t) {
  return neo_rti_fail(c, NEO_ARGUMENT, "%s: overlaps the context's own memory (%s)", t->name,
                      t->place);
}

static neo_rt_status in_memory_of(neo_rt_ctx *c, const neo_rt_tensor *t, int32_t other,
                                  const char *which) {
  return neo_rti_fail(c, NEO_ARGUMENT, "%s: overlaps %s%s (%s)", t->name,
                      c->model->tensors[other].name, which, t->place);
}

neo_rt_status neo_rti_check_store(neo_rt_ctx *c, const neo_rt_tensor *t, const void *data) {
  int32_t tensor = (int32_t)(t - c->model->tensors);
  neo_rti_span s = span_of(c, tensor, data, NULL);
  if (in_own(c, &s, c->arena))
    return in_own_memory(c, t);
  for (int32_t i = first_after(c, s.from); i < c->n_outside && c->outside[i].from < s.to; i++)
    if (c->outside[i].tensor != tensor && overlap(&s, &c->outside[i]))
      return in_memory_of(c, t, c->outside[i].tensor, ", which is bound");
  return NEO_OK;
}

/* ------------------------------------------------------------ arguments of a call */

static neo_rt_status check_output(neo_rt_ctx *c, int32_t number) {
  const neo_rti_span *out = &c->spans[number];
  const neo_rt_tensor *t = &c->model->tensors[out->tensor];
  if (in_own(c, out, c->arena))
    return in_own_memory(c, t);
  int32_t at = c->n_outside ? first_after(c, out->from) : 0;
  if (at < c->n_outside && overlap(out, &c->outside[at]))
    return in_memory_of(c, t, c->outside[at].tensor, ", which is bound");
  for (int32_t i = 0; i < number; i++)
    if (overlap(out, &c->spans[i]))
      return in_memory_of(c, t, c->spans[i].tensor, "");
  return NEO_OK;
}

/* Checks an input in the context's memory, or in bound memory, against the tensors that the entry
 * updates. */
static neo_rt_status check_updates(neo_rt_ctx *c, const neo_rt_entry *e, const neo_rti_span *in) {
  for (int32_t i = 0; i < e->n_writes; i++) {
    int32_t written = c->model->entry_writes[e->writes + i];
    const neo_rt_tensor *t = &c->model->tensors[written];
    neo_rti_span store = span_of(c, written, neo_rti_tensor_data(c, t), NULL);
    if (overlap(in, &store))
      return in_memory_of(c, &c->model->tensors[in->tensor], written, ", which this entry updates");
  }
  return NEO_OK;
}

static neo_rt_status check_input(neo_rt_ctx *c, const neo_rt_entry *e, int32_t number) {
  const neo_rti_span *in = &c->spans[number];
  neo_rti_span stores = {(uintptr_t)c->arena, (uintptr_t)c->places, -1};
  if (in_own(c, in, c->places))
    return in_own_memory(c, &c->model->tensors[in->tensor]);
  int32_t at = c->n_outside ? first_after(c, in->from) : 0;
  bool in_store = overlap(in, &stores) || (at < c->n_outside && overlap(in, &c->outside[at]));
  return in_store ? check_updates(c, e, in) : NEO_OK;
}

neo_rt_status neo_rti_check_overlaps(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  neo_rt_status status = NEO_OK;
  for (int32_t i = 0; !status && i < e->n_args; i++) {
    c->spans[i] = span_of(c, c->model->entry_args[e->args + i], args[i], c->sizes);
    status = i < e->n_inputs ? check_input(c, e, i) : check_output(c, i);
  }
  return status;
}

/* ------------------------------------------------------------ values */

neo_rt_status neo_rti_check_exposed(neo_rt_ctx *c) {
  bool separate = c->device->separate;
  neo_rt_status status = NEO_OK;
  for (int32_t i = 0; !status && i < c->n_exposed; i++) {
    const neo_rt_tensor *t = &c->model->tensors[c->exposed[i]];
    const void *p = neo_rti_tensor_data(c, t);
    if (!separate)
      status = neo_rti_check_values(c, t, p, NULL);
    else if (!(c->flags & NEO_RT_TRUST_INDICES))
      status = neo_rti_check_device_values(c, t, p, NULL);
  }
  return status;
}

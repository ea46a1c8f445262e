/* call.c: an entry called on plain pointers. Everything is checked before the first kernel runs, so
 * a call that fails has changed nothing. */
#include "runtime/core/run.h"

const neo_rt_entry *neo_rti_entry(neo_rt_ctx *c, int32_t entry, neo_rt_status *status) {
  *status = neo_rti_alive(c);
  if (*status)
    return NULL;
  if (entry < 0 || entry >= c->model->n_entries) {
    *status = neo_rti_fail(c, NEO_NAME, "%s has no entry %d", c->model->name, entry);
    return NULL;
  }
  const neo_rt_entry *e = &c->model->entries[entry];
  if (e->kind == NEO_RT_ENTRY_INIT) {
    *status = neo_rti_fail(c, NEO_STATE, "%s: initialisation is run by reset", e->name);
    return NULL;
  }
  return e;
}

static bool takes_size(const neo_rt_ctx *c, const neo_rt_entry *e, int64_t size) {
  for (int32_t i = 0; i < e->n_sizes; i++)
    if (c->model->entry_sizes[e->sizes + i] == size)
      return true;
  return false;
}

/* Whether the call gives all sizes of the program. Other sizes have their largest value, for which
 * no condition is checked. */
static bool gives_sizes(const neo_rt_ctx *c, const neo_rt_entry *e, int32_t program) {
  const int64_t *at = c->model->programs + program;
  for (; *at != NEO_RT_OP_END; at++) {
    bool size = *at == NEO_RT_OP_SIZE, word = size || *at == NEO_RT_OP_CONST;
    if (size && !takes_size(c, e, at[1]))
      return false;
    at += word;
  }
  return true;
}

static neo_rt_status check_asserts(neo_rt_ctx *c, const neo_rt_entry *e) {
  for (int32_t i = 0; i < c->model->n_asserts; i++) {
    const neo_rt_assert *a = &c->model->asserts[i];
    if (gives_sizes(c, e, a->program) && !neo_rti_eval(c->model, a->program, c->sizes))
      return neo_rti_fail(c, NEO_SHAPE, "the sizes do not obey: %s (%s)", a->text, a->place);
  }
  return NEO_OK;
}

neo_rt_status neo_rti_check_sizes(neo_rt_ctx *c, const neo_rt_entry *e) {
  for (int32_t i = 0; i < e->n_sizes; i++) {
    int32_t k = c->model->entry_sizes[e->sizes + i];
    const neo_rt_size *s = &c->model->sizes[k];
    if (c->sizes[k] < s->lo || c->sizes[k] > s->hi)
      return neo_rti_fail(c, NEO_SHAPE, "%s: %lld is not in [%lld, %lld]", s->name,
                          (long long)c->sizes[k], (long long)s->lo, (long long)s->hi);
  }
  return check_asserts(c, e);
}

/* Sets the sizes: those that the entry takes from the call, all others to their largest value. */
static void set_sizes(neo_rt_ctx *c, const neo_rt_entry *e, const int64_t *sizes) {
  for (int32_t i = 0; i < c->model->n_sizes; i++)
    c->sizes[i] = c->model->sizes[i].hi;
  for (int32_t i = 0; i < e->n_sizes; i++)
    c->sizes[c->model->entry_sizes[e->sizes + i]] = sizes[i];
}

static neo_rt_status take_sizes(neo_rt_ctx *c, const neo_rt_entry *e, const int64_t *sizes) {
  if (e->n_sizes > 0 && !sizes)
    return neo_rti_fail(c, NEO_NULL, "%s: the pointer to the sizes is null", e->name);
  set_sizes(c, e, sizes);
  return neo_rti_check_sizes(c, e);
}

static neo_rt_status check_pointer(neo_rt_ctx *c, const neo_rt_tensor *t, const void *p,
                                   bool needed) {
  int64_t extent[NEO_RTI_MAX_RANK];
  if (!p) {
    if (!needed || neo_rti_extents(c->model, t, c->sizes, extent) == 0)
      return NEO_OK;
    return neo_rti_fail(c, NEO_NULL, "%s: pointer is null (%s)", t->name, t->place);
  }
  if ((uintptr_t)p % neo_rti_type_bytes(t->type))
    return neo_rti_fail(c, NEO_ARGUMENT, "%s: pointer is not aligned to %zu bytes (%s)", t->name,
                        neo_rti_type_bytes(t->type), t->place);
  return NEO_OK;
}

static neo_rt_status check_args(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  neo_rt_status status = NEO_OK;
  for (int32_t i = 0; !status && i < e->n_args; i++) {
    const neo_rt_tensor *t = &c->model->tensors[c->model->entry_args[e->args + i]];
    status = check_pointer(c, t, args[i], i < e->n_inputs);
  }
  if (!status)
    status = neo_rti_check_overlaps(c, e, args);
  for (int32_t i = 0; !status && i < e->n_inputs; i++) {
    const neo_rt_tensor *t = &c->model->tensors[c->model->entry_args[e->args + i]];
    if (args[i] && !neo_rti_on_device(c, args, c->model->entry_args[e->args + i]))
      status = neo_rti_check_values(c, t, args[i], c->sizes);
    else if (args[i] && !(c->flags & NEO_RT_TRUST_INDICES))
      status = neo_rti_check_device_values(c, t, args[i], c->sizes);
  }
  status = status ? status : neo_rti_check_lists(c, e, args);
  return status ? status : neo_rti_check_exposed(c);
}

neo_rt_status neo_rti_entry_call(neo_rt_ctx *c, const neo_rt_entry *e, void *const *args) {
  if (e->n_args > 0 && !args)
    return neo_rti_fail(c, NEO_NULL, "%s: the pointer to the arguments is null", e->name);
  neo_rt_status status = check_args(c, e, args);
  return status ? status : neo_rti_entry_run(c, e, args);
}

neo_rt_status neo_rt_call(neo_rt_ctx *c, int32_t entry, const int64_t *sizes, void *const *args) {
  neo_rt_status status;
  const neo_rt_entry *e = neo_rti_entry(c, entry, &status);
  if (!e)
    return status;
  status = take_sizes(c, e, sizes);
  return status ? status : neo_rti_entry_call(c, e, args);
}

neo_rt_status neo_rt_call_keyed(neo_rt_ctx *c, int32_t entry, const int64_t *sizes,
                                void *const *args, const uint64_t key[3]) {
  neo_rt_status status;
  const neo_rt_entry *e = neo_rti_entry(c, entry, &status);
  if (!e)
    return status;
  set_sizes(c, e, sizes);
  return neo_rti_entry_run_keyed(c, e, args, key);
}

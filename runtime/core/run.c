/* run.c: runs an entry on bound tensors: neo_rt_run. Their shapes determine the sizes. */
#include "runtime/core/run.h"
#include "runtime/core/bind.h"

static neo_rt_status size_from_dim(neo_rt_ctx *c, int32_t tensor, int d, int32_t size) {
  const neo_rt_tensor *t = &c->model->tensors[tensor];
  int64_t given = c->bound[tensor].extent[d];
  if (c->size_from[size] < 0) {
    c->size_from[size] = tensor;
    c->sizes[size] = given;
    return NEO_OK;
  }
  if (c->sizes[size] == given)
    return NEO_OK;
  return neo_rti_fail(c, NEO_SHAPE, "%s: dim %d is %lld, but %s has %s = %lld (%s)", t->name, d,
                      (long long)given, c->model->tensors[c->size_from[size]].name,
                      c->model->sizes[size].name, (long long)c->sizes[size], t->place);
}

/* Takes sizes that are the extent of a dimension from all bound arguments, which must agree. */
static neo_rt_status find_sizes(neo_rt_ctx *c, const neo_rt_entry *e) {
  for (int32_t i = 0; i < c->model->n_sizes; i++) {
    c->size_from[i] = -1;
    c->sizes[i] = c->model->sizes[i].hi;
  }
  neo_rt_status status = NEO_OK;
  for (int32_t i = 0; i < e->n_args; i++) {
    int32_t tensor = c->model->entry_args[e->args + i];
    const neo_rt_tensor *t = &c->model->tensors[tensor];
    for (int d = 0; !status && c->run_args[i] && d < t->rank; d++) {
      int32_t size = neo_rti_program_size(c->model, c->model->extents[t->extent + d]);
      if (size >= 0)
        status = size_from_dim(c, tensor, d, size);
    }
  }
  for (int32_t i = 0; !status && i < e->n_sizes; i++) {
    int32_t k = c->model->entry_sizes[e->sizes + i];
    const neo_rt_size *s = &c->model->sizes[k];
    if (c->size_from[k] < 0 && s->lo != s->hi)
      status = neo_rti_fail(c, NEO_SHAPE, "%s: no bound tensor of entry %s gives this size",
                            s->name, e->name);
  }
  return status;
}

static neo_rt_status check_extents(neo_rt_ctx *c, int32_t tensor) {
  const neo_rt_tensor *t = &c->model->tensors[tensor];
  int64_t want[NEO_RTI_MAX_RANK];
  neo_rti_extents(c->model, t, c->sizes, want);
  for (int d = 0; d < t->rank; d++)
    if (c->bound[tensor].extent[d] != want[d])
      return neo_rti_wrong_dim(c, t, d, c->bound[tensor].extent[d], want[d]);
  return NEO_OK;
}

/* Collects the arguments of the entry. A tensor that the context owns may be an output as well:
 * memory bound to it is its store, and no destination for the output. */
static neo_rt_status collect(neo_rt_ctx *c, const neo_rt_entry *e) {
  for (int32_t i = 0; i < e->n_args; i++) {
    int32_t tensor = c->model->entry_args[e->args + i];
    const neo_rt_tensor *t = &c->model->tensors[tensor];
    bool skip = i >= e->n_inputs && t->role != NEO_RT_ROLE_OUTPUT;
    c->run_args[i] = skip ? NULL : c->bound[tensor].data;
    if (i < e->n_inputs && !c->run_args[i])
      return neo_rti_fail(c, NEO_NULL, "%s: no tensor is bound (%s)", t->name, t->place);
  }
  return NEO_OK;
}

neo_rt_status neo_rt_run(neo_rt_ctx *c, int32_t entry) {
  neo_rt_status status;
  const neo_rt_entry *e = neo_rti_entry(c, entry, &status);
  if (!e)
    return status;
  status = collect(c, e);
  if (!status)
    status = find_sizes(c, e);
  if (!status)
    status = neo_rti_check_sizes(c, e);
  for (int32_t i = 0; !status && i < e->n_args; i++)
    if (c->run_args[i])
      status = check_extents(c, c->model->entry_args[e->args + i]);
  return status ? status : neo_rti_entry_call(c, e, c->run_args);
}

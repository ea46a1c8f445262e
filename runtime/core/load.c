/* load.c: loads a context's tensors from a checkpoint: the file is checked against the model (every
 * name, type, shape and index value), and only then copied. */
#include "runtime/core/load.h"
#include "runtime/core/device.h"
#include "runtime/core/run.h"
#include <inttypes.h>
#include <string.h>

static const neo_rti_file_tensor *find(const neo_rti_file_tensors *st, const char *name) {
  for (size_t i = 0; i < st->n_tensors; i++)
    if (strcmp(st->tensors[i].name, name) == 0)
      return &st->tensors[i];
  return NULL;
}

static neo_rt_status check_tensor(neo_rt_ctx *c, const char *path, const neo_rti_file_tensors *st,
                                  const neo_rt_tensor *t) {
  const neo_rti_file_tensor *f = find(st, t->name);
  int64_t extent[NEO_RTI_MAX_RANK];
  if (!f)
    return neo_rti_fail(c, NEO_NAME, "%s: %s: is missing from the file (%s)", path, t->name,
                        t->place);
  if (f->type != t->type)
    return neo_rti_fail(c, NEO_TYPE, "%s: %s: type is %s, expected %s (%s)", path, t->name,
                        neo_rti_file_type_name(f->type), neo_rti_type_name(t->type), t->place);
  if (f->rank != t->rank)
    return neo_rti_fail(c, NEO_SHAPE, "%s: %s: rank is %d, expected %d (%s)", path, t->name,
                        f->rank, t->rank, t->place);
  neo_rti_extents(c->model, t, NULL, extent);
  for (int d = 0; d < t->rank; d++)
    if (f->extent[d] != extent[d])
      return neo_rti_fail(c, NEO_SHAPE, "%s: %s: dim %d is %" PRId64 ", expected %" PRId64 " (%s)",
                          path, t->name, d, f->extent[d], extent[d], t->place);
  return NEO_OK;
}

/* The file's data need not be aligned for its type; a value check reads elements, so it copies. */
static neo_rt_status check_elements(neo_rt_ctx *c, const neo_rti_file_tensors *st,
                                    const neo_rt_tensor *t) {
  bool is_index = (t->bound >= 0 || t->ends) && neo_rti_type_is_int(t->type);
  if (!is_index && t->type != NEO_RT_BOOL)
    return NEO_OK;
  const neo_rti_file_tensor *f = find(st, t->name);
  size_t n = f->end - f->begin;
  void *copy = st->alloc.resize(st->alloc.ctx, NULL, n + 1);
  if (!copy)
    return neo_rti_fail(c, NEO_MEMORY, "%s: out of memory", t->name);
  memcpy(copy, st->data + f->begin, n);
  neo_rt_status status = neo_rti_check_values(c, t, copy, NULL);
  NEO_RTI_FREE(&st->alloc, copy);
  return status;
}

/* Only saved tensors count: an output may have the name of the parameter that it returns. */
static const neo_rt_tensor *find_saved(const neo_rt_model *m, const char *name) {
  for (int32_t i = 0; i < m->n_tensors; i++) {
    const neo_rt_tensor *t = &m->tensors[i];
    if (t->in_safetensors && neo_rti_tensor_persists(t) && strcmp(t->name, name) == 0)
      return t;
  }
  return NULL;
}

static neo_rt_status check_file(neo_rt_ctx *c, const char *path, const neo_rti_file_tensors *st) {
  const neo_rt_model *m = c->model;
  neo_rt_status status = NEO_OK;
  for (int32_t i = 0; !status && i < m->n_tensors; i++) {
    const neo_rt_tensor *t = &m->tensors[i];
    if (!t->in_safetensors || !neo_rti_tensor_persists(t))
      continue;
    status = check_tensor(c, path, st, t);
    if (!status)
      status = check_elements(c, st, t);
  }
  for (size_t i = 0; !status && i < st->n_tensors; i++)
    if (!find_saved(m, st->tensors[i].name))
      status = neo_rti_fail(c, NEO_NAME, "%s: %s: the model has no such parameter or state", path,
                            st->tensors[i].name);
  return status;
}

static neo_rt_status take_tensors(neo_rt_ctx *c, const neo_rti_file_tensors *st) {
  neo_rt_status s = NEO_OK;
  for (size_t i = 0; !s && i < st->n_tensors; i++) {
    const neo_rti_file_tensor *f = &st->tensors[i];
    const neo_rt_tensor *t = find_saved(c->model, f->name);
    s = neo_rti_put(c, neo_rti_tensor_data(c, t), st->data + f->begin, f->end - f->begin);
  }
  return s;
}

neo_rt_status neo_rt_load(neo_rt_ctx *c, const char *path) {
  neo_rti_loading l;
  neo_rt_status status = neo_rti_loading_open(c, path, true, &l);
  if (status)
    return status;
  status = check_file(c, path, &l.file);
  if (!status)
    status = take_tensors(c, &l.file);
  return neo_rti_loading_close(c, &l, status);
}

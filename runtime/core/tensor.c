/* tensor.c: reads and writes a context's tensors, as bytes (get, set) or as a number by name. */
#include "base/str.h"
#include "runtime/core/call_cache.h"
#include "runtime/core/device.h"
#include "runtime/core/run.h"
#include <math.h>

static neo_rt_status find_owned(neo_rt_ctx *c, int32_t tensor, const void *p, size_t size_bytes,
                                const neo_rt_tensor **out) {
  neo_rt_status status = neo_rti_alive(c);
  if (status)
    return status;
  const neo_rt_tensor *t = *out = neo_rti_tensor(c, tensor);
  if (!t)
    return neo_rti_fail(c, NEO_NAME, "%s has no tensor %d", c->model->name, tensor);
  if (!neo_rti_tensor_persists(t))
    return neo_rti_fail(c, NEO_ARGUMENT, "%s: an %s is not kept in the context (%s)", t->name,
                        neo_rti_role_name(t->role), t->place);
  size_t want = neo_rti_tensor_bytes(c->model, t, NULL);
  if (size_bytes != want)
    return neo_rti_fail(c, NEO_SHAPE, "%s: size is %zu bytes, expected %zu (%s)", t->name,
                        size_bytes, want, t->place);
  if (!p && want > 0)
    return neo_rti_fail(c, NEO_NULL, "%s: pointer is null (%s)", t->name, t->place);
  return NEO_OK;
}

neo_rt_status neo_rt_get(neo_rt_ctx *c, int32_t tensor, void *p, size_t size_bytes) {
  const neo_rt_tensor *t;
  neo_rt_status status = find_owned(c, tensor, p, size_bytes, &t);
  if (!status)
    status = neo_rti_take(c, p, neo_rti_tensor_data(c, t), size_bytes);
  return status;
}

neo_rt_status neo_rt_set(neo_rt_ctx *c, int32_t tensor, const void *p, size_t size_bytes) {
  const neo_rt_tensor *t;
  neo_rt_status status = find_owned(c, tensor, p, size_bytes, &t);
  if (!status && size_bytes > 0)
    status = neo_rti_check_values(c, t, p, NULL);
  if (!status)
    status = neo_rti_put(c, neo_rti_tensor_data(c, t), p, size_bytes);
  if (!status)
    neo_rti_call_cache_written(c, tensor);
  return status;
}

/* The scalar setting whose name is nearest, for "did you mean"; null if none is near. */
static const char *nearest(const neo_rt_model *m, const char *name) {
  const char *best = NULL;
  int best_distance = 3;
  for (int32_t i = 0; i < m->n_tensors; i++) {
    const neo_rt_tensor *t = &m->tensors[i];
    if (t->role != NEO_RT_ROLE_SETTING || t->rank != 0)
      continue;
    int d = neo_str_distance(name, t->name, best_distance);
    if (d < best_distance) {
      best_distance = d;
      best = t->name;
    }
  }
  return best;
}

static neo_rt_status no_setting(neo_rt_ctx *c, const char *name) {
  int32_t other = neo_rt_find(c->model, name);
  if (other >= 0) {
    const neo_rt_tensor *t = &c->model->tensors[other];
    return neo_rti_fail(c, NEO_NAME, "%s: is not a scalar setting, but %s of rank %d (%s)", name,
                        neo_rti_role_name(t->role), t->rank, t->place);
  }
  const char *near = nearest(c->model, name);
  return neo_rti_fail(
      c, NEO_NAME, near ? "%s has no setting '%s'; did you mean '%s'?" : "%s has no setting '%s'",
      c->model->name, name, near);
}

/* Whether the conversion keeps the number. A float may be rounded, but a finite number must not
 * become infinite. */
static bool is_same(uint8_t type, const void *converted, double value) {
  double back;
  if (type == NEO_RT_BOOL)
    return !isnan(value);
  neo_rti_convert(type, converted, NEO_RT_F64, &back, 1);
  if (!neo_rti_type_is_int(type))
    return isfinite(back) || !isfinite(value);
  return back == value && value < 0x1p63; /* 2^63 would become the largest i64 */
}

neo_rt_status neo_rt_set_scalar(neo_rt_ctx *c, const char *name, double value) {
  neo_rt_status status = neo_rti_alive(c);
  if (status)
    return status;
  if (!name)
    return neo_rti_fail(c, NEO_NULL, "the name of a setting is null");
  int32_t i = neo_rt_find(c->model, name);
  const neo_rt_tensor *t = neo_rti_tensor(c, i);
  if (!t || t->role != NEO_RT_ROLE_SETTING || t->rank != 0)
    return no_setting(c, name);
  _Alignas(8) unsigned char converted[8];
  neo_rti_convert(NEO_RT_F64, &value, t->type, converted, 1);
  if (!is_same(t->type, converted, value))
    return neo_rti_fail(c, NEO_RANGE, "%s: %.17g is no %s (%s)", name, value,
                        neo_rti_type_name(t->type), t->place);
  return neo_rt_set(c, i, converted, neo_rti_type_bytes(t->type));
}

/* values.c: every element of an index tensor lies in [0, bound), since generated code reads without
 * looking. A bool must be 0 or 1 for the same reason. */
#include "runtime/core/device.h"
#include "runtime/core/run.h"
#include <stdio.h>
#include <string.h>

/* "Y[2, 5]"; a scalar is "Y". */
static void position(char *out, size_t size, const neo_rt_tensor *t, const int64_t *extent,
                     int64_t at) {
  int64_t index[NEO_RTI_MAX_RANK];
  for (int d = t->rank; d-- > 0; at /= extent[d])
    index[d] = at % extent[d];
  size_t n = (size_t)snprintf(out, size, "%s", t->name);
  for (int d = 0; d < t->rank && n < size; d++)
    n += (size_t)snprintf(out + n, size - n, "%s%lld", d ? ", " : "[", (long long)index[d]);
  if (t->rank && n < size)
    snprintf(out + n, size - n, "]");
}

/* What its values must be below; -1: they may be anything. */
static int64_t bound_of(const neo_rt_ctx *c, const neo_rt_tensor *t, const int64_t *sizes) {
  if (t->bound >= 0 && neo_rti_type_is_int(t->type))
    return neo_rti_eval(c->model, t->bound, sizes);
  return t->type == NEO_RT_BOOL ? 2 : -1;
}

static neo_rt_status outside(neo_rt_ctx *c, const neo_rt_tensor *t, const int64_t *extent,
                             int64_t at, int64_t value, int64_t bound) {
  char where[512];
  position(where, sizeof where, t, extent, at);
  return neo_rti_fail(c, NEO_RANGE, "%s: value %lld is not in [0, %lld) (%s)", where,
                      (long long)value, (long long)bound, t->place);
}

neo_rt_status neo_rti_check_values(neo_rt_ctx *c, const neo_rt_tensor *t, const void *p,
                                   const int64_t *sizes) {
  int64_t bound = bound_of(c, t, sizes);
  if (bound < 0)
    return NEO_OK;
  int64_t extent[NEO_RTI_MAX_RANK], n = neo_rti_extents(c->model, t, sizes, extent);
  int64_t bad = neo_rti_scan(t->type, p, n, bound);
  return bad < 0 ? NEO_OK : outside(c, t, extent, bad, neo_rti_int_at(t->type, p, bad), bound);
}

neo_rt_status neo_rti_check_device_values(neo_rt_ctx *c, const neo_rt_tensor *t, const void *p) {
  enum { CHUNK = 1 << 16 };
  _Alignas(8) char chunk[CHUNK];
  int64_t bound = bound_of(c, t, c->sizes), size = (int64_t)neo_rti_type_bytes(t->type);
  if (bound < 0)
    return NEO_OK;
  int64_t extent[NEO_RTI_MAX_RANK], n = neo_rti_extents(c->model, t, c->sizes, extent);
  for (int64_t at = 0, now; at < n; at += now) {
    now = n - at < CHUNK / size ? n - at : CHUNK / size;
    neo_rt_status s = neo_rti_take(c, chunk, (const char *)p + at * size, (size_t)(now * size));
    int64_t bad = s ? -1 : neo_rti_scan(t->type, chunk, now, bound);
    if (s)
      return s;
    if (bad >= 0)
      return outside(c, t, extent, at + bad, neo_rti_int_at(t->type, chunk, bad), bound);
  }
  return NEO_OK;
}

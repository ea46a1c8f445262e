/* values.c: every element of an index tensor lies in [0, bound), since generated code reads without
 * looking. A bool must be 0 or 1 for the same reason.
 *
 * Blocks are scanned without a branch (an unsigned comparison covers both ends), which vectorises;
 * only a bad block is searched for its first bad element. */
#include "runtime/internal.h"
#include <stdio.h>
#include <string.h>

enum { BLOCK = 2048 };

#define SCAN(name, T)                                   \
  static int64_t name(const T *p, int64_t n, T bound) { \
    for (int64_t at = 0; at < n; at += BLOCK) {         \
      int64_t end = n - at < BLOCK ? n : at + BLOCK;    \
      unsigned bad = 0;                                 \
      for (int64_t i = at; i < end; i++)                \
        bad |= p[i] >= bound;                           \
      for (int64_t i = at; bad && i < end; i++)         \
        if (p[i] >= bound)                              \
          return i;                                     \
    }                                                   \
    return -1;                                          \
  }
SCAN(scan_64, uint64_t)
SCAN(scan_32, uint32_t)
SCAN(scan_8, uint8_t)

/* Negative numbers are large as unsigned ones, so the bound stops at the sign bit. */
static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

int64_t neo_rti_scan(uint8_t type, const void *p, int64_t n, int64_t bound) {
  if (bound < 0)
    bound = 0;
  switch (type) {
  case NEO_RT_I64:
    return scan_64(p, n, (uint64_t)bound);
  case NEO_RT_I32:
    return scan_32(p, n, (uint32_t)least(bound, INT64_C(1) << 31));
  case NEO_RT_I8:
    return scan_8(p, n, (uint8_t)least(bound, 128));
  case NEO_RT_U8:
    return bound > 255 ? -1 : scan_8(p, n, (uint8_t)bound);
  case NEO_RT_BOOL:
    return scan_8(p, n, 2);
  default:
    return -1;
  }
}

int64_t neo_rti_int_at(uint8_t type, const void *p, int64_t i) {
  switch (type) {
  case NEO_RT_I64:
    return ((const int64_t *)p)[i];
  case NEO_RT_I32:
    return ((const int32_t *)p)[i];
  case NEO_RT_I8:
    return ((const int8_t *)p)[i];
  default:
    return ((const uint8_t *)p)[i];
  }
}

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

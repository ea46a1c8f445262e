/* values.c: checks that every element of an index tensor is in [0, bound), or between ends that
 * depend on its indices, since generated code uses it without checks. A bool must be 0 or 1 for the
 * same reason. */
#include "runtime/core/device.h"
#include "runtime/core/run.h"
#include <stdio.h>

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

/* The bound of the tensor's values for these sizes; 0: no value is allowed. False: the tensor has
 * no bound. */
static bool bound_of(const neo_rt_ctx *c, const neo_rt_tensor *t, const int64_t *sizes,
                     int64_t *bound) {
  *bound = 2;
  if (t->bound < 0 || !neo_rti_type_is_int(t->type))
    return t->type == NEO_RT_BOOL;
  int64_t end = neo_rti_eval(c->model, t->bound, sizes);
  *bound = end < 0 ? 0 : end;
  return true;
}

static neo_rt_status outside(neo_rt_ctx *c, const neo_rt_tensor *t, const int64_t *extent,
                             int64_t at, int64_t value, int64_t bound) {
  char where[512];
  position(where, sizeof where, t, extent, at);
  return neo_rti_fail(c, NEO_RANGE, "%s: value %lld is not in [0, %lld) (%s)", where,
                      (long long)value, (long long)bound, t->place);
}

/* ---- element bounds that depend on the element's indices */

__extension__ typedef __int128 wide;

typedef struct {
  const neo_rt_tensor *t;
  const int64_t *extent;
  bool low, high;
  bool narrow;          /* all bounds fit in i64, those of the position after the last element
                           too */
  int64_t least, below; /* bounds of the first element */
  int64_t by[2][NEO_RTI_MAX_RANK]; /* the addend of each index */
} ends;

static int64_t within(wide x) {
  return x < INT64_MIN ? INT64_MIN : x > INT64_MAX ? INT64_MAX : (int64_t)x;
}

static void ends_at(const ends *e, int64_t at, int64_t *least, int64_t *below) {
  wide low = e->least, high = e->below;
  for (int d = e->t->rank; d-- > 0; at /= e->extent[d]) {
    int64_t index = at % e->extent[d];
    low += (wide)e->by[0][d] * index;
    high += (wide)e->by[1][d] * index;
  }
  *least = within(low);
  *below = within(high);
}

static bool is_narrow(const ends *e) {
  wide most = 0;
  for (int which = 0; which < 2; which++) {
    wide size = which ? e->below : e->least;
    size = size < 0 ? -size : size;
    for (int d = 0; d < e->t->rank; d++) {
      wide by = e->by[which][d];
      size += (by < 0 ? -by : by) * e->extent[d];
    }
    most = (which ? e->high : e->low) && size > most ? size : most;
  }
  return most < INT64_MAX;
}

static bool ends_of(const neo_rt_ctx *c, const neo_rt_tensor *t, const int64_t *sizes,
                    const int64_t *extent, ends *e) {
  if (!t->ends)
    return false;
  const int32_t *row = c->model->extents + t->ends - 1;
  *e = (ends){.t = t, .extent = extent, .low = row[0] >= 0, .high = row[1] >= 0};
  e->least = e->low ? neo_rti_eval(c->model, row[0], sizes) : INT64_MIN;
  e->below = e->high ? neo_rti_eval(c->model, row[1], sizes) : INT64_MAX;
  for (int which = 0; which < 2; which++)
    for (int d = 0; d < t->rank && row[which] >= 0; d++)
      e->by[which][d] = neo_rti_eval(c->model, row[2 + which * t->rank + d], sizes);
  e->narrow = is_narrow(e);
  return true;
}

/* Returns the first of n elements of a row at p that is out of bounds; n: none. The bounds begin
 * with `least` and `below`, and grow along the row. */
static int64_t scan_row(const ends *e, const void *p, int64_t n, int64_t least, int64_t below) {
  int last = e->t->rank - 1;
  int64_t low = last >= 0 ? e->by[0][last] : 0, high = last >= 0 ? e->by[1][last] : 0;
  for (int64_t k = 0; k < n; k++, least += low, below += high) {
    int64_t x = neo_rti_int_at(e->t->type, p, k);
    if (x < least || x >= below)
      return k;
  }
  return n;
}

/* The same, from element `first` on, for ends that may leave i64. */
static int64_t scan_wide(const ends *e, const void *p, int64_t first, int64_t n) {
  for (int64_t k = 0; k < n; k++) {
    int64_t x = neo_rti_int_at(e->t->type, p, k), least, below;
    ends_at(e, first + k, &least, &below);
    if (x < least || (e->high && x >= below))
      return k;
  }
  return -1;
}

/* Returns the first of n elements at p that is out of bounds; -1: none. `first`: index of the
 * element at p. Works by rows, so that not every element costs a division. */
static int64_t scan_ends(const ends *e, const void *p, int64_t first, int64_t n) {
  int rank = e->t->rank;
  int64_t row = rank ? e->extent[rank - 1] : 1, least = 0, below = 0, size = 0;
  if (!e->narrow)
    return scan_wide(e, p, first, n);
  for (int64_t k = 0; k < n; k += size) {
    bool next = rank == 2 && size == row;
    int64_t left = next ? row : row - (first + k) % row;
    if (next) {
      least += e->by[0][0];
      below += e->by[1][0];
    } else {
      ends_at(e, first + k, &least, &below);
    }
    size = left < n - k ? left : n - k;
    const char *at = (const char *)p + (size_t)k * neo_rti_type_bytes(e->t->type);
    int64_t bad = scan_row(e, at, size, least, below);
    if (bad < size)
      return k + bad;
  }
  return -1;
}

static neo_rt_status beyond(neo_rt_ctx *c, const ends *e, int64_t at, int64_t value) {
  char where[512];
  int64_t least, below;
  position(where, sizeof where, e->t, e->extent, at);
  ends_at(e, at, &least, &below);
  if (!e->high)
    return neo_rti_fail(c, NEO_RANGE, "%s: value %lld is less than %lld (%s)", where,
                        (long long)value, (long long)least, e->t->place);
  return neo_rti_fail(c, NEO_RANGE, "%s: value %lld is not in [%lld, %lld) (%s)", where,
                      (long long)value, (long long)least, (long long)below, e->t->place);
}

neo_rt_status neo_rti_check_values(neo_rt_ctx *c, const neo_rt_tensor *t, const void *p,
                                   const int64_t *sizes) {
  int64_t bound;
  ends e;
  if (!bound_of(c, t, sizes, &bound) && !t->ends)
    return NEO_OK;
  int64_t extent[NEO_RTI_MAX_RANK], n = neo_rti_extents(c->model, t, sizes, extent);
  if (ends_of(c, t, sizes, extent, &e)) {
    int64_t at = scan_ends(&e, p, 0, n);
    return at < 0 ? NEO_OK : beyond(c, &e, at, neo_rti_int_at(t->type, p, at));
  }
  int64_t bad = neo_rti_scan(t->type, p, n, bound);
  return bad < 0 ? NEO_OK : outside(c, t, extent, bad, neo_rti_int_at(t->type, p, bad), bound);
}

neo_rt_status neo_rti_check_device_values(neo_rt_ctx *c, const neo_rt_tensor *t, const void *p,
                                          const int64_t *sizes) {
  int64_t bound, size = (int64_t)neo_rti_type_bytes(t->type);
  ends e;
  if (!bound_of(c, t, sizes, &bound) && !t->ends)
    return NEO_OK;
  int64_t extent[NEO_RTI_MAX_RANK], n = neo_rti_extents(c->model, t, sizes, extent);
  bool ended = ends_of(c, t, sizes, extent, &e);
  for (int64_t at = 0, now; at < n; at += now) {
    now = n - at < NEO_RTI_CHUNK / size ? n - at : NEO_RTI_CHUNK / size;
    neo_rt_status s = neo_rti_take(c, c->chunk, (const char *)p + at * size, (size_t)(now * size));
    int64_t bad = s       ? -1
                  : ended ? scan_ends(&e, c->chunk, at, now)
                          : neo_rti_scan(t->type, c->chunk, now, bound);
    if (s)
      return s;
    if (bad >= 0 && ended)
      return beyond(c, &e, at + bad, neo_rti_int_at(t->type, c->chunk, bad));
    if (bad >= 0)
      return outside(c, t, extent, at + bad, neo_rti_int_at(t->type, c->chunk, bad), bound);
  }
  return NEO_OK;
}

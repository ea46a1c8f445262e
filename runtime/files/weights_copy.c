/* weights_copy.c: elements of a file's tensor into a slot: dimensions in another order, types
 * converted. Floats become the nearest of the other type; integers must fit. The file's data need
 * not be aligned for its type. */
#include "runtime/files/weights_rules.h"
#include <math.h>
#include <string.h>

static bool is_float(uint8_t type) {
  return type <= NEO_RT_BF16;
}

bool neo_rti_file_type_converts(uint8_t from, uint8_t to) {
  return is_float(from) == is_float(to);
}

/* ------------------------------------------------------------ integers */

/* An element of an integer type, bool or one of files alone; false if i64 has no such value. */
static bool int_at(uint8_t type, const unsigned char *p, int64_t *x) {
  size_t bytes = neo_rti_file_type_bytes(type);
  uint64_t raw = 0;
  for (size_t i = 0; i < bytes; i++)
    raw |= (uint64_t)p[i] << (8 * i);
  bool is_signed =
      type == NEO_RT_I64 || type == NEO_RT_I32 || type == NEO_RT_I8 || type == NEO_RTI_FILE_I16;
  unsigned shift = 64 - 8 * (unsigned)bytes;
  *x = is_signed ? (int64_t)(raw << shift) >> shift : (int64_t)raw;
  return is_signed || *x >= 0;
}

/* Stores an integer in another type; false if the value changes. */
static bool put_int(int64_t x, uint8_t to, unsigned char *out) {
  int64_t wide;
  uint64_t aligned = 0;
  neo_rti_convert(NEO_RT_I64, &x, to, &aligned, 1);
  memcpy(out, &aligned, neo_rti_type_bytes(to));
  return int_at(to, out, &wide) && wide == x;
}

/* ------------------------------------------------------------ elements */

/* Converts one element; false if the other type cannot hold its value. */
static bool put_element(uint8_t from, const unsigned char *p, uint8_t to, unsigned char *out) {
  if (from == to) {
    memcpy(out, p, neo_rti_type_bytes(to));
    return true;
  }
  int64_t x;
  if (!is_float(from))
    return int_at(from, p, &x) && put_int(x, to, out);
  uint64_t aligned = 0, result = 0;
  memcpy(&aligned, p, neo_rti_type_bytes(from));
  neo_rti_convert(from, &aligned, to, &result, 1);
  memcpy(out, &result, neo_rti_type_bytes(to));
  double wide, narrow = 0;
  neo_rti_convert(from, &aligned, NEO_RT_F64, &wide, 1);
  if (is_float(to))
    neo_rti_convert(to, &result, NEO_RT_F64, &narrow, 1);
  return !isfinite(wide) || isfinite(narrow);
}

static bool in_order(const neo_rti_move *m) {
  for (uint8_t d = 0; d < m->from->rank; d++)
    if (m->order[d] != d)
      return false;
  return true;
}

/* Bytes from one element to the next along each dimension of the result. */
static void strides_of(const neo_rti_move *m, size_t *stride) {
  size_t own[NEO_RTI_MAX_RANK], step = neo_rti_file_type_bytes(m->from->type);
  for (uint8_t d = m->from->rank; d-- > 0; step *= (size_t)m->from->extent[d])
    own[d] = step;
  for (uint8_t d = 0; d < m->from->rank; d++)
    stride[d] = own[m->order[d]];
}

/* The next index of the result in its order; *at follows it in the file. */
static void next(const neo_rti_move *m, const size_t *stride, int64_t *index, size_t *at) {
  for (uint8_t d = m->from->rank; d-- > 0;) {
    int64_t extent = m->from->extent[m->order[d]];
    *at += stride[d];
    if (++index[d] < extent)
      return;
    *at -= stride[d] * (size_t)extent;
    index[d] = 0;
  }
}

static bool copy(const neo_rti_weights *w, const neo_rti_move *m, unsigned char *to) {
  const unsigned char *from = w->file->data + m->from->begin;
  uint8_t type = w->slots[m->slot].type;
  size_t bytes = neo_rti_type_bytes(type), stride[NEO_RTI_MAX_RANK], at = 0;
  int64_t index[NEO_RTI_MAX_RANK] = {0};
  to += (size_t)m->first * bytes;
  if (in_order(m) && m->from->type == type) {
    memcpy(to, from, (size_t)m->count * bytes);
    return true;
  }
  strides_of(m, stride);
  for (int64_t i = 0; i < m->count; i++, to += bytes) {
    if (!put_element(m->from->type, from + at, type, to))
      return false;
    next(m, stride, index, &at);
  }
  return true;
}

neo_rt_status neo_rti_weights_fill(neo_rti_weights *w, size_t slot, void *to) {
  for (size_t k = 0; k < w->n_moves; k++) {
    const neo_rti_move *m = &w->moves[k];
    if (m->slot != slot || copy(w, m, to))
      continue;
    neo_str_addf(&w->error, "%s: a value is not in the range of %s (%s)", m->from->name,
                 neo_rti_type_name(w->slots[slot].type), w->slots[slot].place);
    return NEO_RANGE;
  }
  return NEO_OK;
}

/* npy.c: NumPy's .npy, versions 1 to 3 (https://numpy.org/neps/nep-0001-npy-format.html).
 *
 * Big-endian elements are swapped, column-major arrays are transposed: the result is always native
 * and row-major. i2 and u2 become i32, u4 becomes i64; bf16, which NumPy lacks, is written as
 * f32. */
#include "runtime/files/npy.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------ elements */

static uint64_t load(const unsigned char *p, const neo_rti_npy_header *h) {
  uint64_t x = 0;
  for (int i = 0; i < h->bytes; i++) {
    int at = h->swap ? h->bytes - 1 - i : i;
    x |= (uint64_t)p[at] << (8 * i);
  }
  return x;
}

static void store(void *out, size_t i, uint64_t x, const neo_rti_npy_header *h) {
  switch (neo_rti_type_bytes(h->type)) {
  case 1:
    ((uint8_t *)out)[i] = (uint8_t)(h->kind == 'b' ? x != 0 : x);
    break;
  case 2:
    ((uint16_t *)out)[i] = (uint16_t)x;
    break;
  case 4:
    ((uint32_t *)out)[i] =
        h->kind == 'i' && h->bytes == 2 ? (uint32_t)(int32_t)(int16_t)(uint16_t)x : (uint32_t)x;
    break;
  default:
    ((uint64_t *)out)[i] = x;
    break;
  }
}

/* Row-major order over the output; the column-major source address is kept along. */
static void copy_transposed(const neo_rti_npy_header *h, const unsigned char *p, void *out,
                            size_t count) {
  int64_t index[NEO_RTI_MAX_RANK] = {0};
  size_t stride[NEO_RTI_MAX_RANK], from = 0, s = 1;
  for (int d = 0; d < h->rank; d++) {
    stride[d] = s;
    s *= (size_t)h->extent[d];
  }
  for (size_t i = 0; i < count; i++) {
    store(out, i, load(p + from * h->bytes, h), h);
    for (int d = h->rank; d-- > 0;) {
      from += stride[d];
      if (++index[d] < h->extent[d])
        break;
      from -= stride[d] * (size_t)h->extent[d];
      index[d] = 0;
    }
  }
}

static void copy_elements(const neo_rti_npy_header *h, const unsigned char *p, void *out,
                          size_t count) {
  bool plain = !h->swap && h->kind != 'b' && h->bytes == neo_rti_type_bytes(h->type);
  if (h->fortran && h->rank > 1)
    copy_transposed(h, p, out, count);
  else if (plain)
    memcpy(out, p, count * h->bytes);
  else
    for (size_t i = 0; i < count; i++)
      store(out, i, load(p + i * h->bytes, h), h);
}

/* ------------------------------------------------------------ reading */

static bool detect(const unsigned char *p, size_t n) {
  return n >= 6 && memcmp(p, "\x93NUMPY", 6) == 0;
}

/* Reads the header, and sets the array's type and shape; checks that the file has as many elements
 * as the header declares. */
static neo_rt_status read_shape(const neo_rti_source *s, neo_rti_npy_header *h, neo_rt_array *a,
                                int64_t *count) {
  neo_rt_status status = neo_rti_npy_read_header(s, h);
  if (status)
    return status;
  *a = (neo_rt_array){.type = h->type, .rank = h->rank};
  memcpy(a->extent, h->extent, sizeof a->extent);
  *count = 1;
  bool fits = true;
  for (int d = 0; d < h->rank; d++)
    fits = fits && neo_rti_mul(*count, h->extent[d], count);
  size_t rest = s->n - h->data;
  if (!fits || rest / h->bytes != (uint64_t)*count || rest % h->bytes)
    return NEO_RTI_REJECT(s, NEO_FORMAT,
                          ".npy has %zu bytes of elements, its shape asks for %" PRId64 " of %d",
                          rest, fits ? *count : -1, h->bytes);
  return NEO_OK;
}

static neo_rt_status locate(const neo_rti_source *s, neo_rti_located *out) {
  neo_rti_npy_header h;
  int64_t count;
  neo_rt_array a;
  neo_rt_status status = read_shape(s, &h, &a, &count);
  if (status || (h.fortran && h.rank > 1))
    return status ? status : NEO_UNSUPPORTED;
  *out = (neo_rti_located){
      .array = a, .begin = h.data, .bytes = h.bytes, .kind = h.kind, .swap = h.swap};
  out->array.size_bytes = (size_t)count * neo_rti_type_bytes(a.type);
  return NEO_OK;
}

void neo_rti_decode(const neo_rti_located *l, const void *from, void *out, size_t n) {
  neo_rti_npy_header h = {
      .type = l->array.type, .bytes = l->bytes, .kind = l->kind, .swap = l->swap};
  copy_elements(&h, from, out, n);
}

static neo_rt_status read_array(const neo_rti_source *s, neo_rt_array *out) {
  neo_rti_npy_header h;
  neo_rt_array a;
  int64_t count;
  memset(out, 0, sizeof *out);
  neo_rt_status status = read_shape(s, &h, &a, &count);
  if (status)
    return status;
  status = neo_rti_array_alloc(s->alloc, &a);
  if (status)
    return NEO_RTI_REJECT(s, status, "out of memory");
  if (count > 0)
    copy_elements(&h, s->p + h.data, a.data, (size_t)count);
  *out = a;
  return NEO_OK;
}

neo_rt_status neo_rt_npy_parse(const void *p, size_t n, neo_rt_array *out, char *error,
                               size_t error_bytes) {
  if (!p || !out)
    return neo_rti_say(error, error_bytes, NEO_NULL, "null pointer");
  return read_array(&(neo_rti_source){&neo_alloc_default, p, n, NULL, error, error_bytes}, out);
}

/* ------------------------------------------------------------ writing */

/* The header, whose type is the one that is written; returns its bytes. */
static size_t make_header(const neo_rt_array *array, char out[640]) {
  static const char *const names[] = {"<f8", "<f4", "<f2", "<f4", "<i8",
                                      "<i4", "|i1", "|u1", "|b1"};
  int n = snprintf(out + 10, 600, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                   names[array->type]);
  for (int d = 0; d < array->rank; d++)
    n += snprintf(out + 10 + n, 600 - (size_t)n, d ? " %" PRId64 "," : "%" PRId64 ",",
                  array->extent[d]);
  if (array->rank > 1)
    n--; /* only a tuple of one needs its comma */
  n += snprintf(out + 10 + n, 600 - (size_t)n, "), }");
  size_t total = ((size_t)n + 10 + 1 + 63) & ~(size_t)63; /* elements start at a cache line */
  memset(out + 10 + n, ' ', total - 10 - (size_t)n);
  out[total - 1] = '\n';
  memcpy(out, "\x93NUMPY\x01\x00", 8);
  out[8] = (char)((total - 10) & 0xff);
  out[9] = (char)((total - 10) >> 8);
  return total;
}

neo_rt_status neo_rti_npy_open(const neo_rt_array *array, neo_rti_npy *out) {
  memset(&out->copy, 0, sizeof out->copy);
  out->array = array;
  if (neo_rti_type_bytes(array->type) == 0 || array->rank > NEO_RTI_MAX_RANK)
    return NEO_TYPE;
  if (array->type == NEO_RT_BF16) {
    neo_rt_status status = neo_rt_array_convert(array, NEO_RT_F32, &out->copy);
    if (status)
      return status;
    out->array = &out->copy;
  }
  out->head_bytes = make_header(out->array, out->head);
  return NEO_OK;
}

void neo_rti_npy_close(neo_rti_npy *n) {
  neo_rt_array_free(&n->copy);
}

static neo_rt_status write_file(neo_file_writer *w, const neo_rti_env *env, const char *path,
                                const neo_rti_npy *a) {
  neo_rt_status status = (neo_rt_status)neo_file_begin(w, &env->io, path, 0666);
  if (status)
    return status;
  neo_file_put(w, a->head, a->head_bytes);
  neo_file_put(w, a->array->data, a->array->size_bytes);
  return (neo_rt_status)neo_file_commit(w);
}

static neo_rt_status write_arrays(const neo_rti_env *env, const char *path,
                                  const neo_rt_named_array *arrays, int32_t n) {
  if (n != 1)
    return NEO_ARGUMENT;
  if (!path || !arrays[0].array)
    return NEO_NULL;
  neo_rti_npy a;
  neo_file_writer *w = NULL;
  neo_rt_status status = neo_rti_npy_open(arrays[0].array, &a);
  if (!status && !(w = env->alloc.resize(env->alloc.ctx, NULL, sizeof *w)))
    status = NEO_MEMORY;
  if (!status)
    status = write_file(w, env, path, &a);
  if (w)
    NEO_RTI_FREE(&env->alloc, w);
  neo_rti_npy_close(&a);
  return status;
}

const neo_rti_format neo_rti_format_npy = {.name = "npy",
                                           .title = ".npy",
                                           .detect = detect,
                                           .read_array = read_array,
                                           .locate = locate,
                                           .write_arrays = write_arrays};

neo_rt_status neo_rt_array_save_npy(const char *path, const neo_rt_array *array) {
  neo_rti_env env = {neo_alloc_default, neo_io_default};
  return write_arrays(&env, path, &(neo_rt_named_array){"", array}, 1);
}

/* npy.c: NumPy's .npy, versions 1 to 3 (https://numpy.org/neps/nep-0001-npy-format.html).
 *
 * The header is a Python literal, {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, read
 * by a strict reader of just that. Big-endian elements are swapped, column-major arrays are
 * transposed, so what comes out is always native and row-major. i2 and u2 become i32, u4 becomes
 * i64; bf16, which NumPy lacks, is written as f32. */
#include "runtime/internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  uint8_t type, bytes; /* as the array gets it, as stored */
  char kind;           /* NumPy's letter */
  bool swap, fortran;
  uint8_t rank;
  int64_t extent[NEO_RTI_MAX_RANK];
  bool has_descr, has_order, has_shape;
} header;

typedef struct {
  const char *p, *end;
  char *error;
  size_t error_bytes;
  neo_rt_status status;
} reader;

static bool bad(reader *r, const char *what) {
  if (!r->status)
    r->status = neo_rti_say(r->error, r->error_bytes, NEO_FORMAT, "bad .npy header: %s", what);
  return false;
}

/* ------------------------------------------------------------ the literal */

static void skip_space(reader *r) {
  while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\t'))
    r->p++;
}

static bool take(reader *r, char c) {
  skip_space(r);
  if (r->p >= r->end || *r->p != c)
    return false;
  r->p++;
  return true;
}

static bool take_word(reader *r, const char *word) {
  size_t n = strlen(word);
  skip_space(r);
  if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
    return false;
  r->p += n;
  return true;
}

/* A quoted string without escapes, at most 31 bytes. */
static bool read_text(reader *r, char out[32]) {
  skip_space(r);
  if (r->p >= r->end || (*r->p != '\'' && *r->p != '"'))
    return bad(r, "expected a string");
  char quote = *r->p++;
  size_t n = 0;
  for (; r->p < r->end && *r->p != quote && n < 31; r->p++) {
    if (*r->p == '\\')
      return bad(r, "escape in a string");
    out[n++] = *r->p;
  }
  if (r->p >= r->end || *r->p != quote)
    return bad(r, "a string is not closed or too long");
  r->p++;
  out[n] = 0;
  return true;
}

static bool read_number(reader *r, int64_t *out) {
  int64_t x = 0;
  skip_space(r);
  const char *from = r->p;
  for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
    if (!neo_rti_mul(x, 10, &x) || __builtin_add_overflow(x, *r->p - '0', &x))
      return bad(r, "a dimension is too large");
  *out = x;
  if (r->p < r->end && *r->p == 'L')
    r->p++; /* Python 2 wrote 3L */
  return r->p > from || bad(r, "expected a dimension");
}

static bool read_shape(reader *r, header *h) {
  if (!take(r, '('))
    return bad(r, "expected the shape");
  while (!take(r, ')')) {
    if (h->rank == NEO_RTI_MAX_RANK)
      return bad(r, "more than 16 dimensions");
    if (!read_number(r, &h->extent[h->rank]))
      return false;
    h->rank++;
    if (take(r, ','))
      continue;
    if (!take(r, ')'))
      return bad(r, "expected ')'");
    return h->rank != 1 || bad(r, "(n) is not a tuple");
  }
  return true;
}

typedef struct {
  char kind;
  uint8_t bytes, type;
} descr;
static const descr descrs[] = {{'f', 8, NEO_RT_F64}, {'f', 4, NEO_RT_F32}, {'f', 2, NEO_RT_F16},
                               {'i', 8, NEO_RT_I64}, {'i', 4, NEO_RT_I32}, {'i', 2, NEO_RT_I32},
                               {'i', 1, NEO_RT_I8},  {'u', 1, NEO_RT_U8},  {'u', 2, NEO_RT_I32},
                               {'u', 4, NEO_RT_I64}, {'b', 1, NEO_RT_BOOL}};

static bool read_descr(reader *r, header *h) {
  char text[32];
  if (!take(r, '[')) {
    if (!read_text(r, text))
      return false;
  } else {
    return bad(r, "records (structured types) are not supported");
  }
  for (size_t i = 0; i < sizeof descrs / sizeof descrs[0]; i++) {
    const descr *d = &descrs[i];
    if (text[0] == 0 || text[1] != d->kind || text[2] != '0' + d->bytes || text[3])
      continue;
    if (!strchr("<>|=", text[0]))
      break;
    h->type = d->type;
    h->bytes = d->bytes;
    h->kind = d->kind;
    h->swap = text[0] == '>' && d->bytes > 1;
    return true;
  }
  r->status = neo_rti_say(r->error, r->error_bytes, NEO_TYPE,
                          "element type '%s' of .npy is not supported", text);
  return false;
}

static bool read_order(reader *r, header *h) {
  if (take_word(r, "True"))
    h->fortran = true;
  else if (!take_word(r, "False"))
    return bad(r, "fortran_order is neither True nor False");
  return true;
}

static bool read_item(reader *r, header *h) {
  char key[32];
  if (!read_text(r, key))
    return false;
  if (!take(r, ':'))
    return bad(r, "expected ':'");
  bool *seen = strcmp(key, "descr") == 0           ? &h->has_descr
               : strcmp(key, "fortran_order") == 0 ? &h->has_order
               : strcmp(key, "shape") == 0         ? &h->has_shape
                                                   : NULL;
  if (!seen || *seen)
    return bad(r, seen ? "a key occurs twice" : "unknown key");
  *seen = true;
  if (seen == &h->has_descr)
    return read_descr(r, h);
  return seen == &h->has_order ? read_order(r, h) : read_shape(r, h);
}

static bool read_header(reader *r, header *h) {
  if (!take(r, '{'))
    return bad(r, "expected '{'");
  while (!take(r, '}')) {
    if (!read_item(r, h))
      return false;
    if (take(r, ','))
      continue;
    if (!take(r, '}'))
      return bad(r, "expected '}'");
    break;
  }
  skip_space(r);
  if (r->p != r->end)
    return bad(r, "text after '}'");
  return (h->has_descr && h->has_order && h->has_shape) || bad(r, "a key is missing");
}

/* ------------------------------------------------------------ elements */

static uint64_t load(const unsigned char *p, const header *h) {
  uint64_t x = 0;
  for (int i = 0; i < h->bytes; i++) {
    int at = h->swap ? h->bytes - 1 - i : i;
    x |= (uint64_t)p[at] << (8 * i);
  }
  return x;
}

static void store(void *out, size_t i, uint64_t x, const header *h) {
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
static void copy_transposed(const header *h, const unsigned char *p, void *out, size_t count) {
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

static void copy_elements(const header *h, const unsigned char *p, void *out, size_t count) {
  bool plain = !h->swap && h->kind != 'b' && h->bytes == neo_rti_type_bytes(h->type);
  if (h->fortran && h->rank > 1)
    copy_transposed(h, p, out, count);
  else if (plain)
    memcpy(out, p, count * h->bytes);
  else
    for (size_t i = 0; i < count; i++)
      store(out, i, load(p + i * h->bytes, h), h);
}

/* Where the literal lies; false if the file is cut short or of an unknown version. */
static bool find_header(const unsigned char *p, size_t n, size_t *from, size_t *bytes) {
  if (n < 10 || memcmp(p, "\x93NUMPY", 6) != 0 || p[6] < 1 || p[6] > 3)
    return false;
  *from = p[6] == 1 ? 10 : 12;
  *bytes = (size_t)p[8] | (size_t)p[9] << 8;
  if (p[6] > 1) {
    if (n < 12)
      return false;
    *bytes |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
  }
  return *bytes <= n - *from;
}

neo_rt_status neo_rti_npy_parse(const neo_alloc *alloc, const void *data, size_t n,
                                neo_rt_array *out, char *error, size_t error_bytes) {
  const unsigned char *p = data;
  size_t from = 0, bytes = 0;
  memset(out, 0, sizeof *out);
  if (!find_header(p, n, &from, &bytes))
    return neo_rti_say(error, error_bytes, NEO_FORMAT, "no .npy header of version 1, 2 or 3");
  header h;
  memset(&h, 0, sizeof h);
  const char *text = (const char *)p + from;
  reader r = {text, text + bytes, error, error_bytes, NEO_OK};
  if (!read_header(&r, &h))
    return r.status;
  neo_rt_array a = {.type = h.type, .rank = h.rank};
  memcpy(a.extent, h.extent, sizeof a.extent);
  int64_t count = 1;
  bool fits = true;
  for (int d = 0; d < h.rank; d++)
    fits = fits && neo_rti_mul(count, h.extent[d], &count);
  size_t rest = n - from - bytes;
  if (!fits || rest / h.bytes != (uint64_t)count || rest % h.bytes)
    return neo_rti_say(error, error_bytes, NEO_FORMAT,
                       ".npy has %zu bytes of elements, its shape asks for %" PRId64 " of %d", rest,
                       fits ? count : -1, h.bytes);
  neo_rt_status status = neo_rti_array_alloc(alloc, &a);
  if (status)
    return neo_rti_say(error, error_bytes, status, "out of memory");
  if (count > 0)
    copy_elements(&h, p + from + bytes, a.data, (size_t)count);
  *out = a;
  return NEO_OK;
}

neo_rt_status neo_rt_npy_parse(const void *p, size_t n, neo_rt_array *out, char *error,
                               size_t error_bytes) {
  if (!p || !out)
    return neo_rti_say(error, error_bytes, NEO_NULL, "null pointer");
  return neo_rti_npy_parse(&neo_alloc_default, p, n, out, error, error_bytes);
}

/* ------------------------------------------------------------ writing */

size_t neo_rti_npy_header(const neo_rt_array *array, char out[640]) {
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

neo_rt_status neo_rti_array_writable(const neo_rt_array *array, neo_rt_array *copy,
                                     const neo_rt_array **out) {
  memset(copy, 0, sizeof *copy);
  *out = array;
  if (array->type != NEO_RT_BF16)
    return NEO_OK;
  *out = copy;
  return neo_rt_array_convert(array, NEO_RT_F32, copy);
}

static neo_rt_status write_npy(neo_file_writer *w, const neo_rti_env *env, const char *path,
                               const neo_rt_array *a) {
  char head[640];
  size_t n = neo_rti_npy_header(a, head);
  neo_rt_status status = (neo_rt_status)neo_file_begin(w, &env->io, path, 0666);
  if (status)
    return status;
  neo_file_put(w, head, n);
  neo_file_put(w, a->data, a->size_bytes);
  return (neo_rt_status)neo_file_commit(w);
}

neo_rt_status neo_rti_npy_save(const neo_rti_env *env, const char *path,
                               const neo_rt_array *array) {
  if (!path || !array)
    return NEO_NULL;
  if (neo_rti_type_bytes(array->type) == 0 || array->rank > NEO_RTI_MAX_RANK)
    return NEO_TYPE;
  neo_rt_array copy;
  const neo_rt_array *a;
  neo_rt_status status = neo_rti_array_writable(array, &copy, &a);
  if (status)
    return status;
  neo_file_writer *w = env->alloc.resize(env->alloc.ctx, NULL, sizeof *w);
  status = w ? write_npy(w, env, path, a) : NEO_MEMORY;
  if (w)
    NEO_RTI_FREE(&env->alloc, w);
  neo_rt_array_free(&copy);
  return status;
}

neo_rt_status neo_rt_array_save_npy(const char *path, const neo_rt_array *array) {
  neo_rti_env env = {neo_alloc_default, neo_io_default};
  return neo_rti_npy_save(&env, path, array);
}

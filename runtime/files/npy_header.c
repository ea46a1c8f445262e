/* npy_header.c: the header of a .npy, a Python literal,
 * {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, read by a strict reader of just
 * that. */
#include "runtime/files/npy.h"
#include <string.h>

typedef neo_rti_npy_header header;
typedef struct {
  const char *p, *end;
  const neo_rti_source *s; /* for messages */
  neo_rt_status status;
  bool has_descr, has_order, has_shape;
} reader;

static bool bad(reader *r, const char *what) {
  if (!r->status)
    r->status = NEO_RTI_REJECT(r->s, NEO_FORMAT, "bad .npy header: %s", what);
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
  r->status = NEO_RTI_REJECT(r->s, NEO_TYPE, "element type '%s' of .npy is not supported", text);
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
  bool *seen = strcmp(key, "descr") == 0           ? &r->has_descr
               : strcmp(key, "fortran_order") == 0 ? &r->has_order
               : strcmp(key, "shape") == 0         ? &r->has_shape
                                                   : NULL;
  if (!seen || *seen)
    return bad(r, seen ? "a key occurs twice" : "unknown key");
  *seen = true;
  if (seen == &r->has_descr)
    return read_descr(r, h);
  return seen == &r->has_order ? read_order(r, h) : read_shape(r, h);
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
  return (r->has_descr && r->has_order && r->has_shape) || bad(r, "a key is missing");
}

/* The place of the literal; false if the file is cut short or of an unknown version. */
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

neo_rt_status neo_rti_npy_read_header(const neo_rti_source *s, neo_rti_npy_header *out) {
  size_t from = 0, bytes = 0;
  memset(out, 0, sizeof *out);
  if (!find_header(s->p, s->n, &from, &bytes))
    return NEO_RTI_REJECT(s, NEO_FORMAT, "no .npy header of version 1, 2 or 3");
  const char *text = (const char *)s->p + from;
  reader r = {.p = text, .end = text + bytes, .s = s};
  out->data = from + bytes;
  return read_header(&r, out) ? NEO_OK : r.status;
}

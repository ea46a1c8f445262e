/* safetensors.c: reads the safetensors format from memory
 * (https://github.com/huggingface/safetensors, README, "Format"):
 *
 *   u64 n | n bytes of JSON | data
 *   {"__metadata__": {"k": "v"}, "W1": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
 *
 * The reader knows only the JSON that this needs: objects, arrays of whole numbers, strings. It
 * does not recurse, every string is at most as long as its source, and it rejects what a careful
 * reader must: unknown or repeated keys, sizes that do not match the shape, data that overlaps, has
 * holes or does not end with the file. Spaces may follow the header (padding). */
#include "base/utf8.h"
#include "runtime/internal.h"
#include <string.h>

typedef struct {
  const char *p, *end;
  neo_rti_st *st;
  char *text; /* where the next string goes */
  char *error;
  size_t error_bytes;
  neo_rt_status status;
  bool has_meta;
} reader;

static bool bad(reader *r, const char *what) {
  if (!r->status)
    r->status =
        neo_rti_say(r->error, r->error_bytes, NEO_FORMAT, "bad safetensors header: %s", what);
  return false;
}

static bool bad_tensor(reader *r, const neo_rti_st_tensor *t, const char *what) {
  if (!r->status)
    r->status = neo_rti_say(r->error, r->error_bytes, NEO_FORMAT, "bad safetensors file: %s: %s",
                            t->name, what);
  return false;
}

static bool no_memory(reader *r) {
  if (!r->status)
    r->status = neo_rti_say(r->error, r->error_bytes, NEO_MEMORY, "out of memory");
  return false;
}

/* ------------------------------------------------------------ JSON, as far as needed */

static void skip_space(reader *r) {
  while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r'))
    r->p++;
}

static bool take(reader *r, char c) {
  skip_space(r);
  if (r->p >= r->end || *r->p != c)
    return false;
  r->p++;
  return true;
}

static bool need(reader *r, char c) {
  if (take(r, c))
    return true;
  char what[] = "expected ' '";
  what[10] = c;
  return bad(r, what);
}

static bool read_hex4(reader *r, uint32_t *out) {
  *out = 0;
  if (r->end - r->p < 4)
    return bad(r, "a string is not closed");
  for (int i = 0; i < 4; i++) {
    char c = *r->p++;
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0)
      return bad(r, "bad \\u escape");
    *out = *out << 4 | (uint32_t)digit;
  }
  return true;
}

static void put_utf8(reader *r, uint32_t c) {
  if (c < 0x80) {
    *r->text++ = (char)c;
    return;
  }
  int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
  *r->text++ = (char)(uint8_t)(lead[more] | c >> (6 * more));
  while (more-- > 0)
    *r->text++ = (char)(uint8_t)(0x80 | (c >> (6 * more) & 0x3f));
}

/* After "\u": one code point, perhaps of two surrogates. */
static bool read_unicode(reader *r) {
  uint32_t c, low;
  if (!read_hex4(r, &c))
    return false;
  if (c >= 0xdc00 && c < 0xe000)
    return bad(r, "half of a surrogate pair");
  if (c >= 0xd800 && c < 0xdc00) {
    if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u')
      return bad(r, "half of a surrogate pair");
    r->p += 2;
    if (!read_hex4(r, &low))
      return false;
    if (low < 0xdc00 || low >= 0xe000)
      return bad(r, "half of a surrogate pair");
    c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
  }
  if (c == 0)
    return bad(r, "NUL in a string");
  put_utf8(r, c);
  return true;
}

static bool read_escape(reader *r) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  if (r->p >= r->end)
    return bad(r, "a string is not closed");
  char c = *r->p++;
  if (c == 'u')
    return read_unicode(r);
  const char *at = c ? strchr(from, c) : NULL;
  if (!at)
    return bad(r, "unknown escape");
  *r->text++ = to[at - from];
  return true;
}

/* The string's text is never longer than its source, so `text` cannot run out. */
static bool read_string(reader *r, const char **out) {
  if (!need(r, '"'))
    return false;
  *out = r->text;
  while (r->p < r->end && *r->p != '"') {
    if ((unsigned char)*r->p < 0x20)
      return bad(r, "control character in a string");
    if (*r->p == '\\') {
      r->p++;
      if (!read_escape(r))
        return false;
      continue;
    }
    size_t n = neo_utf8_decode(r->p, (size_t)(r->end - r->p), NULL);
    if (n == 0)
      return bad(r, "text is not valid UTF-8");
    memcpy(r->text, r->p, n);
    r->text += n;
    r->p += n;
  }
  if (r->p >= r->end)
    return bad(r, "a string is not closed");
  r->p++;
  *r->text++ = 0;
  return true;
}

static bool read_number(reader *r, int64_t *out) {
  skip_space(r);
  const char *from = r->p;
  int64_t x = 0;
  for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
    if (!neo_rti_mul(x, 10, &x) || __builtin_add_overflow(x, *r->p - '0', &x))
      return bad(r, "a number is too large");
  if (r->p == from)
    return bad(r, "expected a whole number");
  if (*from == '0' && r->p - from > 1)
    return bad(r, "a number starts with 0");
  *out = x;
  return true;
}

/* [n, n, ...], at most `most`. */
static bool read_numbers(reader *r, int64_t *out, int most, int *n) {
  *n = 0;
  if (!need(r, '['))
    return false;
  if (take(r, ']'))
    return true;
  do {
    if (*n == most)
      return bad(r, "an array is too long");
    if (!read_number(r, &out[(*n)++]))
      return false;
  } while (take(r, ','));
  return need(r, ']');
}

/* ------------------------------------------------------------ the header */

static bool grow(reader *r, void **at, size_t n, size_t *cap, size_t size_bytes) {
  if (n < *cap)
    return true;
  size_t wider = *cap ? 2 * *cap : 16;
  void *p = r->st->alloc.resize(r->st->alloc.ctx, *at, wider * size_bytes);
  if (!p)
    return no_memory(r);
  *at = p;
  *cap = wider;
  return true;
}

static bool read_pair(reader *r) {
  neo_rti_st *st = r->st;
  void *at = st->meta;
  bool ok = grow(r, &at, st->n_meta, &st->cap_meta, sizeof *st->meta);
  st->meta = at;
  if (!ok)
    return false;
  neo_rt_pair *pair = &st->meta[st->n_meta];
  if (!read_string(r, &pair->key) || !need(r, ':') || !read_string(r, &pair->value))
    return false;
  st->n_meta++;
  return true;
}

static bool read_metadata(reader *r) {
  if (r->has_meta)
    return bad(r, "__metadata__ occurs twice");
  r->has_meta = true;
  if (!need(r, '{'))
    return false;
  if (take(r, '}'))
    return true;
  do
    if (!read_pair(r))
      return false;
  while (take(r, ','));
  return need(r, '}');
}

static const struct {
  const char *name;
  size_t bytes;
} types[] = {{"F64", 8}, {"F32", 4},  {"F16", 2}, {"BF16", 2}, {"I64", 8}, {"I32", 4}, {"I8", 1},
             {"U8", 1},  {"BOOL", 1}, {"I16", 2}, {"U16", 2},  {"U32", 4}, {"U64", 8}};
enum { N_TYPES = sizeof types / sizeof *types };

size_t neo_rti_st_type_bytes(uint8_t type) {
  return type < N_TYPES ? types[type].bytes : 0;
}

const char *neo_rti_st_type_name(uint8_t type) {
  return type < N_TYPES ? types[type].name : "?";
}

static bool read_dtype(reader *r, neo_rti_st_tensor *t) {
  const char *name;
  if (!read_string(r, &name))
    return false;
  for (uint8_t i = 0; i < N_TYPES; i++)
    if (strcmp(name, types[i].name) == 0) {
      t->type = i;
      return true;
    }
  r->status = neo_rti_say(r->error, r->error_bytes, NEO_TYPE, "%s: type '%s' is not supported",
                          t->name, name);
  return false;
}

enum { HAS_DTYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4, HAS_ALL = 7 };

static bool read_field(reader *r, neo_rti_st_tensor *t, int *has) {
  const char *key;
  int64_t offsets[2];
  int n;
  if (!read_string(r, &key) || !need(r, ':'))
    return false;
  int field = strcmp(key, "dtype") == 0          ? HAS_DTYPE
              : strcmp(key, "shape") == 0        ? HAS_SHAPE
              : strcmp(key, "data_offsets") == 0 ? HAS_OFFSETS
                                                 : 0;
  if (field == 0)
    return bad_tensor(r, t, "unknown key");
  if (*has & field)
    return bad_tensor(r, t, "a key occurs twice");
  *has |= field;
  if (field == HAS_DTYPE)
    return read_dtype(r, t);
  if (field == HAS_SHAPE) {
    if (!read_numbers(r, t->extent, NEO_RTI_MAX_RANK, &n))
      return false;
    t->rank = (uint8_t)n;
    return true;
  }
  if (!read_numbers(r, offsets, 2, &n))
    return false;
  if (n != 2 || offsets[0] > offsets[1])
    return bad_tensor(r, t, "bad data_offsets");
  t->begin = (size_t)offsets[0];
  t->end = (size_t)offsets[1];
  return true;
}

static bool check_size(reader *r, const neo_rti_st_tensor *t) {
  int64_t n = (int64_t)neo_rti_st_type_bytes(t->type);
  bool empty = false;
  for (int d = 0; d < t->rank; d++)
    empty |= t->extent[d] == 0;
  for (int d = 0; !empty && d < t->rank; d++)
    if (!neo_rti_mul(n, t->extent[d], &n))
      return bad_tensor(r, t, "the shape is too large");
  if (t->end - t->begin != (size_t)(empty ? 0 : n))
    return bad_tensor(r, t, "data_offsets do not match type and shape");
  return t->end <= r->st->data_bytes || bad_tensor(r, t, "data ends behind the file");
}

static bool read_tensor(reader *r, const char *name) {
  neo_rti_st *st = r->st;
  void *at = st->tensors;
  bool ok = grow(r, &at, st->n_tensors, &st->cap_tensors, sizeof *st->tensors);
  st->tensors = at;
  if (!ok)
    return false;
  neo_rti_st_tensor *t = &st->tensors[st->n_tensors];
  *t = (neo_rti_st_tensor){.name = name};
  int has = 0;
  if (!need(r, '{'))
    return false;
  do
    if (!read_field(r, t, &has))
      return false;
  while (take(r, ','));
  if (!need(r, '}'))
    return false;
  if (has != HAS_ALL)
    return bad_tensor(r, t, "dtype, shape or data_offsets is missing");
  if (!check_size(r, t))
    return false;
  st->n_tensors++;
  return true;
}

static bool read_header(reader *r) {
  if (r->p >= r->end || *r->p != '{')
    return bad(r, "expected '{'");
  r->p++;
  bool empty = take(r, '}');
  if (!empty) {
    do {
      const char *name;
      if (!read_string(r, &name) || !need(r, ':'))
        return false;
      bool meta = strcmp(name, "__metadata__") == 0;
      if (!(meta ? read_metadata(r) : read_tensor(r, name)))
        return false;
    } while (take(r, ','));
    if (!need(r, '}'))
      return false;
  }
  skip_space(r);
  return r->p == r->end || bad(r, "text after the object");
}

/* ------------------------------------------------------------ all tensors together */

typedef int order(const neo_rti_st *st, size_t a, size_t b);

static int by_name(const neo_rti_st *st, size_t a, size_t b) {
  return strcmp(st->tensors[a].name, st->tensors[b].name);
}

static int by_place(const neo_rti_st *st, size_t a, size_t b) {
  const neo_rti_st_tensor *x = &st->tensors[a], *y = &st->tensors[b];
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->end > y->end) - (x->end < y->end);
}

static void sift(const neo_rti_st *st, size_t *at, size_t root, size_t n, order *compare) {
  for (size_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
    if (child + 1 < n && compare(st, at[child], at[child + 1]) < 0)
      child++;
    if (compare(st, at[root], at[child]) >= 0)
      return;
    size_t t = at[root];
    at[root] = at[child];
    at[child] = t;
    root = child;
  }
}

static void sort(const neo_rti_st *st, size_t *at, order *compare) {
  size_t n = st->n_tensors;
  for (size_t i = 0; i < n; i++)
    at[i] = i;
  for (size_t i = n / 2; i-- > 0;)
    sift(st, at, i, n, compare);
  for (size_t i = n; i-- > 1;) {
    size_t t = at[0];
    at[0] = at[i];
    at[i] = t;
    sift(st, at, 0, i, compare);
  }
}

static bool check_all(reader *r, size_t *at) {
  neo_rti_st *st = r->st;
  sort(st, at, by_name);
  for (size_t i = 1; i < st->n_tensors; i++)
    if (by_name(st, at[i - 1], at[i]) == 0)
      return bad_tensor(r, &st->tensors[at[i]], "the name occurs twice");
  sort(st, at, by_place);
  size_t end = 0;
  for (size_t i = 0; i < st->n_tensors; i++) {
    const neo_rti_st_tensor *t = &st->tensors[at[i]];
    if (t->begin < end)
      return bad_tensor(r, t, "its data overlaps another tensor's");
    if (t->begin > end)
      return bad_tensor(r, t, "there is a hole before its data");
    end = t->end;
  }
  return end == st->data_bytes || bad(r, "data after the last tensor");
}

static void check_together(reader *r) {
  neo_rti_st *st = r->st;
  size_t *at = st->alloc.resize(st->alloc.ctx, NULL, (st->n_tensors + 1) * sizeof *at);
  if (!at) {
    no_memory(r);
    return;
  }
  check_all(r, at);
  NEO_RTI_FREE(&st->alloc, at);
}

void neo_rti_st_free(neo_rti_st *st) {
  if (st->tensors)
    NEO_RTI_FREE(&st->alloc, st->tensors);
  if (st->meta)
    NEO_RTI_FREE(&st->alloc, st->meta);
  if (st->text)
    NEO_RTI_FREE(&st->alloc, st->text);
  memset(st, 0, sizeof *st);
}

neo_rt_status neo_rti_st_parse(const neo_alloc *alloc, const void *data, size_t n, neo_rti_st *out,
                               char *error, size_t error_bytes) {
  const unsigned char *p = data;
  memset(out, 0, sizeof *out);
  out->alloc = *alloc;
  reader r = {.st = out, .error = error, .error_bytes = error_bytes};
  uint64_t header = 0;
  for (int i = 0; n >= 8 && i < 8; i++)
    header |= (uint64_t)p[i] << (8 * i);
  if (n < 8 || header > n - 8 || header > NEO_RTI_HEADER_LIMIT) {
    bad(&r, n < 8 ? "the file is shorter than 8 bytes" : "its length is not possible");
    return r.status;
  }
  r.p = (const char *)p + 8;
  r.end = r.p + header;
  out->data = p + 8 + header;
  out->data_bytes = n - 8 - (size_t)header;
  r.text = out->text = alloc->resize(alloc->ctx, NULL, (size_t)header + 1);
  if (!r.text)
    no_memory(&r);
  else if (read_header(&r))
    check_together(&r);
  if (r.status)
    neo_rti_st_free(out);
  return r.status;
}

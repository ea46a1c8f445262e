/* safetensors.c: reads the safetensors format from memory
 * (https://github.com/huggingface/safetensors, README, "Format"):
 *
 *   u64 n | n bytes of JSON | data
 *   {"__metadata__": {"k": "v"}, "W1": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
 *
 * Rejects unknown or repeated keys, sizes that do not match the shape, and data that overlaps, has
 * holes or does not end with the file. Spaces may follow the header (padding). */
#include "runtime/files/safetensors.h"
#include "runtime/files/safetensors_json.h"
#include <string.h>

enum { HEADER_LIMIT = 100 * 1024 * 1024 };

typedef struct {
  neo_rti_json json;
  neo_rti_file_tensors *st;
  bool has_meta;
} reader;

static bool bad_tensor(reader *r, const neo_rti_file_tensor *t, const char *what) {
  if (!r->json.status)
    r->json.status =
        NEO_RTI_REJECT(r->json.s, NEO_FORMAT, "bad safetensors file: %s: %s", t->name, what);
  return false;
}

static bool no_memory(reader *r) {
  if (!r->json.status)
    r->json.status = NEO_RTI_REJECT(r->json.s, NEO_MEMORY, "out of memory");
  return false;
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
  neo_rti_file_tensors *st = r->st;
  void *at = st->meta;
  bool ok = grow(r, &at, st->n_meta, &st->cap_meta, sizeof *st->meta);
  st->meta = at;
  if (!ok)
    return false;
  neo_rt_pair *pair = &st->meta[st->n_meta];
  if (!neo_rti_json_string(&r->json, &pair->key) || !neo_rti_json_need(&r->json, ':') ||
      !neo_rti_json_string(&r->json, &pair->value))
    return false;
  st->n_meta++;
  return true;
}

static bool read_metadata(reader *r) {
  if (r->has_meta)
    return neo_rti_json_bad(&r->json, "__metadata__ occurs twice");
  r->has_meta = true;
  if (!neo_rti_json_need(&r->json, '{'))
    return false;
  if (neo_rti_json_take(&r->json, '}'))
    return true;
  do
    if (!read_pair(r))
      return false;
  while (neo_rti_json_take(&r->json, ','));
  return neo_rti_json_need(&r->json, '}');
}

static bool read_dtype(reader *r, neo_rti_file_tensor *t) {
  const char *name;
  if (!neo_rti_json_string(&r->json, &name))
    return false;
  for (t->type = 0; t->type < NEO_RTI_N_FILE_TYPES; t->type++)
    if (strcmp(name, neo_rti_safetensors_types[t->type]) == 0)
      return true;
  r->json.status =
      NEO_RTI_REJECT(r->json.s, NEO_TYPE, "%s: type '%s' is not supported", t->name, name);
  return false;
}

enum { HAS_DTYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4, HAS_ALL = 7 };

static bool read_field(reader *r, neo_rti_file_tensor *t, int *has) {
  const char *key;
  int64_t offsets[2];
  int n;
  if (!neo_rti_json_string(&r->json, &key) || !neo_rti_json_need(&r->json, ':'))
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
    if (!neo_rti_json_numbers(&r->json, t->extent, NEO_RTI_MAX_RANK, &n))
      return false;
    t->rank = (uint8_t)n;
    return true;
  }
  if (!neo_rti_json_numbers(&r->json, offsets, 2, &n))
    return false;
  if (n != 2 || offsets[0] > offsets[1])
    return bad_tensor(r, t, "bad data_offsets");
  t->begin = (size_t)offsets[0];
  t->end = (size_t)offsets[1];
  return true;
}

static bool check_size(reader *r, const neo_rti_file_tensor *t) {
  int64_t n = (int64_t)neo_rti_file_type_bytes(t->type);
  bool empty = false;
  for (int d = 0; d < t->rank; d++)
    empty |= t->extent[d] == 0;
  for (int d = 0; !empty && d < t->rank; d++)
    if (!neo_rti_mul(n, t->extent[d], &n))
      return bad_tensor(r, t, "the shape is too large");
  if (t->end - t->begin != (size_t)(empty ? 0 : n))
    return bad_tensor(r, t, "data_offsets do not match type and shape");
  return t->end <= r->st->data_bytes || bad_tensor(r, t, "data end beyond the file");
}

static bool read_tensor(reader *r, const char *name) {
  neo_rti_file_tensors *st = r->st;
  void *at = st->tensors;
  bool ok = grow(r, &at, st->n_tensors, &st->cap_tensors, sizeof *st->tensors);
  st->tensors = at;
  if (!ok)
    return false;
  neo_rti_file_tensor *t = &st->tensors[st->n_tensors];
  *t = (neo_rti_file_tensor){.name = name};
  int has = 0;
  if (!neo_rti_json_need(&r->json, '{'))
    return false;
  do
    if (!read_field(r, t, &has))
      return false;
  while (neo_rti_json_take(&r->json, ','));
  if (!neo_rti_json_need(&r->json, '}'))
    return false;
  if (has != HAS_ALL)
    return bad_tensor(r, t, "dtype, shape or data_offsets is missing");
  if (!check_size(r, t))
    return false;
  st->n_tensors++;
  return true;
}

static bool read_header(reader *r) {
  if (r->json.p >= r->json.end || *r->json.p != '{')
    return neo_rti_json_bad(&r->json, "expected '{'");
  r->json.p++;
  bool empty = neo_rti_json_take(&r->json, '}');
  if (!empty) {
    do {
      const char *name;
      if (!neo_rti_json_string(&r->json, &name) || !neo_rti_json_need(&r->json, ':'))
        return false;
      bool meta = strcmp(name, "__metadata__") == 0;
      if (!(meta ? read_metadata(r) : read_tensor(r, name)))
        return false;
    } while (neo_rti_json_take(&r->json, ','));
    if (!neo_rti_json_need(&r->json, '}'))
      return false;
  }
  neo_rti_json_skip_space(&r->json);
  return r->json.p == r->json.end || neo_rti_json_bad(&r->json, "text after the object");
}

/* ------------------------------------------------------------ all tensors together */

typedef int order(const neo_rti_file_tensors *st, size_t a, size_t b);

static int by_name(const neo_rti_file_tensors *st, size_t a, size_t b) {
  return strcmp(st->tensors[a].name, st->tensors[b].name);
}

static int by_place(const neo_rti_file_tensors *st, size_t a, size_t b) {
  const neo_rti_file_tensor *x = &st->tensors[a], *y = &st->tensors[b];
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->end > y->end) - (x->end < y->end);
}

static void sift(const neo_rti_file_tensors *st, size_t *at, size_t root, size_t n,
                 order *compare) {
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

static void sort(const neo_rti_file_tensors *st, size_t *at, order *compare) {
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
  neo_rti_file_tensors *st = r->st;
  sort(st, at, by_name);
  for (size_t i = 1; i < st->n_tensors; i++)
    if (by_name(st, at[i - 1], at[i]) == 0)
      return bad_tensor(r, &st->tensors[at[i]], "the name occurs twice");
  sort(st, at, by_place);
  size_t end = 0;
  for (size_t i = 0; i < st->n_tensors; i++) {
    const neo_rti_file_tensor *t = &st->tensors[at[i]];
    if (t->begin < end)
      return bad_tensor(r, t, "its data overlaps another tensor's");
    if (t->begin > end)
      return bad_tensor(r, t, "there is a hole before its data");
    end = t->end;
  }
  return end == st->data_bytes || neo_rti_json_bad(&r->json, "data after the last tensor");
}

static void check_together(reader *r) {
  neo_rti_file_tensors *st = r->st;
  size_t *at = st->alloc.resize(st->alloc.ctx, NULL, (st->n_tensors + 1) * sizeof *at);
  if (!at) {
    no_memory(r);
    return;
  }
  check_all(r, at);
  NEO_RTI_FREE(&st->alloc, at);
}

/* ------------------------------------------------------------ the format */

/* Reads the header's length from the first 8 bytes; false if no such header is possible. */
static bool header_bytes(const neo_rti_source *s, uint64_t *n) {
  *n = 0;
  for (int i = 0; s->n >= 8 && i < 8; i++)
    *n |= (uint64_t)s->p[i] << (8 * i);
  return s->n >= 8 && *n <= s->n - 8 && *n <= HEADER_LIMIT;
}

static neo_rt_status read_tensors(const neo_rti_source *s, neo_rti_file_tensors *out) {
  uint64_t n;
  reader r = {.json = {.s = s}, .st = out};
  memset(out, 0, sizeof *out);
  out->alloc = *s->alloc;
  if (!header_bytes(s, &n)) {
    neo_rti_json_bad(&r.json,
                     s->n < 8 ? "the file is shorter than 8 bytes" : "its length is not possible");
    return r.json.status;
  }
  r.json.p = (const char *)s->p + 8;
  r.json.end = r.json.p + n;
  out->data = s->p + 8 + n;
  out->data_bytes = s->n - 8 - (size_t)n;
  r.json.text = out->text = s->alloc->resize(s->alloc->ctx, NULL, (size_t)n + 1);
  if (!out->text)
    no_memory(&r);
  else if (read_header(&r))
    check_together(&r);
  if (r.json.status)
    neo_rti_file_tensors_free(out);
  return r.json.status;
}

/* The tensor of s->member, or the only one. */
static neo_rt_status find_tensor(const neo_rti_source *s, neo_rti_file_tensors *all,
                                 const neo_rti_file_tensor **out) {
  neo_rt_status status = read_tensors(s, all);
  if (status)
    return status;
  *out = NULL;
  for (size_t k = 0; k < all->n_tensors; k++)
    if (s->member ? strcmp(all->tensors[k].name, s->member) == 0 : all->n_tensors == 1)
      *out = &all->tensors[k];
  if (*out && (*out)->type <= NEO_RT_BOOL)
    return NEO_OK;
  if (*out)
    status = NEO_RTI_REJECT(s, NEO_TYPE, "%s: type '%s' is not supported", (*out)->name,
                            neo_rti_file_type_name((*out)->type));
  else if (s->member)
    status = NEO_RTI_REJECT(s, NEO_NAME, "safetensors file has no tensor '%s'", s->member);
  else
    status = NEO_RTI_REJECT(s, NEO_NAME,
                            "safetensors file has %zu tensors, choose one as FILE.safetensors:NAME",
                            all->n_tensors);
  neo_rti_file_tensors_free(all);
  return status;
}

static neo_rt_status locate(const neo_rti_source *s, neo_rti_located *out) {
  neo_rti_file_tensors all;
  const neo_rti_file_tensor *t;
  neo_rt_status status = find_tensor(s, &all, &t);
  if (status)
    return status;
  *out = (neo_rti_located){
      .array = {.type = t->type, .rank = t->rank, .size_bytes = t->end - t->begin},
      .begin = (uint64_t)(all.data + t->begin - s->p),
      .bytes = (uint8_t)neo_rti_type_bytes(t->type)};
  memcpy(out->array.extent, t->extent, sizeof t->extent);
  neo_rti_file_tensors_free(&all);
  return NEO_OK;
}

static neo_rt_status read_array(const neo_rti_source *s, neo_rt_array *out) {
  neo_rti_located at;
  memset(out, 0, sizeof *out);
  neo_rt_status status = locate(s, &at);
  if (status)
    return status;
  if (neo_rti_array_alloc(s->alloc, &at.array))
    return NEO_RTI_REJECT(s, NEO_MEMORY, "out of memory");
  neo_rti_decode(&at, s->p + at.begin, at.array.data, at.array.size_bytes / at.bytes);
  *out = at.array;
  return NEO_OK;
}

static bool detect(const unsigned char *p, size_t n) {
  return n > 8 && p[8] == '{';
}

const neo_rti_format neo_rti_format_safetensors = {.name = "safetensors",
                                                   .title = ".safetensors",
                                                   .member = ".safetensors:",
                                                   .detect = detect,
                                                   .read_array = read_array,
                                                   .locate = locate,
                                                   .read_tensors = read_tensors,
                                                   .write_head = neo_rti_safetensors_write_head};

/* checkpoint.c: saves what the context keeps, as safetensors; load.c reads it. step and seed go into
 * the metadata as decimal text, so a resumed training continues bit by bit. Saving goes through the
 * atomic writer: the old file stays until the new one is complete. */
#include "base/utf8.h"
#include "runtime/internal.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *reason(void) {
  return errno ? strerror(errno) : "input/output error";
}

/* ------------------------------------------------------------ saving */

/* The header is written twice by the same code: first only counted, since its length comes first.
 * */
typedef struct {
  neo_file_writer *w; /* null: only count */
  size_t n;
} sink;

static void put(sink *s, const char *text, size_t n) {
  if (s->w)
    neo_file_put(s->w, text, n);
  s->n += n;
}

static void put_text(sink *s, const char *text) {
  put(s, text, strlen(text));
}

static void put_string(sink *s, const char *text) {
  put(s, "\"", 1);
  for (; *text; text++) {
    char escaped[8];
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      put(s, (char[]){'\\', (char)c}, 2);
    else if (c < 0x20)
      put(s, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", c));
    else
      put(s, text, 1);
  }
  put(s, "\"", 1);
}

static void put_pair(sink *s, const char *key, const char *value, bool first) {
  if (!first)
    put_text(s, ",");
  put_string(s, key);
  put_text(s, ":");
  put_string(s, value);
}

static void put_u64(sink *s, const char *key, uint64_t x, bool first) {
  char text[24];
  snprintf(text, sizeof text, "%" PRIu64, x);
  put_pair(s, key, text, first);
}

static void put_tensor(sink *s, const neo_rt_ctx *c, const neo_rt_tensor *t, size_t *offset) {
  int64_t extent[NEO_RTI_MAX_RANK];
  char text[64];
  size_t n = neo_rti_kept_bytes(c, t, extent);
  put_text(s, ",");
  put_string(s, t->name);
  put_text(s, ":{\"dtype\":\"");
  put_text(s, neo_rti_st_type_name(t->type));
  put_text(s, "\",\"shape\":[");
  for (int d = 0; d < t->rank; d++) {
    snprintf(text, sizeof text, d ? ",%" PRId64 : "%" PRId64, extent[d]);
    put_text(s, text);
  }
  snprintf(text, sizeof text, "],\"data_offsets\":[%zu,%zu]}", *offset, *offset + n);
  put_text(s, text);
  *offset += n;
}

typedef void visit(void *user, const neo_rt_ctx *c, const neo_rt_tensor *t);

/* Saved tensors, wide types first, so that every tensor in the file is aligned to its type. */
static void for_saved(const neo_rt_ctx *c, visit *f, void *user) {
  for (size_t bytes = 8; bytes > 0; bytes /= 2)
    for (int32_t i = 0; i < c->model->n_tensors; i++) {
      const neo_rt_tensor *t = &c->model->tensors[i];
      if (t->in_safetensors && neo_rti_tensor_kept(t) && neo_rti_type_bytes(t->type) == bytes)
        f(user, c, t);
    }
}

typedef struct {
  sink *s;
  size_t offset;
} tensor_list;

static void visit_header(void *user, const neo_rt_ctx *c, const neo_rt_tensor *t) {
  tensor_list *l = user;
  put_tensor(l->s, c, t, &l->offset);
}

typedef struct {
  neo_rt_ctx *c;
  neo_file_writer *w;
  neo_rt_status status; /* of reading the context's memory */
} data_list;

/* By way of a small buffer where the memory is a device's. */
static void visit_data(void *user, const neo_rt_ctx *c, const neo_rt_tensor *t) {
  enum { CHUNK = 1 << 16 };
  data_list *l = user;
  const char *data = neo_rti_tensor_data(c, t);
  char chunk[CHUNK];
  size_t n = neo_rti_kept_bytes(c, t, NULL);
  if (!c->cuda)
    neo_file_put(l->w, data, n);
  for (size_t at = 0; c->cuda && !l->status && at < n; at += CHUNK) {
    size_t now = n - at < CHUNK ? n - at : CHUNK;
    l->status = neo_rti_take(l->c, chunk, data + at, now);
    if (!l->status)
      neo_file_put(l->w, chunk, now);
  }
}

static void put_header(sink *s, const neo_rt_ctx *c, const neo_rt_pair *extra, int32_t n_extra) {
  put_text(s, "{\"__metadata__\":{");
  put_pair(s, "model", c->model->name, true);
  put_u64(s, "seed", c->seed, false);
  put_u64(s, "step", c->step, false);
  for (int32_t i = 0; i < n_extra; i++)
    put_pair(s, extra[i].key, extra[i].value, false);
  put_text(s, "}");
  tensor_list list = {s, 0};
  for_saved(c, visit_header, &list);
  put_text(s, "}");
  while (s->n % 8)
    put(s, " ", 1);
}

static neo_rt_status write_file(neo_file_writer *w, neo_rt_ctx *c, const neo_rt_pair *extra,
                                int32_t n_extra) {
  sink count = {NULL, 0}, real = {w, 0};
  unsigned char length[8];
  put_header(&count, c, extra, n_extra);
  for (int i = 0; i < 8; i++)
    length[i] = (unsigned char)((uint64_t)count.n >> (8 * i));
  neo_file_put(w, length, sizeof length);
  put_header(&real, c, extra, n_extra);
  data_list data = {c, w, NEO_OK};
  for_saved(c, visit_data, &data);
  return data.status;
}

static bool is_utf8(const char *text) {
  size_t left = strlen(text), n = 1;
  for (; left > 0 && n > 0; left -= n, text += n)
    n = neo_utf8_decode(text, left, NULL);
  return n > 0;
}

static neo_rt_status check_extra(neo_rt_ctx *c, const neo_rt_pair *extra, int32_t n) {
  static const char *const own[] = {"model", "seed", "step"};
  if (n < 0 || (n > 0 && !extra))
    return neo_rti_fail(c, NEO_NULL, "the metadata is null");
  for (int32_t i = 0; i < n; i++) {
    if (!extra[i].key || !extra[i].value)
      return neo_rti_fail(c, NEO_NULL, "metadata %d has a null key or value", i);
    if (!is_utf8(extra[i].key) || !is_utf8(extra[i].value))
      return neo_rti_fail(c, NEO_ARGUMENT, "metadata %d is not valid UTF-8", i);
    for (int k = 0; k < 3; k++)
      if (strcmp(extra[i].key, own[k]) == 0)
        return neo_rti_fail(c, NEO_ARGUMENT, "metadata key '%s' is written by neo", own[k]);
    for (int32_t k = 0; k < i; k++)
      if (strcmp(extra[i].key, extra[k].key) == 0)
        return neo_rti_fail(c, NEO_ARGUMENT, "metadata key '%s' is given twice", extra[i].key);
  }
  return NEO_OK;
}

neo_rt_status neo_rt_save(neo_rt_ctx *c, const char *path, const neo_rt_pair *extra,
                          int32_t n_extra) {
  neo_rt_status status = neo_rti_alive(c);
  if (status)
    return status;
  if (!path)
    return neo_rti_fail(c, NEO_NULL, "the path is null");
  status = check_extra(c, extra, n_extra);
  if (status)
    return status;
  const neo_alloc *alloc = &c->env.alloc;
  neo_file_writer *w = alloc->resize(alloc->ctx, NULL, sizeof *w);
  if (!w)
    return neo_rti_fail(c, NEO_MEMORY, "%s: out of memory", path);
  errno = 0;
  status = (neo_rt_status)neo_file_begin(w, &c->env.io, path, 0666);
  if (!status) {
    neo_rt_status read = write_file(w, c, extra, n_extra);
    if (read)
      neo_file_abandon(w);
    status = read ? read : (neo_rt_status)neo_file_commit(w);
    if (read) {
      NEO_RTI_FREE(alloc, w);
      return read; /* the message is there */
    }
  }
  NEO_RTI_FREE(alloc, w);
  return status ? neo_rti_fail(c, status, "%s: cannot be written: %s", path, reason()) : NEO_OK;
}

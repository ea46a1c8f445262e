/* save.c: saves a context's tensors as a checkpoint, which load.c reads. The metadata has step,
 * seed and the number of forward calls, which determine random numbers, as decimal text, so that a
 * resumed training continues bit by bit. The file is written atomically: the old one stays until
 * the new one is complete. */
#include "base/utf8.h"
#include "runtime/core/device.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------ the tables of the file */

typedef struct { /* in one block with its tables */
  neo_file_writer w;
  char seed[24], step[24], calls[24];
  neo_rti_file_tensors file;
  const neo_rt_tensor **source; /* [file.n_tensors] */
} saving;

static void note_tensor(saving *s, const neo_rt_model *m, const neo_rt_tensor *t) {
  neo_rti_file_tensor *f = &s->file.tensors[s->file.n_tensors];
  s->source[s->file.n_tensors++] = t;
  *f = (neo_rti_file_tensor){.name = t->name, .type = t->type, .rank = t->rank};
  f->begin = s->file.data_bytes;
  f->end = f->begin + neo_rti_tensor_bytes(m, t, f->extent);
  s->file.data_bytes = f->end;
}

/* Lists the tensors, those of wide types first, so that every tensor in the file is aligned to its
 * type. */
static void note_tensors(saving *s, const neo_rt_model *m) {
  for (size_t bytes = 8; bytes > 0; bytes /= 2)
    for (int32_t i = 0; i < m->n_tensors; i++) {
      const neo_rt_tensor *t = &m->tensors[i];
      if (t->in_safetensors && neo_rti_tensor_persists(t) && neo_rti_type_bytes(t->type) == bytes)
        note_tensor(s, m, t);
    }
}

static void note_pair(saving *s, const char *key, const char *value) {
  s->file.meta[s->file.n_meta++] = (neo_rt_pair){key, value};
}

static void note_meta(saving *s, const neo_rt_ctx *c, const neo_rt_pair *extra, int32_t n_extra) {
  snprintf(s->seed, sizeof s->seed, "%" PRIu64, c->seed);
  snprintf(s->step, sizeof s->step, "%" PRIu64, c->step);
  snprintf(s->calls, sizeof s->calls, "%" PRIu64, c->calls);
  note_pair(s, "model", c->model->name);
  note_pair(s, "seed", s->seed);
  note_pair(s, "step", s->step);
  note_pair(s, "calls", s->calls);
  for (int32_t i = 0; i < n_extra; i++)
    note_pair(s, extra[i].key, extra[i].value);
}

/* Prepares everything of the file except the tensors' bytes; null: out of memory. */
static saving *prepare(const neo_rt_ctx *c, const neo_rt_pair *extra, int32_t n_extra) {
  size_t n = (size_t)c->model->n_tensors, n_meta = (size_t)n_extra + 4;
  size_t head = (sizeof(saving) + 15) & ~(size_t)15;
  char *p = c->env.alloc.resize(c->env.alloc.ctx, NULL,
                                head + n * sizeof(neo_rti_file_tensor) +
                                    n_meta * sizeof(neo_rt_pair) + n * sizeof(neo_rt_tensor *));
  if (!p)
    return NULL;
  saving *s = (saving *)(void *)p;
  memset(s, 0, sizeof *s);
  s->file.tensors = (neo_rti_file_tensor *)(void *)(p + head);
  s->file.meta = (neo_rt_pair *)(void *)(s->file.tensors + n);
  s->source = (const neo_rt_tensor **)(void *)(s->file.meta + n_meta);
  note_tensors(s, c->model);
  note_meta(s, c, extra, n_extra);
  return s;
}

/* ------------------------------------------------------------ writing */

/* Writes a tensor's data, through a small buffer if the memory is a device's. */
static neo_rt_status put_data(neo_rt_ctx *c, neo_file_writer *w, const neo_rt_tensor *t) {
  const char *data = neo_rti_tensor_data(c, t);
  size_t n = neo_rti_tensor_bytes(c->model, t, NULL);
  if (!c->device->separate)
    neo_file_put(w, data, n);
  neo_rt_status status = NEO_OK;
  for (size_t at = 0; c->device->separate && !status && at < n; at += NEO_RTI_CHUNK) {
    size_t now = n - at < NEO_RTI_CHUNK ? n - at : NEO_RTI_CHUNK;
    status = neo_rti_take(c, c->chunk, data + at, now);
    if (!status)
      neo_file_put(w, c->chunk, now);
  }
  return status;
}

static neo_rt_status cannot_write(neo_rt_ctx *c, neo_rt_status status, const char *path) {
  return neo_rti_fail(c, status, "%s: cannot be written: %s", path,
                      errno ? strerror(errno) : "input/output error");
}

static neo_rt_status write_file(neo_rt_ctx *c, saving *s, const char *path) {
  errno = 0;
  neo_rt_status status = (neo_rt_status)neo_file_begin(&s->w, &c->env.io, path, 0666);
  if (status)
    return cannot_write(c, status, path);
  neo_rti_checkpoint_format()->write_head(&s->w, &s->file);
  for (size_t k = 0; !status && k < s->file.n_tensors; k++)
    status = put_data(c, &s->w, s->source[k]);
  if (status) {
    neo_file_abandon(&s->w);
    return status; /* the message is there */
  }
  status = (neo_rt_status)neo_file_commit(&s->w);
  return status ? cannot_write(c, status, path) : NEO_OK;
}

/* ------------------------------------------------------------ checks */

static bool is_utf8(const char *text) {
  size_t left = strlen(text), n = 1;
  for (; left > 0 && n > 0; left -= n, text += n)
    n = neo_utf8_decode(text, left, NULL);
  return n > 0;
}

static neo_rt_status check_extra(neo_rt_ctx *c, const neo_rt_pair *extra, int32_t n) {
  static const char *const own[] = {"model", "seed", "step", "calls"};
  if (n < 0 || (n > 0 && !extra))
    return neo_rti_fail(c, NEO_NULL, "the metadata is null");
  for (int32_t i = 0; i < n; i++) {
    if (!extra[i].key || !extra[i].value)
      return neo_rti_fail(c, NEO_NULL, "metadata %d has a null key or value", i);
    if (!is_utf8(extra[i].key) || !is_utf8(extra[i].value))
      return neo_rti_fail(c, NEO_ARGUMENT, "metadata %d is not valid UTF-8", i);
    for (int k = 0; k < 4; k++)
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
  saving *s = prepare(c, extra, n_extra);
  if (!s)
    return neo_rti_fail(c, NEO_MEMORY, "%s: out of memory", path);
  status = write_file(c, s, path);
  NEO_RTI_FREE(&c->env.alloc, s);
  return status;
}

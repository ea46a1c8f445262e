/* See stream.h: files. */
#include "tools/neoc/train/stream.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static neoc_exit failed(const neoc_data *d, int32_t tensor, int why) {
  const char *name = d->r->lib.model->tensors[tensor].name, *path = d->source[tensor].path;
  return neoc_fail(d->r->cli, NEOC_IO, "%s: %s: %s", name, path,
                   why < 0 ? "the file is shorter than it was when it was opened" : strerror(why));
}

/* 0, errno, or -1 at the end of the file. */
static int read_at(int fd, void *p, size_t n, uint64_t at) {
  char *to = p;
  while (n > 0) {
    ssize_t got = pread(fd, to, n, (off_t)at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return got < 0 ? errno : -1;
    to += got;
    at += (uint64_t)got;
    n -= (size_t)got;
  }
  return 0;
}

neoc_exit neoc_stream_open(neoc_data *d, int32_t tensor, bool *is) {
  neoc_source *s = &d->source[tensor];
  neo_rti_located at;
  char file[4096];
  *is = false;
  if (neo_rti_array_locate(s->path, file, sizeof file, &at) || at.array.rank == 0 ||
      at.array.extent[0] == 0 || (int64_t)at.array.size_bytes <= d->memory)
    return NEOC_OK;
  neoc_stream *x = NEO_NEW(d->r->cli->arena, neoc_stream);
  *x = (neoc_stream){.path = s->path, .at = at, .span = 1};
  x->element_bytes = at.array.size_bytes / neo_rti_type_bytes(at.array.type) * at.bytes /
                     (size_t)at.array.extent[0];
  x->fd = open(file, O_RDONLY | O_CLOEXEC);
  if (x->fd < 0)
    return failed(d, tensor, errno);
  s->stream = x;
  s->array = at.array;
  *is = true;
  return NEOC_OK;
}

void neoc_stream_close(neoc_stream *s) {
  close(s->fd);
  for (int k = 0; k < 2; k++)
    if (s->raw[k])
      NEO_RTI_FREE(&neo_alloc_default, s->raw[k]);
}

/* Makes an array of extent n along the first dimension from the bytes at `raw`. */
static neoc_exit decode(const neoc_data *d, int32_t tensor, const void *raw, int64_t n,
                        neo_rt_array *out) {
  const neoc_source *s = &d->source[tensor];
  *out = s->array;
  out->type = s->stream->at.array.type;
  out->extent[0] = n;
  if (neo_rti_array_alloc(&neo_alloc_default, out))
    return neoc_fail(d->r->cli, NEOC_DEVICE, "%s: out of memory", s->path);
  neo_rti_decode(&s->stream->at, raw, out->data, (size_t)neoc_array_count(out));
  return NEOC_OK;
}

neoc_exit neoc_stream_chunk(const neoc_data *d, int32_t tensor, int64_t from, int64_t n,
                            neo_rt_array *out) {
  const neoc_stream *s = d->source[tensor].stream;
  size_t bytes = (size_t)n * s->element_bytes;
  void *raw = neo_alloc_default.resize(neo_alloc_default.ctx, NULL, bytes + 1);
  if (!raw)
    return neoc_fail(d->r->cli, NEOC_DEVICE, "%s: out of memory", s->path);
  int why = read_at(s->fd, raw, bytes, s->at.begin + (uint64_t)from * s->element_bytes);
  neoc_exit e = why ? failed(d, tensor, why) : decode(d, tensor, raw, n, out);
  NEO_RTI_FREE(&neo_alloc_default, raw);
  return e;
}

neoc_exit neoc_stream_check(const neoc_data *d, int32_t tensor) {
  enum { CHUNK = 1 << 20 };
  const neoc_stream *s = d->source[tensor].stream;
  char *p = neo_alloc_default.resize(neo_alloc_default.ctx, NULL, CHUNK);
  uint32_t crc = 0;
  int why = p ? 0 : ENOMEM;
  for (uint64_t at = 0; at < s->at.whole_bytes && !why; at += CHUNK) {
    size_t n = s->at.whole_bytes - at < CHUNK ? (size_t)(s->at.whole_bytes - at) : CHUNK;
    why = read_at(s->fd, p, n, s->at.whole + at);
    crc = why ? crc : neo_rti_crc(crc, p, n);
  }
  if (p)
    NEO_RTI_FREE(&neo_alloc_default, p);
  if (why)
    return failed(d, tensor, why);
  if (s->at.whole_bytes && crc != s->at.crc)
    return neoc_fail(d->r->cli, NEOC_FAILED, "%s: %s: bad .npz (zip): the checksum does not match",
                     d->r->lib.model->tensors[tensor].name, s->path);
  return NEOC_OK;
}

/* ---- rows of a batch, in any thread: nothing here knows the command line */

static bool make_room(neoc_stream *s, int side, int64_t n) {
  size_t bytes = (size_t)n * (size_t)s->span * s->element_bytes;
  if (bytes <= s->raw_bytes[side])
    return true;
  char *p = neo_alloc_default.resize(neo_alloc_default.ctx, s->raw[side], bytes);
  if (!p)
    return false;
  s->raw[side] = p;
  s->raw_bytes[side] = bytes;
  return true;
}

static int read_rows(neoc_stream *s, int side, const int64_t *order, int64_t n) {
  size_t bytes = (size_t)s->span * s->element_bytes;
  int why = make_room(s, side, n) ? 0 : ENOMEM;
  for (int64_t k = 0; k < n && !why; k++) {
    uint64_t row = (uint64_t)(order[k] + s->shift);
    why = read_at(s->fd, s->raw[side] + (size_t)k * bytes, bytes,
                  s->at.begin + row * s->element_bytes);
  }
  return why;
}

/* ---- the thread */

struct neoc_prefetch {
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool runs, ends, busy; /* busy: rows are being read or are requested */
  neoc_stream **stream;
  size_t n_streams;
  int64_t *order, *have; /* rows requested; rows available */
  int64_t n, n_have, room;
};

static void *run(void *ctx) {
  struct neoc_prefetch *a = ctx;
  pthread_mutex_lock(&a->mutex);
  for (;;) {
    while (!a->busy && !a->ends)
      pthread_cond_wait(&a->changed, &a->mutex);
    if (a->ends)
      break;
    pthread_mutex_unlock(&a->mutex);
    for (size_t k = 0; k < a->n_streams; k++)
      a->stream[k]->failed = read_rows(a->stream[k], 1 - a->stream[k]->front, a->order, a->n);
    pthread_mutex_lock(&a->mutex);
    a->busy = false;
    pthread_cond_broadcast(&a->changed);
  }
  pthread_mutex_unlock(&a->mutex);
  return NULL;
}

static void wait(struct neoc_prefetch *a) {
  pthread_mutex_lock(&a->mutex);
  while (a->busy)
    pthread_cond_wait(&a->changed, &a->mutex);
  pthread_mutex_unlock(&a->mutex);
}

static struct neoc_prefetch *new_prefetch(neoc_data *d) {
  neo_arena *arena = d->r->cli->arena;
  int32_t n = d->r->lib.model->n_tensors;
  struct neoc_prefetch *a = NEO_NEW(arena, struct neoc_prefetch);
  a->stream = NEO_NEW_ARRAY(arena, neoc_stream *, n + 1);
  for (int32_t k = 0; k < n; k++)
    if (d->source[k].stream)
      a->stream[a->n_streams++] = d->source[k].stream;
  pthread_mutex_init(&a->mutex, NULL);
  pthread_cond_init(&a->changed, NULL);
  a->runs = a->n_streams > 0 && pthread_create(&a->thread, NULL, run, a) == 0;
  return a;
}

static void make_order(neoc_data *d, int64_t n) {
  struct neoc_prefetch *a = d->prefetch;
  if (n <= a->room)
    return;
  int64_t *order = NEO_NEW_ARRAY(d->r->cli->arena, int64_t, n);
  int64_t *have = NEO_NEW_ARRAY(d->r->cli->arena, int64_t, n);
  for (int64_t k = 0; k < a->n; k++)
    order[k] = a->order[k];
  for (int64_t k = 0; k < a->n_have; k++)
    have[k] = a->have[k];
  a->order = order;
  a->have = have;
  a->room = n;
}

static bool same(const int64_t *a, int64_t n_a, const int64_t *b, int64_t n) {
  return n_a == n && n > 0 && memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

void neoc_prefetch_begin(neoc_data *d, const int64_t *order, int64_t n) {
  if (!d->prefetch)
    d->prefetch = new_prefetch(d);
  struct neoc_prefetch *a = d->prefetch;
  if (!a->runs)
    return;
  wait(a);
  make_order(d, n);
  memcpy(a->order, order, (size_t)n * sizeof *order);
  a->n = n;
  pthread_mutex_lock(&a->mutex);
  a->busy = true;
  pthread_cond_broadcast(&a->changed);
  pthread_mutex_unlock(&a->mutex);
}

/* Gives the rows order[0 .. n): those that the thread has read ahead, or else it reads them now.
 * Waits for the thread first, even if it reads other rows. */
neoc_exit neoc_prefetch_take(neoc_data *d, const int64_t *order, int64_t n) {
  if (!d->prefetch)
    d->prefetch = new_prefetch(d);
  struct neoc_prefetch *a = d->prefetch;
  if (a->n_streams == 0 || same(a->have, a->n_have, order, n))
    return NEOC_OK;
  if (a->runs)
    wait(a);
  bool ready = same(a->order, a->n, order, n);
  for (size_t k = 0; k < a->n_streams; k++) {
    neoc_stream *s = a->stream[k];
    if (ready)
      s->front = 1 - s->front;
    else
      s->failed = read_rows(s, s->front, order, n);
  }
  make_order(d, n);
  memcpy(a->have, order, (size_t)n * sizeof *order);
  a->n_have = n;
  a->n = ready ? 0 : a->n;
  for (int32_t t = 0; t < d->r->lib.model->n_tensors; t++)
    if (d->source[t].stream && d->source[t].stream->failed)
      return failed(d, t, d->source[t].stream->failed);
  return NEOC_OK;
}

neoc_exit neoc_prefetch_rows(const neoc_data *d, int32_t tensor, int64_t n, neo_rt_array *out) {
  const neoc_stream *s = d->source[tensor].stream;
  return decode(d, tensor, s->raw[s->front], n * s->span, out);
}

void neoc_prefetch_end(neoc_data *d) {
  struct neoc_prefetch *a = d->prefetch;
  if (!a)
    return;
  if (a->runs) {
    pthread_mutex_lock(&a->mutex);
    a->ends = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->mutex);
    pthread_join(a->thread, NULL);
  }
  pthread_mutex_destroy(&a->mutex);
  pthread_cond_destroy(&a->changed);
  d->prefetch = NULL;
}

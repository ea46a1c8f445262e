/* Memory of the emulated device, pinned memory of the host, and the order of work.
 *
 * Device memory is memory whose first content is poison, and whose addresses are not the host's: a
 * pointer of one side used on the other is refused, or ends the process. What is put into a stream
 * runs as late as may be: when somebody waits for it. So a result that is used too early is poison,
 * and pinned memory that is used again before its copy is done gives other results; both sides of
 * such a copy are also compared, and a misuse ends the process with a text. */
#include "tests/gpu/emulator_driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- blocks of memory: of the device, of its pool, of the host */

typedef enum { OF_DEVICE, OF_POOL, OF_HOST } kind_of_block;
typedef struct block {
  struct block *next;
  kind_of_block kind;
  char *p;
  size_t n;
} block;
static block *blocks;

static size_t memory_bytes(void) {
  return (size_t)emu_environment("NEO_EMULATOR_MIB", 16384) << 20;
}

static size_t used_bytes(void) {
  size_t n = 0;
  for (const block *b = blocks; b; b = b->next)
    n += b->kind == OF_HOST ? 0 : b->n;
  return n;
}

static cuda_result new_block(kind_of_block kind, size_t n, void **p) {
  block *b = malloc(sizeof *b);
  if (!b || posix_memalign((void **)&b->p, 256, n)) {
    free(b);
    return CUDA_OUT_OF_MEMORY;
  }
  b->n = n;
  b->kind = kind;
  b->next = blocks;
  blocks = b;
  memset(b->p, POISON, n);
  *p = b->p;
  return 0;
}

static cuda_result free_block(kind_of_block kind, const void *p) {
  for (block **at = &blocks; *at; at = &(*at)->next)
    if ((*at)->p == p && (*at)->kind == kind) {
      block *b = *at;
      *at = b->next;
      free(b->p);
      free(b);
      return 0;
    }
  return INVALID_VALUE;
}

static char *bytes_of(bool host, const void *p, size_t n) {
  char *at = (char *)(uintptr_t)p;
  for (const block *b = blocks; b; b = b->next)
    if ((b->kind == OF_HOST) == host && at >= b->p && n <= b->n && (size_t)(at - b->p) <= b->n - n)
      return at;
  return NULL;
}

char *emu_device_bytes(cuda_ptr p, size_t n) {
  return bytes_of(false, (const void *)(uintptr_t)p, n);
}

/* ---- streams */

typedef struct work {
  struct work *next;
  emu_work *run, *end;
  void *x;
  cuda_event mark; /* an event that is recorded here; null: something else */
} work;
struct cuda_stream_s {
  work *first, **end;
  cuda_stream next;
};
struct cuda_event_s {
  cuda_stream in; /* where it is not reached yet; null: it has been */
  bool recorded, timed;
  double ms;
};
static cuda_stream streams;
static cuda_result failure;

void emu_forget_failures(void) {
  failure = 0;
}

bool emu_stream_ok(cuda_stream stream) {
  cuda_stream s = streams;
  while (s && s != stream)
    s = s->next;
  return s && emu_has_context();
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void reach(cuda_event e) {
  e->in = NULL;
  e->ms = now_ms();
}

/* Runs what is in the stream, up to the event `to`; null: all. */
static cuda_result drain(cuda_stream s, cuda_event to) {
  while (s->first && !(to && !to->in)) {
    work *w = s->first;
    s->first = w->next;
    if (!s->first)
      s->end = &s->first;
    if (w->mark)
      reach(w->mark);
    else if (!failure)
      failure = w->run(w->x);
    if (w->end)
      w->end(w->x);
    free(w);
  }
  return failure;
}

static cuda_result put(cuda_stream s, emu_work *run, emu_work *end, void *x, cuda_event mark) {
  work *w = malloc(sizeof *w);
  *w = (work){NULL, run, end, x, mark};
  *s->end = w;
  s->end = &w->next;
  return failure;
}

cuda_result emu_put_work(cuda_stream stream, emu_work *run, emu_work *end, void *x) {
  return put(stream, run, end, x, NULL);
}

DRIVER(cuStreamCreate)(cuda_stream *stream, unsigned flags) {
  cuda_stream s = calloc(1, sizeof *s);
  (void)flags;
  if (!s || !emu_has_context())
    return INVALID_VALUE;
  s->end = &s->first;
  s->next = streams;
  *stream = streams = s;
  return 0;
}
DRIVER(cuStreamDestroy_v2)(cuda_stream stream) {
  if (!emu_stream_ok(stream))
    return INVALID_VALUE;
  cuda_result r = drain(stream, NULL);
  cuda_stream *at = &streams;
  while (*at != stream)
    at = &(*at)->next;
  *at = stream->next;
  free(stream);
  return r;
}
DRIVER(cuStreamSynchronize)(cuda_stream stream) {
  emu_counts.waits++;
  return emu_stream_ok(stream) ? drain(stream, NULL) : INVALID_VALUE;
}

/* ---- events */

DRIVER(cuEventCreate)(cuda_event *event, unsigned flags) {
  cuda_event e = calloc(1, sizeof *e);
  if (!e || !emu_has_context())
    return INVALID_VALUE;
  e->timed = !(flags & CUDA_EVENT_NO_TIMING);
  *event = e;
  return 0;
}
DRIVER(cuEventDestroy_v2)(cuda_event event) {
  if (event->in)
    drain(event->in, event);
  free(event);
  return 0;
}
DRIVER(cuEventRecord)(cuda_event event, cuda_stream stream) {
  if (!emu_stream_ok(stream))
    return INVALID_VALUE;
  if (event->in)
    drain(event->in, event);
  event->recorded = true;
  event->in = stream;
  return put(stream, NULL, NULL, NULL, event);
}
DRIVER(cuEventQuery)(cuda_event event) {
  return failure ? failure : event->in ? CUDA_NOT_READY : 0;
}
DRIVER(cuEventSynchronize)(cuda_event event) {
  return event->in ? drain(event->in, event) : failure;
}
DRIVER(cuEventElapsedTime)(float *ms, cuda_event from, cuda_event to) {
  if (!from->recorded || !to->recorded || !from->timed || !to->timed)
    return INVALID_VALUE;
  if (from->in || to->in)
    return CUDA_NOT_READY;
  *ms = (float)(to->ms - from->ms);
  return failure;
}

/* ---- allocation */

DRIVER(cuMemGetInfo_v2)(size_t *free_bytes, size_t *total_bytes) {
  *total_bytes = memory_bytes();
  *free_bytes = *total_bytes - used_bytes();
  return 0;
}

static cuda_result take(kind_of_block kind, cuda_ptr *p, size_t n) {
  void *at;
  if (n == 0)
    return INVALID_VALUE;
  if (n > memory_bytes() - used_bytes())
    return CUDA_OUT_OF_MEMORY;
  cuda_result r = new_block(kind, n, &at);
  *p = r ? 0 : (cuda_ptr)(uintptr_t)at;
  return r;
}

DRIVER(cuMemAlloc_v2)(cuda_ptr *p, size_t n) {
  return emu_has_context() ? take(OF_DEVICE, p, n) : INVALID_VALUE;
}
DRIVER(cuMemFree_v2)(cuda_ptr p) {
  for (cuda_stream s = streams; s; s = s->next)
    drain(s, NULL);
  return free_block(OF_DEVICE, (const void *)(uintptr_t)p);
}

static cuda_result end_pooled(void *p) {
  return free_block(OF_POOL, p);
}
DRIVER(cuMemAllocAsync)(cuda_ptr *p, size_t n, cuda_stream stream) {
  if (!emu_environment("NEO_EMULATOR_POOLS", 1))
    return CUDA_NOT_SUPPORTED;
  return emu_stream_ok(stream) ? take(OF_POOL, p, n) : INVALID_VALUE;
}
DRIVER(cuMemFreeAsync)(cuda_ptr p, cuda_stream stream) {
  if (!emu_stream_ok(stream) || !emu_device_bytes(p, 1))
    return INVALID_VALUE;
  return emu_put_work(stream, end_pooled, NULL, (void *)(uintptr_t)p);
}

/* NEO_EMULATOR_PINNED_KIB: the most that one may ask for. */
DRIVER(cuMemHostAlloc)(void **p, size_t n, unsigned flags) {
  size_t most = (size_t)emu_environment("NEO_EMULATOR_PINNED_KIB", 1 << 20) << 10;
  if (!emu_has_context() || flags || n == 0)
    return INVALID_VALUE;
  return n > most ? CUDA_OUT_OF_MEMORY : new_block(OF_HOST, n, p);
}

/* ---- copies. What is not pinned is copied before the call returns. */

typedef struct {
  char *to, *from, *seen; /* seen: the host's side when the copy was asked for */
  size_t n;
  bool own_from; /* `from` is a copy of memory that is not pinned */
} copy;

static void misused(const char *what) {
  fprintf(stderr, "emulator: pinned memory was %s before its copy was done\n", what);
  abort();
}

static cuda_result run_copy(void *x) {
  copy *c = x;
  bool up = !bytes_of(true, c->to, 1);
  if (c->seen && memcmp(c->seen, up ? c->from : c->to, c->n) != 0)
    misused("used again");
  memmove(c->to, c->from, c->n);
  return 0;
}
static cuda_result end_copy(void *x) {
  copy *c = x;
  if (c->own_from)
    free(c->from);
  free(c->seen);
  free(c);
  return 0;
}

static char *copied(const void *p, size_t n) {
  char *q = malloc(n + 1);
  return memcpy(q, p, n);
}

static cuda_result put_copy(cuda_stream stream, copy x) {
  emu_counts.copies++;
  return emu_put_work(stream, run_copy, end_copy, copied(&x, sizeof x));
}

DRIVER(cuMemFreeHost)(void *p) {
  for (cuda_stream s = streams; s; s = s->next)
    for (const work *w = s->first; w; w = w->next) {
      const copy *c = w->x;
      if (w->run == run_copy && (bytes_of(true, c->to, 1) || bytes_of(true, c->from, 1)))
        misused("freed");
    }
  return free_block(OF_HOST, p);
}

typedef struct {
  char *to;
  size_t n;
  unsigned char x;
} filling;
static cuda_result run_filling(void *x) {
  const filling *f = x;
  memset(f->to, f->x, f->n);
  return 0;
}
static cuda_result end_filling(void *x) {
  free(x);
  return 0;
}

DRIVER(cuMemsetD8Async)(cuda_ptr p, unsigned char x, size_t n, cuda_stream stream) {
  filling f = {emu_device_bytes(p, n), n, x};
  if (!f.to || !emu_stream_ok(stream))
    return INVALID_VALUE;
  return emu_put_work(stream, run_filling, end_filling, copied(&f, sizeof f));
}

DRIVER(cuMemcpyHtoDAsync_v2)(cuda_ptr to, const void *from, size_t n, cuda_stream stream) {
  char *at = emu_device_bytes(to, n), *pinned = bytes_of(true, from, n);
  if (!at || !emu_stream_ok(stream) || emu_device_bytes((cuda_ptr)(uintptr_t)from, 1))
    return INVALID_VALUE;
  copy x = {at, pinned ? pinned : copied(from, n), pinned ? copied(from, n) : NULL, n, !pinned};
  return put_copy(stream, x);
}

DRIVER(cuMemcpyDtoHAsync_v2)(void *to, cuda_ptr from, size_t n, cuda_stream stream) {
  char *at = emu_device_bytes(from, n), *pinned = bytes_of(true, to, n);
  if (!at || !emu_stream_ok(stream) || emu_device_bytes((cuda_ptr)(uintptr_t)to, 1))
    return INVALID_VALUE;
  memset(to, POISON, n);
  copy x = {to, at, pinned ? copied(to, n) : NULL, n, false};
  cuda_result r = put_copy(stream, x);
  return pinned ? r : drain(stream, NULL);
}

DRIVER(cuMemcpyDtoDAsync_v2)(cuda_ptr to, cuda_ptr from, size_t n, cuda_stream stream) {
  copy x = {emu_device_bytes(to, n), emu_device_bytes(from, n), NULL, n, false};
  return x.to && x.from && emu_stream_ok(stream) ? put_copy(stream, x) : INVALID_VALUE;
}

/* ---- launches */

static cuda_result run_launch(void *x) {
  return emu_run_kernel(x);
}
static cuda_result end_launch(void *x) {
  emu_launch_free(x);
  free(x);
  return 0;
}
cuda_result emu_put_launch(cuda_stream stream, const emu_launch *l) {
  return emu_put_work(stream, run_launch, end_launch, copied(l, sizeof *l));
}

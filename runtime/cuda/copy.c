/* copy.c: copies to the device, on it, and from it, in the context's stream.
 *
 * Copies between host and device go by way of pinned memory, which the device reads and writes by
 * itself (DMA). The memory is a circular buffer: each copy, divided into pieces if it is large,
 * takes the next bytes, so that the processor copies one piece while the device copies the previous
 * one. A piece is in use until its copy is done, which an event after the copy shows; bytes from
 * the device are then copied to their destination. Pieces end in the order in which they began.
 *
 * The host waits only if the buffer is full, and in neo_rti_cuda_finish, at the end of a call.
 * Without pinned memory the driver copies, and the host waits for each copy. */
#include "runtime/cuda/cuda.h"
#include <string.h>

enum { PIECE_ALIGN = 256 };

/* ------------------------------------------------------------ the staging */

neo_rt_status neo_rti_cuda_staging_open(neo_rt_ctx *c) {
  neo_rti_cuda *u = cuda_of(c);
  void *p = NULL;
  if (u->api.host_alloc(&p, CUDA_STAGING_BYTES, 0) != 0) {
    neo_rti_log(c, NEO_RTI_LOG_INFO, "%s: no pinned memory: copies are waited for", u->name);
    return NEO_OK;
  }
  u->staging.p = p;
  neo_rt_status s = NEO_OK;
  for (int i = 0; !s && i < CUDA_PIECES; i++)
    s = neo_rti_cuda_status(c, u->api.event_create(&u->staging.piece[i].done, CUDA_EVENT_NO_TIMING),
                            "making an event");
  return s;
}

void neo_rti_cuda_staging_close(neo_rt_ctx *c) {
  neo_rti_cuda *u = cuda_of(c);
  for (int i = 0; i < CUDA_PIECES; i++)
    if (u->staging.piece[i].done)
      (void)u->api.event_destroy(u->staging.piece[i].done);
  if (u->staging.p)
    (void)u->api.host_free(u->staging.p);
}

/* Ends the oldest piece, whose copy is done. */
static void end_piece(cuda_staging *r) {
  cuda_piece *p = &r->piece[r->first];
  if (p->to)
    memcpy(p->to, r->p + p->at, p->n);
  r->first = (r->first + 1) % CUDA_PIECES;
  r->n--;
}

static bool is_used(const cuda_staging *r, size_t at, size_t n) {
  for (unsigned i = 0; i < r->n; i++) {
    const cuda_piece *p = &r->piece[(r->first + i) % CUDA_PIECES];
    if (at < p->at + p->n && p->at < at + n)
      return true;
  }
  return false;
}

/* Takes the next n bytes of the staging as a piece, which the caller counts when its copy has
 * begun. */
static neo_rt_status begin_piece(neo_rt_ctx *c, size_t n, cuda_piece **out) {
  cuda_staging *r = &cuda_of(c)->staging;
  if (r->head + n > CUDA_STAGING_BYTES)
    r->head = 0;
  while (r->n == CUDA_PIECES || is_used(r, r->head, n)) {
    neo_rt_status s = neo_rti_cuda_status(c, cuda_of(c)->api.event_wait(r->piece[r->first].done),
                                          "waiting for a copy");
    if (s)
      return s;
    end_piece(r);
  }
  *out = &r->piece[(r->first + r->n) % CUDA_PIECES];
  (*out)->at = r->head;
  (*out)->n = n;
  r->head = (r->head + n + PIECE_ALIGN - 1) & ~(size_t)(PIECE_ALIGN - 1);
  return NEO_OK;
}

/* ------------------------------------------------------------ copies */

static cuda_ptr on_device(const void *p) {
  return (cuda_ptr)(uintptr_t)p;
}

static cuda_result start(neo_rti_cuda *u, neo_rti_way way, void *to, const void *from, size_t n) {
  switch (way) {
  case NEO_RTI_TO_DEVICE:
    return u->api.upload(on_device(to), from, n, u->stream);
  case NEO_RTI_FROM_DEVICE:
    return u->api.download(to, on_device(from), n, u->stream);
  case NEO_RTI_ON_DEVICE:
    return u->api.copy(on_device(to), on_device(from), n, u->stream);
  }
  return CUDA_NOT_SUPPORTED;
}

static neo_rt_status copy_piece(neo_rt_ctx *c, neo_rti_way way, char *to, const char *from,
                                size_t n) {
  neo_rti_cuda *u = cuda_of(c);
  cuda_piece *p;
  neo_rt_status s = begin_piece(c, n, &p);
  if (s)
    return s;
  unsigned char *at = u->staging.p + p->at;
  bool up = way == NEO_RTI_TO_DEVICE;
  if (up)
    memcpy(at, from, n);
  p->to = up ? NULL : to;
  cuda_result r = up ? start(u, way, to, at, n) : start(u, way, at, from, n);
  if (!r)
    r = u->api.event_record(p->done, u->stream);
  u->staging.n += !r;
  return neo_rti_cuda_status(c, r, up ? "copying to the device" : "copying from the device");
}

static neo_rt_status copy_pieces(neo_rt_ctx *c, neo_rti_way way, void *to, const void *from,
                                 size_t n) {
  neo_rt_status s = NEO_OK;
  for (size_t at = 0; !s && at < n; at += CUDA_PIECE_BYTES) {
    size_t rest = n - at;
    s = copy_piece(c, way, (char *)to + at, (const char *)from + at,
                   rest < CUDA_PIECE_BYTES ? rest : CUDA_PIECE_BYTES);
  }
  return s;
}

static neo_rt_status copy_waiting(neo_rt_ctx *c, neo_rti_way way, void *to, const void *from,
                                  size_t n) {
  neo_rt_status s = neo_rti_cuda_status(c, start(cuda_of(c), way, to, from, n), "copying");
  if (s || way == NEO_RTI_ON_DEVICE)
    return s;
  return neo_rti_cuda_status(c, cuda_of(c)->api.stream_wait(cuda_of(c)->stream), "copying");
}

neo_rt_status neo_rti_cuda_read(neo_rt_ctx *c, void *to, const void *from, size_t n) {
  return copy_waiting(c, NEO_RTI_FROM_DEVICE, to, from, n);
}

neo_rt_status neo_rti_cuda_copy(neo_rt_ctx *c, neo_rti_way way, void *to, const void *from,
                                size_t n) {
  neo_rt_status s = neo_rti_cuda_enter(c);
  if (s)
    return s;
  bool staged = way != NEO_RTI_ON_DEVICE && cuda_of(c)->staging.p;
  neo_rti_cuda_mark_copy(c, way, n);
  s = staged ? copy_pieces(c, way, to, from, n) : copy_waiting(c, way, to, from, n);
  neo_rti_cuda_mark_end(c);
  neo_rti_cuda_leave(c);
  return s;
}

/* Whether the host waits for the bytes of a piece. */
static bool owes(const cuda_staging *r) {
  for (unsigned i = 0; i < r->n; i++)
    if (r->piece[(r->first + i) % CUDA_PIECES].to)
      return true;
  return false;
}

neo_rt_status neo_rti_cuda_end(neo_rt_ctx *c, const char *doing) {
  bool returns = c->flags & NEO_RT_ASYNC && doing && !c->trace && !owes(&cuda_of(c)->staging);
  return returns ? NEO_OK : neo_rti_cuda_finish(c, doing);
}

neo_rt_status neo_rti_cuda_finish(neo_rt_ctx *c, const char *doing) {
  neo_rti_cuda *u = cuda_of(c);
  neo_rt_status s = neo_rti_cuda_enter(c);
  if (s)
    return s;
  s = neo_rti_cuda_status(c, u->api.stream_wait(u->stream), doing);
  while (!s && u->staging.n)
    end_piece(&u->staging);
  u->staging.n = 0;
  neo_rti_cuda_leave(c);
  return s;
}

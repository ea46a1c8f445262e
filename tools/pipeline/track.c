/* Blocks with a header before them, in a doubly linked list. */
#include "tools/pipeline/track.h"
#include <stdint.h>

struct neo_track_block {
  neo_track_block *next, **at; /* *at is this block */
};
enum { HEADER_BYTES = 16 };
_Static_assert(sizeof(neo_track_block) <= HEADER_BYTES, "what follows stays aligned to 16");

static void take_out(neo_track_block *b) {
  *b->at = b->next;
  if (b->next)
    b->next->at = b->at;
}

static void put_in(neo_track *t, neo_track_block *b) {
  b->next = t->first;
  b->at = &t->first;
  if (b->next)
    b->next->at = &b->next;
  t->first = b;
}

static neo_track_block *header_of(void *p) {
  return (neo_track_block *)(void *)((char *)p - HEADER_BYTES);
}

static void *resize_alone(neo_track *t, void *p, size_t size_bytes) {
  neo_track_block *old = p ? header_of(p) : NULL;
  if (size_bytes > SIZE_MAX - HEADER_BYTES)
    return NULL;
  if (old)
    take_out(old);
  neo_track_block *b = t->from.resize(t->from.ctx, old, size_bytes ? size_bytes + HEADER_BYTES : 0);
  if (b)
    put_in(t, b);
  else if (old && size_bytes)
    put_in(t, old); /* the resize failed, and the old block still exists */
  return b ? (char *)b + HEADER_BYTES : NULL;
}

static void *resize(void *ctx, void *p, size_t size_bytes) {
  neo_track *t = ctx;
  pthread_mutex_lock(&t->mutex);
  void *made = resize_alone(t, p, size_bytes);
  pthread_mutex_unlock(&t->mutex);
  return made;
}

neo_alloc neo_track_begin(neo_track *t, neo_alloc from) {
  *t = (neo_track){.from = from};
  pthread_mutex_init(&t->mutex, NULL);
  return (neo_alloc){t, resize};
}

void neo_track_end(neo_track *t) {
  while (t->first) {
    neo_track_block *b = t->first;
    take_out(b);
    t->from.resize(t->from.ctx, b, 0);
  }
  pthread_mutex_destroy(&t->mutex);
}

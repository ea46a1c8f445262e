/* For compile.c: an allocator that knows its live blocks, so that memory of a stage that was left
 * by longjmp, because memory ended, can be freed. Threads may use it at the same time; it calls the
 * allocator below one thread at a time. */
#pragma once
#include "base/alloc.h"
#include <pthread.h>

typedef struct neo_track_block neo_track_block;
typedef struct neo_track {
  neo_alloc from;
  neo_track_block *first;
  pthread_mutex_t mutex;
} neo_track;

/* Allocates through `from`. The tracker must not move while the result is used. */
neo_alloc neo_track_begin(neo_track *t, neo_alloc from);
/* Frees every live block. */
void neo_track_end(neo_track *t);

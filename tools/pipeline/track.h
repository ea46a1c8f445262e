/* An allocator that knows its live blocks, so that what a stage had in hand when memory ended, and
 * left by longjmp, can be freed. Threads may use it at the same time; what it allocates through is
 * called by one of them after the other. */
#pragma once
#include "base/alloc.h"
#include <pthread.h>

typedef struct neo_track_block neo_track_block;
typedef struct neo_track {
  neo_alloc from;
  neo_track_block *first;
  pthread_mutex_t mutex;
} neo_track;

/* Allocates through `from`. The tracker must stay where it is while the result is used. */
neo_alloc neo_track_begin(neo_track *t, neo_alloc from);
/* Frees every block that is still alive. */
void neo_track_end(neo_track *t);

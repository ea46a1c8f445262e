/* An allocator that knows its live blocks, so that what a stage had in hand when memory ended, and
 * left by longjmp, can be freed. */
#ifndef NEO_TOOLS_TRACK_H
#define NEO_TOOLS_TRACK_H
#include "base/alloc.h"

typedef struct neo_track_block neo_track_block;
typedef struct neo_track {
  neo_alloc from;
  neo_track_block *first;
} neo_track;

/* Allocates through `from`. The tracker must stay where it is while the result is used. */
neo_alloc neo_track_begin(neo_track *t, neo_alloc from);
/* Frees every block that is still alive. */
void neo_track_end(neo_track *t);

#endif

/* Growth of vectors: doubling, in the arena. */
#include "base/vec.h"

#include <string.h>

void *neo_vec_grow(neo_arena *a, void *at, size_t n, size_t *cap, size_t size_bytes) {
  if (n < *cap)
    return at;
  size_t wider = *cap < 8 ? 8 : *cap > SIZE_MAX / 2 ? SIZE_MAX : 2 * *cap;
  void *moved = neo_arena_array(a, wider, size_bytes);
  if (n > 0)
    memcpy(moved, at, n * size_bytes);
  *cap = wider;
  return moved;
}

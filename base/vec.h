/* Growable array in an arena. `NEO_VEC(T)` declares the type; old storage stays in the arena after
 * growth, so pointers into it stay readable but become stale: index instead. Zero-initialised is
 * empty.
 *
 *   NEO_VEC(int) v = {0};
 *   NEO_PUSH(arena, &v, 42);
 *   for (size_t i = 0; i < v.n; i++) use(v.at[i]);
 */
#pragma once
#include "base/arena.h"

#define NEO_VEC(T) \
  struct {         \
    T *at;         \
    size_t n, cap; \
  }

/* Room for one more element; returns the storage, possibly moved. */
void *neo_vec_grow(neo_arena *a, void *at, size_t n, size_t *cap, size_t size_bytes);

#define NEO_RESERVE(arena, v)                                                                 \
  ((v)->n == (v)->cap                                                                         \
       ? (void)((v)->at = neo_vec_grow((arena), (v)->at, (v)->n, &(v)->cap, sizeof *(v)->at)) \
       : (void)0)
#define NEO_PUSH(arena, v, ...)        \
  do {                                 \
    NEO_RESERVE(arena, v);             \
    (v)->at[(v)->n++] = (__VA_ARGS__); \
  } while (0)

/* The one allocator: every byte of the compiler and the runtime comes through a neo_alloc, so that
 * a test can make the n-th request fail. The default forwards to malloc. */
#pragma once
#include <stddef.h>

typedef struct neo_alloc {
  void *ctx;
  /* As realloc: p null allocates, size 0 frees and returns null. Returns null when out of memory.
   */
  void *(*resize)(void *ctx, void *p, size_t size_bytes);
} neo_alloc;

/* The process's default allocator (malloc). Constant data. */
extern const neo_alloc neo_alloc_default;

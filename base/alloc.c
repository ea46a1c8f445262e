/* The default allocator (malloc). */
#include "base/alloc.h"

#include <stdlib.h>

static void *resize_malloc(void *ctx, void *p, size_t size_bytes) {
  (void)ctx;
  if (size_bytes == 0) {
    free(p);
    return NULL;
  }
  return realloc(p, size_bytes);
}

const neo_alloc neo_alloc_default = {NULL, resize_malloc};

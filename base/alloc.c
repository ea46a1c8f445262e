/* The default allocator (malloc), and the one that fails on demand. */
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

/* Freeing never fails and is not counted. */
static void *resize_with_fault(void *ctx, void *p, size_t size_bytes) {
  neo_alloc_fault *fault = ctx;
  if (size_bytes > 0) {
    fault->count++;
    if (fault->count == fault->fail_at || (fault->forever && fault->count > fault->fail_at))
      return NULL;
  }
  return resize_malloc(NULL, p, size_bytes);
}

neo_alloc neo_alloc_with_fault(neo_alloc_fault *fault) {
  return (neo_alloc){fault, resize_with_fault};
}

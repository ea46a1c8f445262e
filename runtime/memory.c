/* memory.c: bytes into and out of what a context keeps, which may lie on a device. */
#include "runtime/internal.h"
#include <string.h>

neo_rt_status neo_rti_put(neo_rt_ctx *c, void *to, const void *from, size_t n) {
  if (n == 0 || to == from)
    return NEO_OK;
  if (c->cuda)
    return neo_rti_cuda_upload(c, to, from, n);
  memmove(to, from, n);
  return NEO_OK;
}

neo_rt_status neo_rti_take(neo_rt_ctx *c, void *to, const void *from, size_t n) {
  if (n == 0 || to == from)
    return NEO_OK;
  if (c->cuda)
    return neo_rti_cuda_download(c, to, from, n);
  memmove(to, from, n);
  return NEO_OK;
}

/* memory.c: copies bytes into and out of memory that a context owns, possibly on a device. */
#include "runtime/core/device.h"

static neo_rt_status copy(neo_rt_ctx *c, neo_rti_way way, void *to, const void *from, size_t n) {
  if (n == 0 || to == from)
    return NEO_OK;
  neo_rt_status s = c->device->copy(c, way, to, from, n);
  return s ? s : c->device->synchronise(c, "copying");
}

neo_rt_status neo_rti_put(neo_rt_ctx *c, void *to, const void *from, size_t n) {
  return copy(c, NEO_RTI_TO_DEVICE, to, from, n);
}

neo_rt_status neo_rti_take(neo_rt_ctx *c, void *to, const void *from, size_t n) {
  return copy(c, NEO_RTI_FROM_DEVICE, to, from, n);
}

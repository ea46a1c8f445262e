/* status.c: the driver's results as statuses with messages; entering and leaving its context. */
#include "runtime/cuda/cuda.h"
#include <stdio.h>

static neo_rt_status status_of(cuda_result r) {
  switch (r) {
  case CUDA_OUT_OF_MEMORY:
    return NEO_MEMORY;
  case CUDA_NO_DEVICE:
  case CUDA_NO_BINARY:
  case CUDA_INVALID_PTX:
  case CUDA_UNSUPPORTED_PTX:
    return NEO_UNSUPPORTED;
  default:
    return NEO_INTERNAL;
  }
}

typedef struct {
  char text[64];
} note;

/* "; 12 of 8589934592 bytes are free", where that is the reason and can be known. */
static note free_bytes(neo_rt_ctx *c, cuda_result r) {
  note n = {""};
  size_t has = 0, all = 0;
  if (r == CUDA_OUT_OF_MEMORY && cuda_of(c)->context &&
      cuda_of(c)->api.memory_info(&has, &all) == 0)
    snprintf(n.text, sizeof n.text, "; %zu of %zu bytes are free", has, all);
  return n;
}

neo_rt_status neo_rti_cuda_status(neo_rt_ctx *c, cuda_result r, const char *doing) {
  char text[CUDA_TEXT];
  if (r == 0 || !doing)
    return r ? status_of(r) : NEO_OK;
  return neo_rti_fail(c, status_of(r), "%s: %s%s", cuda_of(c)->name[0] ? cuda_of(c)->name : "CUDA",
                      neo_rti_cuda_why(&cuda_of(c)->api, r, doing, text), free_bytes(c, r).text);
}

neo_rt_status neo_rti_cuda_enter(neo_rt_ctx *c) {
  return neo_rti_cuda_status(c, cuda_of(c)->api.context_push(cuda_of(c)->context),
                             "making the device current");
}

void neo_rti_cuda_leave(neo_rt_ctx *c) {
  cuda_context before;
  (void)cuda_of(c)->api.context_pop(&before);
}

/* load.h: a file of tensors while a context loads it. Private to runtime/core.
 *
 * A load that fails before it copies changes nothing. */
#pragma once
#include "runtime/core/ctx.h"

typedef struct {
  unsigned char *bytes; /* bytes of the whole file */
  neo_rti_file_tensors file;
  neo_rt_pair *meta;          /* a copy of the file's metadata, in one block */
  uint64_t seed, step, calls; /* the file's, if they are wanted and present; else the context's */
} neo_rti_loading;

/* Reads the whole file; with_step: also seed, step and calls from its metadata. */
neo_rt_status neo_rti_loading_open(neo_rt_ctx *c, const char *path, bool with_step,
                                   neo_rti_loading *l) NEO_MUST_CHECK;
/* Ends the load. If `status`, the result of the steps since, is success, metadata, seed and step
 * become the context's. Returns `status`. */
neo_rt_status neo_rti_loading_close(neo_rt_ctx *c, neo_rti_loading *l, neo_rt_status status);

/* load.h: a file of tensors while a context loads it. Private to runtime/core.
 *
 * A load that fails before it copies has changed nothing. */
#pragma once
#include "runtime/core/ctx.h"

typedef struct {
  unsigned char *bytes; /* of the whole file */
  neo_rti_file_tensors file;
  neo_rt_pair *meta;          /* a copy of the file's, in one block */
  uint64_t seed, step, calls; /* the file's, if they are wanted and there; else the context's */
} neo_rti_loading;

/* Reads the whole file; with_step: seed, step and calls of its metadata too. */
neo_rt_status neo_rti_loading_open(neo_rt_ctx *c, const char *path, bool with_step,
                                   neo_rti_loading *l) NEO_MUST_CHECK;
/* Ends it: metadata, seed and step become the context's if `status`, of what was done since, is
 * success. Returns it. */
neo_rt_status neo_rti_loading_close(neo_rt_ctx *c, neo_rti_loading *l, neo_rt_status status);

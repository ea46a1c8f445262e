/* watch.h: who is told of each kernel that an entry is about to run, and what it will find in memory.
 * Kernels of a processor only. */
#pragma once
#include "include/neo/neo_rt.h"
#include <stdbool.h>

typedef struct {       /* a kernel, before it runs */
  int32_t step;        /* its number among the model's steps */
  bool in_loop;        /* of the plan: it runs once a round */
  void *const *buf;    /* its buffers, as neo_rt_args has them */
  const int64_t *size; /* run-time sizes, with the indices of the loops around */
  int64_t units;
} neo_rti_watched;

typedef struct neo_rti_watch {
  /* Called on one thread. What earlier steps wrote is there; this one may be running on other threads. */
  void (*before)(void *ctx, const neo_rti_watched *w);
  void *ctx;
} neo_rti_watch;

/* From the next call of an entry on; null: nobody is told. The watch outlives the context or the next
 * call of this function. Without one a step costs a comparison more. */
void neo_rti_watch_set(neo_rt_ctx *c, const neo_rti_watch *watch);

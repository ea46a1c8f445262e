/* watch.h: a callback before each kernel of an entry, with the kernel's buffers and sizes. For
 * kernels of a processor only. */
#pragma once
#include "include/neo/neo_rt.h"
#include <stdbool.h>

typedef struct {       /* a kernel, before it runs */
  int32_t step;        /* number among the model's steps */
  bool in_loop;        /* in a loop of the plan: it runs once per iteration */
  void *const *buf;    /* buffers, as in neo_rt_args */
  const int64_t *size; /* run-time sizes, with the indices of the loops around */
  int64_t units;
} neo_rti_watched;

typedef struct neo_rti_watch {
  /* Called on one thread, after earlier steps have written their results. This step may be running
   * on other threads already. */
  void (*before)(void *ctx, const neo_rti_watched *w);
  void *ctx;
} neo_rti_watch;

/* Sets the watch from the next call of an entry on; null: none. The watch must live until the next
 * call of this function, or as long as the context. Without a watch a step costs one comparison
 * more. */
void neo_rti_watch_set(neo_rt_ctx *c, const neo_rti_watch *watch);

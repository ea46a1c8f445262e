/* cpu.h, for device.c: the state of a context on a processor. Private to runtime/cpu. */
#pragma once
#include "runtime/core/device.h"
#include "runtime/cpu/crowd.h"
#include "runtime/pool.h"

typedef struct {
  int64_t from, to; /* ns; to == 0: it had nothing to do */
  int64_t busy;     /* ns that it ran, in all iterations */
} neo_rti_cpu_span;

typedef struct {     /* c->state */
  neo_rt_pool *pool; /* null: one thread */
  bool own_pool;
  void *arena, *work;    /* memory to free; null: none, or the caller's */
  neo_rti_crowd *crowds; /* one per entry */
  int32_t most_steps;
  neo_rti_cpu_span *spans; /* [workers][most_steps] of the running entry; null: no trace */
} neo_rti_cpu;

/* A function of the device's table (run.c). */
neo_rt_status neo_rti_cpu_run(neo_rt_ctx *c, const neo_rt_entry *e,
                              const uint64_t *key) NEO_MUST_CHECK;

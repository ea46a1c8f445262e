/* pool.h: a pool of threads that run one function at the same time. */
#pragma once
#include "base/alloc.h"
#include "base/status.h"
#include "include/neo/neo_rt.h"

enum { NEO_RTI_MAX_THREADS = 1024 };

/* The work of worker number `worker` of n. */
typedef void neo_rti_job(void *user, int32_t worker, int32_t n);

/* Makes a pool of `threads` workers, the calling thread among them; 0: one per core. The caller
 * destroys it (neo_rt_pool_destroy). NEO_ARGUMENT, NEO_MEMORY. *out is then null. */
neo_rt_status neo_rti_pool_create(int32_t threads, neo_alloc alloc,
                                  neo_rt_pool **out) NEO_MUST_CHECK;
typedef struct { /* times of a region, by the monotonic clock */
  int32_t threads;
  int64_t ns;
  int64_t waited_ns; /* the part in which the calling thread waited for workers, without very short
                        waits */
} neo_rti_region_time;

/* Runs job on all workers, the calling thread being worker 0; returns when all have ended. Calls
 * from several threads run one after the other. */
neo_rti_region_time neo_rti_pool_run(neo_rt_pool *pool, neo_rti_job *job, void *user);
/* The same, except that the calling thread is the only worker if the pool is busy with another
 * region: a small region need not wait for a large one. */
neo_rti_region_time neo_rti_pool_run_or_alone(neo_rt_pool *pool, neo_rti_job *job, void *user);
/* Runs job on the calling thread, as worker 0 of 1. */
neo_rti_region_time neo_rti_pool_run_alone(neo_rti_job *job, void *user);
/* Waits, within a job on worker number `worker`, until all workers have arrived. */
void neo_rti_pool_barrier(neo_rt_pool *pool, int32_t worker);

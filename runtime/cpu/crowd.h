/* crowd.h, for run.c: decides when an entry runs on the calling thread alone.
 *
 * If other programs want the cores, workers that meet at barriers wait for one that the system has
 * suspended: a step of a millisecond then takes as long as the system's time slices, twenty times
 * as long on two cores that ten others want. Results do not depend on the number of threads, so an
 * entry may run on one thread while that is faster:
 *
 *   SHARED  the pool runs it. PROBE follows after several runs in a row in which the caller waited
 *           for more than half of the time, and its own work is so large a part that one thread
 *           would not take much longer
 *   PROBE   one run alone, compared with those before it. Faster: ALONE; else SHARED, for long
 *           without another probe
 *   ALONE   a number of runs, which doubles each time; then SHARED again, for few runs if they wait
 *
 * Private to runtime/cpu. One for each entry of a context; all zero is SHARED. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef enum { NEO_RTI_SHARED, NEO_RTI_PROBE, NEO_RTI_ALONE } neo_rti_crowd_state;

typedef struct {
  uint8_t state;      /* neo_rti_crowd_state */
  int32_t waiting;    /* SHARED: runs in a row that waited; below 0: runs until they count again */
  int32_t left;       /* ALONE: runs that remain */
  int32_t stay;       /* runs of the last ALONE; 0: none, or a run since then did not wait */
  int64_t waiting_ns; /* time of these runs */
} neo_rti_crowd;

/* Whether the next run uses the calling thread alone. */
bool neo_rti_crowd_alone(const neo_rti_crowd *c);
/* Notes a run on `threads` threads that took ns nanoseconds, in which the caller waited for
 * `waited`. */
void neo_rti_crowd_note(neo_rti_crowd *c, int32_t threads, int64_t ns, int64_t waited);

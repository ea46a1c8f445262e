/* Actors that are ready, for the workers of a network. Private to runtime/net.
 *
 * A set has a bit for each actor that is ready, and the workers that take from it: all workers
 * have one set (actors), or each its own (pinned). A worker claims the actor with the best task by
 * clearing its bit, runs one task, and gives the actor back; no lock is taken.
 *
 * A worker that makes actors ready in its own set wakes nobody at once: it may take the next task
 * itself. It wakes another one if there is more than that, and before it updates parameters. */
#pragma once
#include "runtime/net/event.h"
#include "runtime/net/net.h"

enum { NEO_RTI_NOBODY = -1 };

typedef struct {
  neo_rti_net_event event; /* signals actors that have become ready, and the end */
  _Atomic uint64_t *ready;
} neo_rti_net_set;

typedef struct neo_rti_net_worker neo_rti_net_worker; /* workers.c */

struct neo_rti_net_crew {
  int32_t n_sets, n_words, n_workers, spin_pauses;
  neo_rti_net_set *sets;
  neo_rti_net_worker *workers;
  void *raw_sets, *raw_words, *raw_workers; /* blocks of memory */
  _Atomic int32_t ends;
};

/* Zeroed memory at a cache line, within the block *raw; null: there is none. */
void *neo_rti_net_lines(size_t bytes, void **raw);
/* Makes n_sets sets, and gives each actor one. False: no memory. */
bool neo_rti_crew_open_sets(neo_rt_network *n);
/* Gives an actor a task. */
void neo_rti_crew_put(neo_rt_network *n, neo_rti_net_task *t);
/* Wakes a worker if actors are ready that nobody has taken. */
void neo_rti_crew_share(neo_rt_network *n);
void neo_rti_crew_make_ready(neo_rt_network *n, int32_t actor);
/* Takes the ready actor with the best task; NEO_RTI_NOBODY: there is none. */
int32_t neo_rti_crew_claim(const neo_rt_network *n, neo_rti_net_set *s);
bool neo_rti_crew_any_ready(const neo_rti_net_crew *c, const neo_rti_net_set *s);
/* Whether no worker has an actor and none is ready. */
bool neo_rti_crew_is_idle(const neo_rt_network *n);

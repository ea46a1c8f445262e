/* Threads that run nodes. Private to runtime/net.
 *
 * A set has a bit for each actor that is ready, and the workers that take from it: all workers have
 * one set (actors), or each its own (pinned). A worker claims the actor with the best task by
 * clearing its bit, runs one task, and gives the actor back; no lock is taken. An idle worker spins
 * for some microseconds, then sleeps.
 *
 * A worker that makes actors ready in its own set wakes nobody at once: it may take the next task
 * itself. It wakes another one if there is more than that, and before it updates parameters. */
#pragma once
#include "runtime/net/event.h"
#include "runtime/net/net.h"

/* Starts config.workers threads; NEO_OK without them if it is 0. */
neo_rt_status neo_rti_net_crew_open(neo_rt_network *n) NEO_MUST_CHECK;
/* Stops the threads after the tasks at hand, and frees them. */
void neo_rti_net_crew_close(neo_rt_network *n);
/* Gives an actor a task. */
void neo_rti_net_crew_put(neo_rt_network *n, neo_rti_net_task *t);
/* Wakes a worker if actors are ready that nobody has taken. */
void neo_rti_net_crew_share(neo_rt_network *n);
/* Whether no worker has an actor and none is ready. */
bool neo_rti_net_crew_is_idle(const neo_rt_network *n);
/* The number of tasks that have run, and whether one runs now. */
uint64_t neo_rti_net_crew_progress(const neo_rt_network *n, bool *runs);
/* Statistics of the workers since they were cleared, `seconds` ago; out has room for all. */
void neo_rti_net_crew_stats(const neo_rt_network *n, double seconds, neo_rt_net_worker_stats *out);
void neo_rti_net_crew_clear(neo_rt_network *n);

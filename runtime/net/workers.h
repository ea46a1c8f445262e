/* Threads that run nodes. Private to runtime/net.
 *
 * A worker takes actors from its set (crew.h). An idle one spins for some microseconds, then
 * sleeps. */
#pragma once
#include "runtime/net/net.h"

/* Starts config.workers threads; NEO_OK without them if it is 0. */
neo_rt_status neo_rti_net_crew_open(neo_rt_network *n) NEO_MUST_CHECK;
/* Stops the threads after the tasks at hand, and frees them. */
void neo_rti_net_crew_close(neo_rt_network *n);
/* The number of tasks that have run, and whether one runs now. */
uint64_t neo_rti_net_crew_progress(const neo_rt_network *n, bool *runs);
/* Statistics of the workers since they were cleared, `seconds` ago; out has room for all. */
void neo_rti_net_crew_stats(const neo_rt_network *n, double seconds, neo_rt_net_worker_stats *out);
void neo_rti_net_crew_clear(neo_rt_network *n);

/* The order of messages: written to a file, and repeated from one. Private to runtime/net.
 *
 * What an actor computes follows from the order of its tasks, and the mean of losses from the
 * order in which instances finish. A log has these orders, one after another in pieces:
 *
 *     neo log 1, 3 actors, 4 nodes
 *     0 1 17 f        actor 0 ran node 1 forward for instance 17
 *     3 0 15 b        instance 15 finished: the controller follows the actors
 *
 * Each actor has a buffer, which is written when it is full; the lines of an actor are in its
 * order. */
#pragma once
#include "runtime/net/net.h"
#include <stdio.h>

typedef struct { /* an actor's lines, or the controller's */
  char *text;
  size_t n;
} neo_rti_log_buffer;

typedef struct {
  uint64_t number;
  int32_t node;
  bool back;
} neo_rti_log_step;

typedef struct { /* the steps of an actor, or of the controller, in a replay */
  neo_rti_log_step *steps;
  size_t n, room, at;
} neo_rti_log_track;

struct neo_rti_net_log {
  FILE *file; /* null: nothing is written */
  _Atomic int32_t error;
  neo_rti_log_buffer *buffers;
  neo_rti_log_track *tracks; /* null: no replay */
};

/* Opens config.log, and reads config.replay. */
neo_rt_status neo_rti_net_log_open(neo_rt_network *n) NEO_MUST_CHECK;
/* Writes what is in the buffers. Nothing may run. */
neo_rt_status neo_rti_net_log_flush(neo_rt_network *n) NEO_MUST_CHECK;
void neo_rti_net_log_close(neo_rt_network *n);
/* Notes a task that begins; `actor` n_actors: an instance that finishes. */
void neo_rti_net_log_note(neo_rt_network *n, int32_t actor, const neo_rti_net_task *t);
/* Whether tasks are repeated from a log. */
bool neo_rti_net_replays(const neo_rt_network *n);
/* Runs the next task of an actor, or finishes the next instance, that the log has next.
 * (replay.c) */
neo_rt_status neo_rti_net_replay_step(neo_rt_network *n) NEO_MUST_CHECK;

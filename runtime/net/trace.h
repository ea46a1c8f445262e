/* When the nodes of a network ran. Private to runtime/net. */
#pragma once
#include "runtime/net/net.h"

typedef enum {
  NEO_RTI_NET_PART_FORWARD,
  NEO_RTI_NET_PART_BACKWARD,
  NEO_RTI_NET_PART_UPDATE
} neo_rti_net_part;

typedef struct {
  int32_t node; /* -1: an update of the actor */
  int32_t worker;
  neo_rti_net_part part;
  uint64_t number; /* number of the instance, or of the update */
  int64_t from_ns, to_ns;
} neo_rti_net_span;

/* Notes work of an actor, if there is a trace. One thread at a time for an actor. */
void neo_rti_net_trace_note(neo_rt_network *n, int32_t actor, const neo_rti_net_span *x);
/* Frees what was noted, without a file. */
void neo_rti_net_trace_forget(neo_rt_network *n);

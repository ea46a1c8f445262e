/* A running network. Private to runtime/net.
 *
 * Each key has a slot, which holds one instance: a buffer for each edge and direction, at the
 * largest sizes, and the count of messages that each node has. Entries read and write the buffers in
 * place. A message is the number of an edge, a slot and a direction; at most two are on their way
 * for each edge of a slot, which bounds the queue. */
#pragma once
#include "include/neo/neo_net.h"
#include "runtime/core/ctx.h"

/* The runner of a node's work. */
typedef enum {
  NEO_RTI_NET_UNKNOWN,
  NEO_RTI_NET_CONTROLLER,
  NEO_RTI_NET_ACTOR, /* entries of its actor */
  NEO_RTI_NET_BCAST
} neo_rti_net_kind;

typedef enum {
  NEO_RTI_NET_NOWHERE, /* the caller does not want it */
  NEO_RTI_NET_VALUE,   /* forward payload of edge `which` */
  NEO_RTI_NET_BACK,    /* backward payload of edge `which` */
  NEO_RTI_NET_WEIGHT,
  NEO_RTI_NET_LOSS,
  NEO_RTI_NET_SEEN /* what an update reads of an instance: seen[which] */
} neo_rti_net_place;

typedef struct { /* where an entry's arguments are */
  int32_t entry; /* -1: there is nothing to run */
  int32_t n;
  struct {
    neo_rti_net_place place;
    int32_t which;
  } * arg;
} neo_rti_net_call;

typedef struct {             /* the rows that an edge carries */
  const neo_rt_model *model; /* null: nothing that is used */
  const neo_rt_tensor *tensor;
  int64_t bytes; /* at the largest sizes */
} neo_rti_net_rows;

typedef struct {
  bool busy;
  uint64_t number;
  double weight, loss;
  int64_t *sizes;
  int32_t *n_in, *n_back; /* by node: messages that have come */
  void **value, **back;   /* by edge */
} neo_rti_net_slot;

typedef struct {
  int32_t edge, slot;
  bool back;
} neo_rti_net_message;

typedef struct neo_rti_devices neo_rti_devices; /* devices.h */

struct neo_rt_network {
  const neo_rt_net *net;
  neo_rti_net_kind *kind; /* by node */
  int32_t keys, every;
  uint64_t seed, sent;
  neo_rt_ctx **ctx; /* by actor */
  void **arena;
  uint64_t *updates;
  int32_t *answered;                    /* by node: instances since its actor's last update */
  neo_rti_net_call *forward, *backward; /* by node */
  neo_rti_net_call *update;             /* by actor */
  neo_rti_net_rows *rows;               /* by edge */
  void **seen;
  neo_rti_net_slot *slot;
  neo_rti_net_message *queue; /* a ring of queue_room */
  int64_t queue_room, queue_first, queue_n;
  int32_t on_their_way;
  int64_t *call_sizes;
  void **call_args;
  float weight;         /* argument of the call at hand */
  double loss_place[2]; /* the same, of any float type */
  double loss_sum, loss_weight;
  neo_rti_devices *devices; /* null: messages go in real time */
  bool failed;
  char error[1024];
};

/* Elements of an edge's rows at these sizes. (memory.c) */
int64_t neo_rti_net_elements(const neo_rti_net_rows *r, const int64_t *sizes);
/* Finds the kinds of all nodes. NEO_RT_E_UNSUPPORTED: this runtime does not have the kind of one.
 * (kinds.c) */
neo_rt_status neo_rti_net_find_kinds(neo_rt_network *n);
/* Allocates everything but contexts and kinds, which it reads. (memory.c) */
neo_rt_status neo_rti_net_allocate(neo_rt_network *n);
void neo_rti_net_free(neo_rt_network *n);
/* Finds where the arguments of all entries are. (bind.c) */
neo_rt_status neo_rti_net_bind(neo_rt_network *n);
/* Takes a message: the node that has now all that it waits for; -1: it waits for more.
 * (network.c) */
int32_t neo_rti_net_receive(neo_rt_network *n, neo_rti_net_message m);
/* Runs a node for a slot, and sends what it computes. (network.c) */
neo_rt_status neo_rti_net_run(neo_rt_network *n, int32_t node, int32_t slot, bool back);
/* Stores the message; the network can only be destroyed now. (message.c) */
neo_rt_status neo_rti_net_fail(neo_rt_network *n, neo_rt_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

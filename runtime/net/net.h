/* A running network. Private to runtime/net.
 *
 * Each key has a slot, which holds one instance: the payloads of its messages, one block of the
 * memory for messages (slots.c), and the count of messages that each node has. Entries read and
 * write payloads in place. A message is the number of an edge, a slot and a direction; at most two
 * are on their way for each edge of a slot. A node whose last message has come has a task, which
 * is the work of one pass of one instance.
 *
 *     post ---> queue (order.c) ----------------> receive -> run     without workers
 *     post ---> receive -> mailbox (mailbox.c) -> worker  -> run     with workers (workers.c)
 *     post ---> receive -> task is ready -------> log     -> run     replay (log.c)
 *     post ---> event -> receive -> ready work -> device  -> run     virtual time (devices.c)
 *
 * Nodes without an actor only move rows; with workers, whoever completes their messages does so.
 * The controller is the thread that uses the network: it takes finished slots. */
#pragma once
#include "base/machine.h"
#include "include/neo/neo_net.h"
#include "runtime/core/ctx.h"
#include <stdatomic.h>

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
  NEO_RTI_NET_STASH, /* stash[which] of the slot */
  NEO_RTI_NET_COUNT, /* updates so far */
  NEO_RTI_NET_SEEN   /* a tensor of an instance that an update reads: seen[which] */
} neo_rti_net_place;

typedef struct { /* the places of an entry's arguments */
  int32_t entry; /* -1: there is nothing to run */
  int32_t n;
  bool trusted; /* nothing that the user gives is an index, a bool, or a size with conditions */
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

typedef struct { /* a payload of a slot: a VALUE, BACK or STASH */
  neo_rti_net_place place;
  int32_t which;
  neo_rti_net_rows rows;
} neo_rti_net_buffer;

typedef struct neo_rti_net_task {
  struct neo_rti_net_task *next; /* in a mailbox */
  uint64_t number;               /* instance's */
  int32_t node, slot;
  bool back, ready; /* ready: in a replay, its messages have come */
} neo_rti_net_task;

typedef struct neo_rti_net_slot {
  bool busy;
  bool test; /* the instance is evaluated */
  uint64_t
      number; /* instance's: of all that were sent; of those that train, by which rand() draws */
  uint64_t draw;
  double weight, loss;
  int64_t rows;
  int64_t *sizes;
  _Atomic int32_t *n_in, *n_back; /* by node: messages that have come */
  uint64_t *version;              /* by node: updates of its actor before the forward pass */
  void **value, **back;           /* by edge */
  void **stash;                   /* by stash; null: it is an edge's value */
  neo_rti_net_task *task;         /* [n_nodes][2] */
  int64_t begin, end;             /* in the memory for messages */
  struct neo_rti_net_slot *next;  /* in the list of finished ones */
} neo_rti_net_slot;

typedef struct {
  int32_t edge, slot;
  bool back;
} neo_rti_net_message;

typedef struct { /* arguments of the call at hand, by actor */
  int64_t *sizes;
  void **args;
  int64_t *of_instance; /* sizes of the instance that an update follows */
  float weight;
  int64_t count;
  double loss[2];   /* a value of any float type */
  int64_t taken_ns; /* by the task that ran last */
  int32_t worker;   /* the worker that runs it */
} neo_rti_net_frame;

typedef struct { /* by node; one thread at a time writes */
  _Alignas(NEO_PADDING_BYTES) _Atomic uint64_t forward, backward;
  _Atomic uint64_t stale, most_stale; /* stale: sum over instances */
  _Atomic uint64_t busy_ns;
} neo_rti_net_count;

typedef struct neo_rti_net_event neo_rti_net_event;     /* event.h */
typedef struct neo_rti_net_mailbox neo_rti_net_mailbox; /* mailbox.h */
typedef struct neo_rti_net_crew neo_rti_net_crew;       /* workers.h */
typedef struct neo_rti_net_log neo_rti_net_log;         /* log.h */
typedef struct neo_rti_devices neo_rti_devices;         /* devices.h */
typedef struct neo_rti_net_trace neo_rti_net_trace;     /* trace.h */

struct neo_rt_network {
  const neo_rt_net *net;
  neo_rt_net_config config;
  neo_rti_net_kind *kind; /* by node */
  int32_t keys, every;
  uint64_t seed, sent, finished;
  uint64_t drawn;   /* instances sent that train */
  neo_rt_ctx **ctx; /* by actor */
  void **arena;
  neo_rti_net_frame *frame;
  _Atomic uint64_t *updates;
  int64_t *answered; /* by node: instances, or rows, that no update has seen */
  neo_rti_net_call *forward, *backward, *test; /* by node */
  neo_rti_net_call *first, *apply; /* by node: entries in place of those that end its work */
  neo_rti_net_call *update;        /* by actor */
  uint8_t *loss_type;              /* by node */
  neo_rti_net_rows *rows;          /* by edge */
  int32_t *input;                  /* by out port of the controller: number of the input; -1 */
  void **seen;
  neo_rti_net_count *count;
  neo_rt_net_node_stats *counted;       /* by node: counts when statistics were cleared */
  uint64_t tasks;                       /* without workers: tasks that have run */
  uint64_t sent_0, finished_0, tasks_0; /* when they were cleared */

  neo_rti_net_slot *slot;
  neo_rti_net_buffer *buffer;
  int32_t n_buffers;
  unsigned char *memory, *raw; /* payloads: at a cache line within the block `raw` */
  int64_t memory_bytes, used_bytes, most_bytes;
  int32_t *unused, *placed; /* numbers of slots: those without an instance; others, by address */
  int32_t on_their_way;     /* placed slots */

  neo_rti_net_message *queue; /* without workers: a circular buffer of queue_room messages */
  int64_t queue_room, queue_first, queue_n;
  uint64_t order;

  neo_rti_net_mailbox *mailbox;          /* by actor; null: no workers */
  neo_rti_net_crew *crew;                /* null: no workers */
  neo_rti_net_event *news;               /* signals finished slots, failures, a stop */
  neo_rti_net_log *log;                  /* null: none */
  neo_rti_devices *devices;              /* null: real time */
  neo_rti_net_trace *trace;              /* null: none */
  _Atomic(neo_rti_net_slot *) back_home; /* finished slots that the controller has not seen */
  _Atomic int32_t stopped;
  _Atomic int32_t drains; /* 1: the controller waits until all actors are idle */

  double loss_sum, loss_weight;
  int64_t began_ns;  /* start of statistics */
  neo_rt_ctx *whole; /* a context of the whole model for files; null: none was needed */
  void *value;       /* room for a tensor on its way between contexts */
  size_t value_bytes;
  _Atomic int32_t failed; /* 1: the message is being written; 2: it is there */
  neo_rt_status status;
  bool told; /* a call has returned it */
  char error[2048];
};

/* ---------------------------------------------------------- making (kinds.c, memory.c, bind.c) */

/* Finds the kinds of all nodes. NEO_RT_E_UNSUPPORTED: this runtime does not have the kind of
 * one. */
neo_rt_status neo_rti_net_find_kinds(neo_rt_network *n) NEO_MUST_CHECK;
/* Allocates everything but contexts and kinds, which it reads. */
neo_rt_status neo_rti_net_allocate(neo_rt_network *n) NEO_MUST_CHECK;
void neo_rti_net_free(neo_rt_network *n);
/* Finds where the arguments of all entries are. */
neo_rt_status neo_rti_net_bind(neo_rt_network *n) NEO_MUST_CHECK;

/* ------------------------------------------------------------ failures (message.c) */

/* Stores the message, unless there was a failure before; the network can only be destroyed now.
 * Any thread may call it. */
neo_rt_status neo_rti_net_fail(neo_rt_network *n, neo_rt_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Stores the message of a call that has changed nothing. */
neo_rt_status neo_rti_net_say(neo_rt_network *n, neo_rt_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The status of the first failure; NEO_OK: there was none. */
neo_rt_status neo_rti_net_status(neo_rt_network *n);
/* "2 (PPT of h)" */
typedef struct {
  char text[64];
} neo_rti_net_name;
neo_rti_net_name neo_rti_net_name_of(const neo_rt_network *n, int32_t node);

/* ------------------------------------------------------------ slots (slots.c) */

/* Elements of an edge's rows at these sizes. */
int64_t neo_rti_net_elements(const neo_rti_net_rows *r, const int64_t *sizes);
/* Takes a slot for an instance, and copies its inputs; -1: it has to wait for others. */
int32_t neo_rti_net_admit(neo_rt_network *n, const neo_rt_net_instance *x);

/* ------------------------------------------------------------ messages (post.c) */

void neo_rti_net_post(neo_rt_network *n, int32_t edge, int32_t slot, bool back);
void neo_rti_net_post_ports(neo_rt_network *n, int32_t first, int32_t n_ports, int32_t slot,
                            bool back);
/* Counts a message that has come. The number of its node, if the node now has all messages of the
 * instance in this direction; else -1. */
int32_t neo_rti_net_receive(neo_rt_network *n, neo_rti_net_message m);
/* Does the work of a node without an actor. */
void neo_rti_net_move(neo_rt_network *n, int32_t node, int32_t slot, bool back);
/* Adds a finished slot's loss to the sum, checks its counts, and frees it. The controller calls
 * it. */
neo_rt_status neo_rti_net_finish(neo_rt_network *n, int32_t slot) NEO_MUST_CHECK;

/* ------------------------------------------------------------ work of nodes (run.c, order.c) */

/* Runs a node whose messages of an instance have all come. One thread at a time for an actor. */
neo_rt_status neo_rti_net_run(neo_rt_network *n, int32_t node, int32_t slot,
                              bool back) NEO_MUST_CHECK;
/* Without workers: runs what the next message in the queue completes. */
neo_rt_status neo_rti_net_deliver(neo_rt_network *n) NEO_MUST_CHECK;
/* Applies what is left in the sums of gradients; nothing else may run. */
neo_rt_status neo_rti_net_flush(neo_rt_network *n) NEO_MUST_CHECK;

/* ------------------------------------------------------------ statistics (stats.c) */

/* The state of the network, for the message of a failure: messages that were not answered. */
void neo_rti_net_describe(const neo_rt_network *n, char *out, size_t size);

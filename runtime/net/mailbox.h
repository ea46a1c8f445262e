/* The mailbox of an actor: tasks that wait for it. Private to runtime/net.
 *
 *     any thread   put ------> inbox, a list without locks
 *     its worker   take_all -> heap: backward first, then the oldest instance, then the first node
 *
 * The inbox is a queue of many producers and one consumer: a stack whose consumer takes all of
 * it at once (R. K. Treiber, "Systems programming: coping with parallelism", IBM RJ 5118, 1986;
 * as the llist of Linux). Since tasks leave only together, no address comes back while a
 * producer compares it. Links are in the tasks: a task is in at most one mailbox, so a mailbox
 * holds no more than two for each node and key, and nothing allocates.
 *
 * The state of the actor is in the inbox too. IDLE: it has no tasks. The producer that finds it
 * IDLE makes the actor ready, once; a worker that claims it runs tasks and makes it ready again,
 * or IDLE if there are none. So at most one thread has the actor. */
#pragma once
#include "runtime/net/net.h"

struct neo_rti_net_mailbox {
  _Alignas(NEO_PADDING_BYTES) _Atomic(neo_rti_net_task *) inbox;
  /* The rank of the best task, for the choice among actors: it may be out of date. */
  _Atomic uint64_t best;
  int32_t set; /* number among the crew's sets of actors that are ready */
  _Alignas(NEO_PADDING_BYTES)
      neo_rti_net_task **heap; /* private to the worker that has the actor */
  _Atomic int32_t n_heap, most_heap;
  _Atomic int32_t owned; /* 1: a worker has it */
};

/* Opens an empty mailbox; false: no memory for `most` tasks. */
bool neo_rti_mailbox_open(neo_rti_net_mailbox *b, size_t most);
/* True: the actor was idle, and the caller has to make it ready. */
bool neo_rti_mailbox_put(neo_rti_net_mailbox *b, neo_rti_net_task *t);
/* The best task; null: there is none. The worker that has the actor calls it. */
neo_rti_net_task *neo_rti_mailbox_take(neo_rti_net_mailbox *b);
/* Gives the actor back; true: tasks are left, and the caller has to make it ready again. */
bool neo_rti_mailbox_release(neo_rti_net_mailbox *b);
bool neo_rti_mailbox_is_idle(const neo_rti_net_mailbox *b);

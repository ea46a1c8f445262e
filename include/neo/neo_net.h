/* neo_net.h: networks (libneort): a training step whose nodes exchange messages, after Gaunt,
 * Johnson and others, "AMPNet: asynchronous model-parallel training for dynamic neural networks".
 *
 * `neoc compile mlp.expr --network` makes a library with the constant mlp_net beside mlp_model.
 *
 *   extern const neo_rt_net mlp_net;
 *   neo_rt_network *n;
 *   neo_rt_net_create(&mlp_net, &(neo_rt_net_config){.keys = 4}, &n, NULL, 0);
 *   for each batch:
 *     neo_rt_net_send(n, &(neo_rt_net_instance){.sizes = sizes, .inputs = inputs, .weight = 1});
 *   neo_rt_net_wait(n, &loss);                      // all are back, all updates are done
 *   neo_rt_net_destroy(n);
 *
 * With one key, and an update after each instance, this is the synchronous step. With more keys the
 * nodes work on several instances at a time, and an instance may meet newer weights on its way back
 * than on its way out. One thread at a time uses a network; on that thread its nodes run, in the
 * order in which messages were sent. All memory is allocated by neo_rt_net_create. */
#ifndef NEO_NET_H
#define NEO_NET_H
#include <neo/neo_rt.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NEO_RT_NET_ABI 1u

/* ------------------------------------------------------------------ what a library has */

/* Tensors and entries are named as in the actor's model; null: there is none. */
typedef struct {
  const char *name; /* name of the tensor in the whole model; null: messages are empty */
  const char *value, *back;
  int32_t edge, gradient; /* gradient: the answer has a payload */
} neo_rt_net_port;

typedef struct {
  const char *kind; /* "controller", "PPT", ... */
  int32_t actor;    /* -1: none; it moves rows */
  const char *forward, *backward, *loss;
  int32_t in, n_in, out, n_out; /* ports[in ..], ports[out ..] */
} neo_rt_net_node;

typedef struct {
  int32_t from, from_port, to, to_port;
} neo_rt_net_edge;

typedef struct { /* what an update reads of the last instance: node returns `from` */
  const char *from, *to;
  int32_t node;
} neo_rt_net_seen;

typedef struct {
  const neo_rt_model *model;
  const char *update, *weight;
  int32_t seen, n_seen; /* seen[seen ..] */
} neo_rt_net_actor;

typedef struct {
  uint32_t abi;      /* NEO_RT_NET_ABI */
  const char *entry; /* the training entry */
  int32_t n_sizes;   /* run-time sizes of the model */
  int32_t n_nodes, n_edges, n_actors, n_ports, n_seen, n_inputs;
  const neo_rt_net_node *nodes; /* node 0 is the controller */
  const neo_rt_net_edge *edges;
  const neo_rt_net_actor *actors;
  const neo_rt_net_port *ports;
  const neo_rt_net_seen *seen;
  const char *const *inputs; /* the inputs of an instance, in the order in which they are given */
} neo_rt_net;

/* ------------------------------------------------------------------ simulated devices */

enum neo_rt_net_part { NEO_RT_NET_FORWARD, NEO_RT_NET_BACKWARD, NEO_RT_NET_UPDATE };

typedef struct { /* work of a device */
  int32_t node, part, device;
  uint64_t instance;     /* number of the instance, from 0 */
  const int64_t *sizes;  /* of the instance; null: an update at a barrier */
  double measured_s;     /* what its kernels took on this thread */
  double begin_s, end_s; /* in virtual time; not known when it is priced */
} neo_rt_net_work;

/* A network whose configuration names devices runs in virtual time: one thread runs its nodes in
 * the order in which these devices would, each one message at a time, backward first, then the
 * oldest instance. Results are those of asynchronous training on so many devices. */
typedef struct {
  int32_t devices; /* 0: one for each actor */
  int32_t any;     /* not 0: an idle device takes work of any actor, as threads do; else only of
                      actors that are placed on it */
  const int32_t *place; /* by actor: its device; null: actor modulo devices */
  /* Seconds that the work takes in virtual time; below 0, or null: as its kernels on this thread. */
  double (*price)(void *user, const neo_rt_net_work *w);
  /* Without a price, the work of a node and part takes, after so many calls, the median of their
   * times; 0: each call takes its own time. */
  int32_t calls;
  double latency_s, bytes_per_s; /* of messages between devices; bytes_per_s 0: without limit */
  void (*ran)(void *user, const neo_rt_net_work *w); /* null: nobody wants to know */
  void *user;
} neo_rt_net_devices;

typedef struct {
  double seconds; /* virtual time since the network was created */
  int32_t devices;
  const double *busy_s; /* by device; valid until the network runs again */
  /* By node: the mean number of updates of its actor between an instance's forward and backward. */
  const double *staleness;
} neo_rt_net_virtual;

/* ------------------------------------------------------------------ a network that runs */

typedef struct neo_rt_network neo_rt_network;

typedef struct {
  int32_t keys;                      /* instances that may be on their way at a time; 0: 1 */
  int32_t every;                     /* instances after which an actor updates; 0: 1 */
  uint64_t seed;                     /* seed of initial values and rand() */
  const neo_rt_net_devices *devices; /* null: real time */
} neo_rt_net_config;

typedef struct {
  const int64_t *sizes;      /* the model's run-time sizes, in the order of its table of sizes */
  const void *const *inputs; /* in the order of neo_rt_net.inputs; they are copied */
  double weight;             /* what the instance counts in a mean of gradients and of losses */
} neo_rt_net_instance;

/* On failure *out is null, and `error` (may be null) gets a message. */
NEO_RT_API neo_rt_status neo_rt_net_create(const neo_rt_net *net, const neo_rt_net_config *config,
                                           neo_rt_network **out, char *error, size_t error_bytes);
NEO_RT_API void neo_rt_net_destroy(neo_rt_network *n);
/* Sends an instance. If as many as there are keys are on their way, nodes run until one is back.
 * After a failure the network can only be destroyed. */
NEO_RT_API neo_rt_status neo_rt_net_send(neo_rt_network *n, const neo_rt_net_instance *x);
/* A barrier: nodes run until all instances are back, and what is left in the sums of gradients is
 * applied. *loss (may be null) is the weighted mean of the losses since the last barrier. */
NEO_RT_API neo_rt_status neo_rt_net_wait(neo_rt_network *n, double *loss);
/* The context of an actor, for its parameters, states and settings; null: there is no such actor.
 * Between barriers its values change with each update. */
NEO_RT_API neo_rt_ctx *neo_rt_net_context(neo_rt_network *n, int32_t actor);
/* What the simulated devices have done. NEO_RT_E_STATE: the network has none. */
NEO_RT_API neo_rt_status neo_rt_net_virtual_time(neo_rt_network *n, neo_rt_net_virtual *out);
/* Tries 1, 2, 4 ... keys, at most `most`, on n_instances in virtual time, each on a new network.
 * *keys gets the fewest whose throughput is within 3 per cent of the best, and per_second[k] (null,
 * or room for each power) the instances per second with 2^k keys. On failure `error` (may be null)
 * gets a message. */
NEO_RT_API neo_rt_status neo_rt_net_choose_keys(const neo_rt_net *net,
                                                const neo_rt_net_config *config,
                                                const neo_rt_net_instance *instances,
                                                int64_t n_instances, int32_t most, int32_t *keys,
                                                double *per_second, char *error,
                                                size_t error_bytes);
/* The last failure's message; "" if none. */
NEO_RT_API const char *neo_rt_net_error(const neo_rt_network *n);

#ifdef __cplusplus
}
#endif
#endif

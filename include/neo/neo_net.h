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

#define NEO_RT_NET_ABI 2u

/* ------------------------------------------------------------------ what a library has */

/* Tensors and entries are named as in the actor's model; null: there is none. */
typedef struct {
  const char *name; /* name of the tensor in the whole model; null: messages are empty */
  const char *value, *back;
  int32_t edge, gradient; /* gradient: the answer has a payload */
} neo_rt_net_port;

/* An output of `forward` that is an input of `backward`, of the same instance. If `from` is the
 * value of an out port, it is that port's payload, which thus lives until then. */
typedef struct {
  const char *from, *to;
} neo_rt_net_stash;

/* A node ends its work on an instance with `backward`, or with `forward` where it has no out ports.
 * `first` takes the place of this entry for the first instance after an update: it stores gradients
 * in the sums, where the other adds them. If there is a `first`, nothing else clears the sums.
 * `apply` takes the place where an update follows each instance, and updates too. */
typedef struct {
  const char *kind; /* "controller", "PPT", ... */
  int32_t actor;    /* -1: none; it moves rows */
  const char *forward, *backward, *first, *apply, *loss;
  const char *test; /* `forward` for an instance that is evaluated, and changes nothing */
  int32_t in, n_in, out, n_out; /* ports[in ..], ports[out ..] */
  int32_t stash, n_stash;       /* stashes[stash ..] */
} neo_rt_net_node;

typedef struct {
  int32_t from, from_port, to, to_port;
} neo_rt_net_edge;

typedef struct { /* a tensor of the last instance that an update reads: node returns `from` */
  const char *from, *to;
  int32_t node;
} neo_rt_net_seen;

/* A tensor of an actor that is one of n slices of the model's tensor `of`, along its first dimension.
 * The slices of a tensor are consecutive, in order. */
typedef struct {
  const char *name, *of;
  int32_t index, n;
} neo_rt_net_slice;

typedef struct {
  const neo_rt_model *model;
  const char *update, *weight;
  const char *count;    /* input of `apply`: updates so far, i64 */
  int32_t seen, n_seen; /* seen[seen ..] */
} neo_rt_net_actor;

typedef struct {
  uint32_t abi;      /* NEO_RT_NET_ABI */
  const char *entry; /* the training entry */
  int32_t n_sizes;   /* run-time sizes of the model */
  int32_t n_nodes, n_edges, n_actors, n_ports, n_seen, n_stashes, n_slices, n_inputs;
  const neo_rt_net_node *nodes; /* node 0 is the controller */
  const neo_rt_net_edge *edges;
  const neo_rt_net_actor *actors;
  const neo_rt_net_port *ports;
  const neo_rt_net_seen *seen;
  const neo_rt_net_stash *stashes;
  const neo_rt_net_slice *slices;
  const char *const *inputs; /* the inputs of an instance, in the order in which they are given */
} neo_rt_net;

/* ------------------------------------------------------------------ a network that runs */

typedef struct neo_rt_network neo_rt_network;

typedef struct {
  int32_t keys;  /* instances that may be on their way at a time; 0: 1 */
  int32_t every; /* instances after which an actor updates; 0: 1 */
  uint64_t seed; /* seed of initial values and rand() */
} neo_rt_net_config;

typedef struct {
  const int64_t *sizes;      /* the model's run-time sizes, in the order of its table of sizes */
  const void *const *inputs; /* in the order of neo_rt_net.inputs; they are copied */
  double weight;             /* weight of the instance in means of gradients and of losses */
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
/* The last failure's message; "" if none. */
NEO_RT_API const char *neo_rt_net_error(const neo_rt_network *n);

#ifdef __cplusplus
}
#endif
#endif

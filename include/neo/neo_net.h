/* neo_net.h: networks (libneort): a training step whose nodes exchange messages, after Gaunt,
 * Johnson and others, "AMPNet: asynchronous model-parallel training for dynamic neural networks".
 *
 * `neoc compile mlp.expr --network` makes a library with the constant mlp_net beside mlp_model.
 *
 *   extern const neo_rt_net mlp_net;
 *   neo_rt_network *n;
 *   neo_rt_net_create(&mlp_net, &(neo_rt_net_config){.keys = 4, .workers = 2}, &n, NULL, 0);
 *   for each batch:
 *     neo_rt_net_send(n, &(neo_rt_net_instance){.sizes = sizes, .inputs = inputs, .weight = 1});
 *   neo_rt_net_wait(n, &loss);                      // all are back, all updates are done
 *   neo_rt_net_save(n, "mlp.safetensors", NULL, 0); // synchronous training loads it
 *   neo_rt_net_destroy(n);
 *
 * With one key, and an update after each instance, this is the synchronous step. With more keys
 * the nodes work on several instances at a time, and an instance may meet newer weights on its
 * way back than on its way out.
 *
 * One thread at a time uses a network: it is the controller. Nodes run on that thread, or on
 * `workers` threads of the network. An actor owns parameters and what updates them, and one thread
 * at a time runs it, so what it computes is a function of the order of its messages. A run may
 * write this order to a file (`log`), and another run repeat it, bit for bit (`replay`).
 *
 * All memory for instances is allocated by neo_rt_net_create; an instance whose messages find no
 * room waits until others are back. */
#ifndef NEO_NET_H
#define NEO_NET_H
#include <neo/neo_rt.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NEO_RT_NET_ABI 3u

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

/* A node ends its work on an instance with `backward`, or with `forward` where it has no out
 * ports. `first` takes the place of this entry for the first instance after an update: it stores
 * gradients in the sums, where the other adds them. If there is a `first`, nothing else clears
 * the sums. `apply` takes the place where an update follows each instance, and updates too. */
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

/* A tensor of an actor that is one of n slices of the model's tensor `of`, along its first
 * dimension. The slices of a tensor are consecutive, in order. */
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
  const neo_rt_model *model; /* the whole model, with the synchronous step */
} neo_rt_net;

/* ------------------------------------------------------------------ simulated devices */

enum neo_rt_net_part { NEO_RT_NET_FORWARD, NEO_RT_NET_BACKWARD, NEO_RT_NET_UPDATE };

typedef struct { /* work of a device */
  int32_t node, part, device;
  uint64_t instance;     /* number of the instance, from 0 */
  const int64_t *sizes;  /* sizes of the instance; null: an update */
  double measured_s;     /* what its kernels took on this thread */
  double begin_s, end_s; /* in virtual time; not known when it is priced */
} neo_rt_net_work;

/* A network whose configuration names devices runs in virtual time: one thread runs its nodes in
 * the order in which these devices would, each one message at a time, backward first, then the
 * oldest instance. The results are those of asynchronous training on that number of devices. */
typedef struct {
  int32_t devices; /* 0: one for each actor */
  int32_t any;     /* not 0: an idle device takes work of any actor, as threads do; else only of
                      actors that are placed on it */
  const int32_t *place; /* by actor: its device; null: actor modulo devices */
  /* Seconds that the work takes in virtual time; below 0, or null: what its kernels took here. */
  double (*price)(void *user, const neo_rt_net_work *w);
  /* Without a price, the work of a node and part takes, after so many calls, the median of their
   * times; 0: each call takes its own time. */
  int32_t calls;
  double latency_s, bytes_per_s; /* link between devices; bytes_per_s 0: without limit */
  void (*ran)(void *user, const neo_rt_net_work *w); /* null: nobody wants to know */
  void *user;
} neo_rt_net_devices;

typedef struct {
  double seconds; /* virtual time since the network was created */
  int32_t devices;
  const double *busy_s; /* by device; valid until the network runs again */
} neo_rt_net_virtual;

/* ------------------------------------------------------------------ a network that runs */

typedef struct neo_rt_network neo_rt_network;

/* The worker that runs an actor. */
enum neo_rt_net_place {
  NEO_RT_NET_ACTORS, /* any idle worker takes any actor that has messages */
  /* Each actor has a worker, as in the paper: actors with parameters in turn, others by the
   * seed. */
  NEO_RT_NET_PINNED
};

/* The order of messages in the calling thread, without workers. */
enum neo_rt_net_order {
  NEO_RT_NET_AS_SENT, /* the oldest message first */
  NEO_RT_NET_SHUFFLED /* any, by order_seed: the same in each run */
};

typedef struct {
  int32_t keys;       /* instances that may be on their way at a time; 0: 1 */
  int32_t every;      /* instances after which an actor updates; 0: 1. A model whose `train` says
                         `every` takes 1 */
  uint64_t seed;      /* seed of initial values and rand() */
  int64_t every_rows; /* rows of instances instead of instances; 0: `every` */
  int32_t workers;    /* threads; 0: nodes run in the calling thread */
  int32_t place;      /* enum neo_rt_net_place */
  int32_t order;      /* enum neo_rt_net_order */
  uint64_t order_seed;
  const char *log; /* file that gets the order of messages; null: none */
  /* File of a log with the same network and instances: its order is repeated in the calling
   * thread, whatever `workers` and `order` are; null: none. */
  const char *replay;
  /* Bytes for the messages of instances on their way, at their sizes. 0: enough for all keys at
   * the largest sizes. Less than one instance may need is an error. */
  int64_t bytes;
  /* Seconds without any work, while instances are on their way, that are a failure: 0: 60; below
   * 0: any number is allowed. */
  double watch_s;
  int32_t allow_nan; /* not 0: a loss that is NaN is no failure */
  /* Simulated devices, on which nodes run in virtual time; without workers. null: real time. */
  const neo_rt_net_devices *devices;
} neo_rt_net_config;

typedef struct {
  const int64_t *sizes;      /* the model's run-time sizes, in the order of its table of sizes */
  const void *const *inputs; /* in the order of neo_rt_net.inputs; they are copied */
  double weight;             /* weight of the instance in means of gradients and of losses */
  int32_t test;              /* not 0: it is evaluated, and changes nothing */
  int64_t rows;              /* rows that it has, for every_rows; 0: 1 */
} neo_rt_net_instance;

/* On failure *out is null, and `error` (may be null) gets a message. */
NEO_RT_API neo_rt_status neo_rt_net_create(const neo_rt_net *net, const neo_rt_net_config *config,
                                           neo_rt_network **out, char *error, size_t error_bytes);
NEO_RT_API void neo_rt_net_destroy(neo_rt_network *n);
/* Sends an instance. If as many as there are keys are on their way, or its messages find no room,
 * waits until one is back. NEO_RT_E_INTERRUPTED after neo_rt_net_stop: it was not sent, and
 * neo_rt_net_wait is next. After any other failure the network can only be destroyed. A loss
 * that is NaN is a failure: the instance's gradients have not left the node of the loss. */
NEO_RT_API neo_rt_status neo_rt_net_send(neo_rt_network *n, const neo_rt_net_instance *x);
/* A barrier: nodes run until all instances are back, and what is left in the sums of gradients is
 * applied. *loss (may be null) is the weighted mean of the losses since the last barrier; NaN if
 * there was none. Checks that each message had one answer and that none is left. */
NEO_RT_API neo_rt_status neo_rt_net_wait(neo_rt_network *n, double *loss);
/* Stops a network: from another thread or a signal handler. Sending is refused from now on, until
 * neo_rt_net_wait has brought back the instances that are on their way; the values are then those
 * of a barrier, and may be saved. */
NEO_RT_API void neo_rt_net_stop(neo_rt_network *n);
/* The context of an actor, for its parameters, states and settings; null: there is no such actor.
 * Between barriers its values change with each update. */
NEO_RT_API neo_rt_ctx *neo_rt_net_context(neo_rt_network *n, int32_t actor);
/* The values of a context of the whole model (neo_rt_net.model), with its count of steps, become
 * those of the actors, or the other way round: parameters, states and settings. Tensors that no
 * actor has are not touched. Only at a barrier (NEO_RT_E_STATE). */
NEO_RT_API neo_rt_status neo_rt_net_take(neo_rt_network *n, neo_rt_ctx *from);
NEO_RT_API neo_rt_status neo_rt_net_give(neo_rt_network *n, neo_rt_ctx *to);
/* As neo_rt_save and neo_rt_load, under the names and shapes of the whole model: neo_rt_load reads
 * the file into a context, and this loads the file of a context. Only at a barrier. */
NEO_RT_API neo_rt_status neo_rt_net_save(neo_rt_network *n, const char *path,
                                         const neo_rt_pair *extra, int32_t n_extra);
NEO_RT_API neo_rt_status neo_rt_net_load(neo_rt_network *n, const char *path);
/* As neo_rt_set_scalar, in each actor that has the setting. Only at a barrier. */
NEO_RT_API neo_rt_status neo_rt_net_set_scalar(neo_rt_network *n, const char *name, double value);
/* Starts a trace: when each node worked on each message, and when actors updated, on each worker,
 * in the form of Chrome's trace viewer. A trace allocates. NULL ends it, and writes the file. Only
 * at a barrier. */
NEO_RT_API neo_rt_status neo_rt_net_trace(neo_rt_network *n, const char *path);
/* The last failure's message; "" if none. */
NEO_RT_API const char *neo_rt_net_error(const neo_rt_network *n);

/* Tells what the simulated devices have done. NEO_RT_E_STATE: the network has none. */
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
/* ------------------------------------------------------------------ statistics */

typedef struct {
  double seconds;          /* real time since the network was created or these were cleared */
  uint64_t sent, finished; /* instances */
  int32_t on_their_way;
  int32_t workers;           /* 1: the calling thread */
  int64_t bytes, most_bytes; /* payloads of instances on their way: now; at most */
  double loss, loss_weight;  /* mean of the losses since the last barrier, and its weight */
} neo_rt_net_total;

typedef struct {
  char name[64];              /* "2 (PPT of h)" */
  int32_t actor;              /* -1: none */
  uint64_t forward, backward; /* messages whose work has run */
  uint64_t updates;           /* its actor's */
  double staleness;    /* mean number of updates between an instance's forward and backward */
  uint64_t most_stale; /* the largest */
  double busy_s, utilisation; /* utilisation: of a thread, in [0, 1] */
  int32_t queue, most_queue;  /* messages that wait for the node's actor: now; at most */
} neo_rt_net_node_stats;

typedef struct {
  uint64_t messages, sleeps;
  double busy_s, utilisation;
} neo_rt_net_worker_stats;

/* Fills what is not null: `nodes` has room for net.n_nodes, `workers` for the larger of 1 and the
 * number of workers. clear: counts and times begin again from 0. From the thread that uses the
 * network; not only at barriers. */
NEO_RT_API void neo_rt_net_stats(neo_rt_network *n, neo_rt_net_total *total,
                                 neo_rt_net_node_stats *nodes, neo_rt_net_worker_stats *workers,
                                 int clear);

#ifdef __cplusplus
}
#endif
#endif

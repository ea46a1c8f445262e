/* The network of a model: its training step as nodes that exchange messages (Gaunt, Johnson and
 * others, "AMPNet: asynchronous model-parallel training for dynamic neural networks", 2017).
 *
 *     h = relu(X W)            controller --X--> PPT 1 --h--> Loss 2     forward
 *     loss = f(h V, Y)         controller --Y----------------> Loss 2
 *     train loss                         PPT 1 <--dh-- Loss 2            backward
 *
 * The definitions of the loss are cut into nodes before gradients are derived (cut.c). A cut ends
 * at tensors: each that one node makes and another reads is a port of both. A message carries it
 * forward along an edge, and the answer to the message carries its adjoint back. Each message has
 * one answer, which is empty if no gradient flows.
 *
 * An actor owns the parameters, optimizer states, gradient sums and counts that its nodes read, and
 * one of its nodes runs at a time. Nodes that share something that the step changes (tied weights,
 * a norm over gradients) are of one actor. An actor is a module, which is compiled like any other
 * (node.c). Its entries:
 *
 *     forward   of each node: in ports -> out ports, stash
 *     backward  of each node: in ports, stash, adjoints of the out ports -> adjoints of the in
 *               ports; adds gradients to sums (acc.W += dW, acc.weight += weight)
 *     update    one for the actor: the optimizer's definitions with acc.W/acc.weight as the
 *               gradient
 *     first     `backward` for the first message after an update: stores the gradients in the sums
 *     apply     `backward` and `update` in one, for an update after each message
 *     test      `forward` where `training` is false, for an instance that is only evaluated
 *
 * A node without readers has `forward` alone, which does both, as do its `first` and `apply`.
 * Actors of one node that trains have `first`; in others, `update` clears the sums. The stash is
 * what the backward pass reads of the forward pass (stash.c). `weight` is what an instance counts
 * in the mean of an interval. States that the model itself updates (running means) change with
 * `backward`, so that both entries of an instance see one value, as the synchronous step does.
 * rand() draws by the number of the instance, `step` in an optimizer counts the actor's updates.
 *
 * One key and an update after each instance give the results of the synchronous step (interp.h,
 * tests/network). States whose next values depend on themselves alone (counts of steps, of rows)
 * are copied into each actor. Parameters that `repeat` stacks are cut into slices, one for each
 * iteration, so that iterations are of several actors (slice.c). A recurrence stays inside of a
 * node, and so does a function with its own gradient. A loss that reads gradients is one node.
 *
 * Ownership: a network and its modules are of one arena, which must not outlive that of the model
 * it was cut from, as modules share names, diagnostics and data with it. One thread at a time. */
#pragma once
#include "ir/ir.h"

typedef enum {
#define X(kind, text, moves, meaning) NEO_NET_##kind,
#include "network/nodes.def"
#undef X
  NEO_NET_KINDS
} neo_net_kind;

enum { NEO_NET_NONE = UINT32_MAX };

/* A port. In the controller and in kinds that move rows there are no tensors of a module; `back`
 * then only says whether the answer has a payload, for which any tensor but 0 stands. */
typedef struct {
  uint32_t name;    /* name id of the model's tensor; 0: messages are empty and only start a node */
  neo_tensor value; /* in: the INPUT of the actor's module; out: what `forward` returns */
  neo_tensor back;  /* in: the adjoint that `backward` returns; out: the INPUT that takes it; 0: the
                        answer is empty */
  bool gradient;    /* the backward message carries a gradient */
  uint32_t edge;    /* the port's one edge */
} neo_net_port;
typedef NEO_VEC(neo_net_port) neo_net_ports;

typedef struct {       /* a value that an instance's forward pass leaves to its backward pass */
  neo_tensor from, to; /* `forward` returns it (it may be an out port's); INPUT of `backward` */
} neo_net_stash;

typedef struct {
  uint8_t kind;               /* neo_net_kind */
  uint32_t actor;             /* NEO_NET_NONE: of none */
  uint32_t forward, backward; /* entries of the actor's module; NEO_NET_NONE: nothing to compute */
  /* Entries in the place of `backward`, or of `forward` if that does both; NEO_NET_NONE: there is
   * none. A node with `first` always takes it, or `apply`, for the first message after an update:
   * no other entry clears the sums. */
  uint32_t first, apply;
  /* `forward` with `training` false and without a stash, for instances that change nothing;
   * NEO_NET_NONE: nothing to compute. */
  uint32_t test;
  neo_net_ports in, out;
  NEO_VEC(neo_net_stash) stash;
  neo_tensor loss;  /* LOSS: what `forward` returns, of the actor's module */
  double additions; /* price of the forward pass at usual sizes, in additions */
} neo_net_node;

typedef struct {   /* a value of an instance that the optimizer reads */
  neo_tensor of;   /* the tensor in the model that was cut; 0 after parsing */
  neo_tensor from; /* its copy that the node returns which computes it */
  neo_tensor to;   /* its copy that is an INPUT of `update` */
  uint32_t node;
} neo_net_seen;

typedef struct {
  neo_module *module;
  uint32_t update;   /* entry; NEO_NET_NONE: the actor trains nothing */
  neo_tensor weight; /* scalar INPUT of entries that add to sums, or begin at the loss; 0: none */
  neo_tensor count;  /* scalar INPUT of `apply`, the number of updates so far; 0: none */
  /* Not empty: an update follows each instance, as it reads that instance's values. */
  NEO_VEC(neo_net_seen) seen;
} neo_net_actor;

typedef struct
{ /* a tensor of an actor that is a slice of the model's, along its first dimension */
  uint32_t name, of; /* name ids: of the actor's tensor, of the model's */
  uint32_t index, n; /* its number, and the number of slices */
} neo_net_slice;

typedef struct { /* from an out port to an in port */
  uint32_t from, from_port, to, to_port;
} neo_net_edge;

typedef struct neo_network {
  neo_arena *arena;
  uint32_t name, entry;        /* name ids of the model and of its training entry */
  NEO_VEC(neo_net_node) nodes; /* node 0 is the controller; producers first, but for Bcast */
  NEO_VEC(neo_net_edge) edges;
  NEO_VEC(neo_net_actor) actors;
  NEO_VEC(neo_net_slice) slices; /* those of one tensor are consecutive, in order */
  const char *whole;             /* the reason why the loss is one node; null: it was cut */
} neo_network;

typedef struct {
  uint32_t nodes; /* light neighbours merge down to this number; 0: none merge */
} neo_net_options;

/* Cuts the training entry (a number of m->entries, of kind TRAIN) of a module whose gradients have
 * not been derived. The gradients of the actors' modules are requests too, which the passes of a
 * compilation, or the interpreter's caller, carry out. `m` stays as it is. (cut.c) */
neo_network *neo_network_cut(const neo_module *m, uint32_t entry, const neo_net_options *o,
                             neo_arena *a);

/* Adds the stash of each node, when the passes that derive gradients and merge equal definitions
 * have run on the actors' modules, in which requests for gradients are then done for good. One key
 * still gives the results of the synchronous step; several keys, other ones than without a stash,
 * as the backward pass no longer repeats the forward pass with the newest weights. (stash.c) */
void neo_network_stash(neo_network *n);

/* The text form, and back; parse(print(n)) prints the same. Null: diagnostics say why. (text.c,
 * parse.c) */
void neo_network_print(const neo_network *n, neo_str *out);
neo_network *neo_network_parse(neo_arena *a, neo_names *names, neo_diags *d, const char *path,
                               const char *text, size_t n);

/* Checks the invariants above, and each module; *why gets a text. The prover adds expressions to
 * the modules. (verify.c) */
neo_status neo_network_verify(const neo_network *n, neo_str *why) NEO_MUST_CHECK;

/* ---- tables (kinds.c) */
const char *neo_net_kind_text(neo_net_kind k);
bool neo_net_kind_moves(neo_net_kind k);
bool neo_net_kind_of_text(const char *text, neo_net_kind *k) NEO_MUST_CHECK;

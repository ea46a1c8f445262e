/* A cut in progress. Private to network. */
#pragma once
#include "network/network.h"

typedef struct { /* a gradient that the optimizer reads */
  neo_tensor wrt, out;
} neo_net_pair;

typedef struct { /* a value of an instance that the optimizer's new value `update` needs */
  neo_tensor tensor, update;
} neo_net_need;

/* The parts of a step (step.c). The forward pass: the definitions that the loss needs, the
 * updates of the model itself, and what the optimizer reads of an instance. The optimizer: what its
 * updates need behind that. */
typedef struct {
  const neo_module *m;
  neo_arena *a; /* scratch */
  neo_entry_rec entry;
  neo_tensor loss;
  NEO_VEC(neo_net_pair) pairs;
  neo_tensors own, optimizer; /* updates of the model, and of the optimizer */
  NEO_VEC(neo_net_need) needs;
  const char *whole; /* see neo_network */
  /* by tensor */
  bool *trained;  /* the gradient of a pair */
  bool *changes;  /* the step gives it a new value, or reads its gradient */
  bool *copied;   /* and each actor may have one of its own */
  bool *gradient; /* a gradient flows through it */
  bool *asked;    /* the result of a request that is not the step's */
  /* by definition: the forward pass */
  neo_def *defs; /* producers first */
  size_t n_defs;
  uint32_t *place; /* by definition: its number in `defs`, plus 1; 0: it is not in there */
} neo_net_step;

neo_net_step neo_net_step_of(const neo_module *m, uint32_t entry, neo_arena *scratch);
/* The tensors that a definition of the forward pass needs: its reads, the offsets of those, and the
 * arguments of a function with its own gradient whose result it is. */
neo_tensors neo_net_reads(const neo_net_step *s, neo_def d);
/* All definitions that a new value is computed of, producers first. */
size_t neo_net_update_defs(const neo_net_step *s, neo_tensor update, neo_def **out);

/* The definitions as classes, each of which becomes a node (cut.c). */
typedef struct {
  uint32_t n;        /* classes, producers first */
  uint32_t *of;      /* class of s->defs[k] */
  double *additions; /* by class */
  uint32_t loss;     /* the class with the loss */
} neo_net_classes;

/* The price of a definition in additions, and the elements of a tensor, at usual sizes.
 * (price.c) */
double neo_net_price(const neo_module *m, neo_def d);
double neo_net_elements(const neo_module *m, neo_tensor t);

/* The actor of each class, and of each tensor that changes (own.c). */
typedef struct {
  uint32_t n;
  uint32_t *of_class, *of_tensor; /* NEO_NET_NONE: none */
} neo_net_owners;
neo_net_owners neo_net_owners_of(const neo_net_step *s, const neo_net_classes *c);

/* Adds nodes, ports and edges, without modules; node k + 1 is class k. (ports.c) */
void neo_net_connect(const neo_net_step *s, const neo_net_classes *c, const neo_net_owners *o,
                     neo_network *n);
/* Adds the module of an actor, and its entries to the nodes. (node.c) */
void neo_net_make_actor(const neo_net_step *s, const neo_net_classes *c, const neo_net_owners *o,
                        uint32_t actor, neo_network *n);

/* ---- what is added to a module (define.c) */

/* out[i, ..] = value; the initial value, if `out` is a state. */
void neo_net_define(neo_module *m, neo_tensor out, neo_expr value);
/* The element of t whose indices are AXIS 0, AXIS 1, ... */
neo_expr neo_net_own(neo_module *m, neo_tensor t);
/* A new tensor, prefix.like, with the extents of `like`. */
neo_tensor neo_net_tensor_like(neo_module *m, neo_tensor like, neo_role role, neo_type type,
                               const char *prefix);
/* prefix.state = value, a new value of the state. */
neo_tensor neo_net_define_update(neo_module *m, neo_tensor state, const char *prefix,
                                 neo_expr value);
/* A new tensor without dimensions; its name is another one if that is taken. */
neo_tensor neo_net_scalar(neo_module *m, neo_role role, neo_type type, const char *name);

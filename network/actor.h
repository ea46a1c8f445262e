/* The module of an actor in progress. Private to network (node.c, update.c). */
#pragma once
#include "ir/import.h"
#include "network/parts.h"

/* A sum of a parameter's gradients, to which one node adds. Instances count in the node's own
 * weight: when an update is due, other nodes of the actor may have seen more of them, or fewer. */
typedef struct {
  size_t pair;
  neo_tensor sum, weight; /* acc.W, and the node's acc.weight */
} neo_net_sum;
typedef NEO_VEC(neo_net_sum) neo_net_sums;

typedef struct {
  const neo_net_step *s;
  const neo_net_classes *c;
  const neo_net_owners *o;
  neo_network *n;
  uint32_t actor;
  neo_module *m; /* the actor's */
  neo_import kept;
  neo_net_sums sums;  /* sums of all nodes */
  neo_net_sums last;  /* the same, with the gradients of one message and its weight */
  neo_tensors totals; /* acc.weight of each node with sums */
  neo_tensor weight;  /* the INPUT; 0: none */
  uint32_t n_nodes;   /* nodes of the actor */
  uint32_t nodes;     /* nodes that have their entries */
} neo_net_maker;

typedef struct { /* a node of the actor */
  neo_net_maker *k;
  uint32_t class, number; /* numbers of the class and of the node */
  neo_import x;
  neo_tensor total;     /* its acc.weight; 0: it adds to no sum */
  neo_tensors wrt, out; /* the gradient request's tensors; those of ports come first */
  neo_tensors results;  /* the backward pass's results */
  neo_tensors updates;  /* the model's own updates */
  neo_tensors sums;     /* additions to sums */
  neo_tensors firsts;   /* the same for the first message after an update: sums begin anew */
} neo_net_part;

static inline neo_net_node *neo_net_node_of(const neo_net_part *p) {
  return &p->k->n->nodes.at[p->number];
}

/* Adds an entry; returns its number. (entry.c) */
uint32_t neo_net_add_entry(neo_net_maker *k, neo_entry_kind kind, const char *name,
                           neo_list outputs, neo_list updates);
/* The tensors as a list of the actor's module. (entry.c) */
neo_list neo_net_list(neo_net_maker *k, const neo_tensors *from);

/* Adds the entry `update`. (update.c) */
void neo_net_make_update(neo_net_maker *k);
/* Appends the updates of an optimizer that takes the gradients of one message, divided by its
 * weight. False: the optimizer draws random numbers, so there is no such entry. (update.c) */
bool neo_net_apply(const neo_net_part *p, neo_tensors *updates) NEO_MUST_CHECK;

/* The reference interpreter of a network: messages one after the other, entries by
 * ir/interp/interp.h. The actors' modules have no requests for gradients left (the caller has run
 * the passes that carry them out).
 *
 *   neo_net_interp *p = neo_net_interp_new(a, network, seed);
 *   neo_net_interp_send(p, &instance, &why);      // once for each key
 *   neo_net_interp_drain(p, &why);                // all answers are back: a barrier
 *   neo_net_interp_kept(p, "h.W");
 *
 * Sending and draining one instance at a time, with an update after each, is the synchronous
 * step. */
#pragma once
#include "ir/interp/interp.h"
#include "network/network.h"

typedef struct {
  uint64_t number;      /* rand() draws by it */
  double weight;        /* weight of the instance in means of gradients */
  bool test;            /* it is evaluated, and changes nothing */
  const int64_t *sizes; /* by id of a size, as neo_interp_new */
  /* The elements of the input with this name; until the instance is back. */
  const neo_values *(*input)(void *ctx, uint32_t name);
  void *ctx;
} neo_net_instance;

typedef struct neo_net_interp neo_net_interp;
/* All actors have the initial values that the model has with this seed. `sizes` are those of some
 * instance. */
neo_net_interp *neo_net_interp_new(neo_arena *a, const neo_network *n, const int64_t *sizes,
                                   uint64_t seed);
/* The number of instances after which actors update, from now on; 1 at first. */
void neo_net_interp_every(neo_net_interp *p, uint32_t instances);
/* From now on actors update by their entry `update`, never by `apply`; false at first. */
void neo_net_interp_separate(neo_net_interp *p, bool separate);
/* From now on the next message is any of those on their way, by this seed; 0, as at first: the
 * oldest. */
void neo_net_interp_order(neo_net_interp *p, uint64_t seed);
/* Sends the inputs of an instance, without delivering them. */
void neo_net_interp_send(neo_net_interp *p, const neo_net_instance *x);
/* Delivers messages until none is on its way. NEO_RANGE and NEO_STATE are as neo_interp_run;
 * NEO_INTERNAL: an answer is missing. */
neo_status neo_net_interp_deliver(neo_net_interp *p, neo_str *why) NEO_MUST_CHECK;
/* The same, and carries out the updates that are left: a barrier. */
neo_status neo_net_interp_drain(neo_net_interp *p, neo_str *why) NEO_MUST_CHECK;
/* The loss of the k-th instance since the interpreter was made. Null: it is not known yet. */
const neo_values *neo_net_interp_loss(const neo_net_interp *p, size_t k);
/* The elements of a parameter, state or setting of the model, where the actor that changes it has
 * them, or all of its slices together; null: no actor has it. */
const neo_values *neo_net_interp_kept(neo_net_interp *p, const char *name);
/* Gives it these elements, in each actor that has it. */
void neo_net_interp_give(neo_net_interp *p, const char *name, const neo_value *x);

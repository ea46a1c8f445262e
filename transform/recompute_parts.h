/* Private to the pass recompute (recompute.c says what it does).
 *
 *   recompute_chain.c    the forward pass of an entry, in order, with prices
 *   recompute_cuts.c     where it is cut
 *   recompute_order.c    when a segment is computed again */
#pragma once
#include "base/machine.h"
#include "ir/prove.h"
#include "transform/recompute_cuts.h"

typedef struct { /* of a tensor */
  uint32_t
      made; /* definitions of the forward pass up to its last piece; 0: nothing there makes it, or it
                    is there for another reason, as a result of the entry is */
  bool read;    /* by the backward pass */
  bool saved;   /* and it is not made of others there, element by element */
  bool fixed;   /* it is not made again */
  bool kept;    /* what is made again reads it */
  double bytes; /* at the largest sizes */
} recompute_tensor;

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  const neo_profile *profile;
  uint32_t entry;         /* place in m->entries */
  neo_tensors roots;      /* its results and updates */
  const neo_def *forward; /* what the entry's first result needs, producers first */
  uint32_t n_forward;
  const neo_def *order; /* what it needs, producers first */
  uint32_t n_order;
  NEO_VEC(neo_def) copies;  /* so far */
  bool *is_forward;         /* by definition */
  bool *recurs;             /* by definition */
  recompute_tensor *tensor; /* by id, of those that were there before copies */
  uint32_t n_tensors;
} recompute;

/* Finds the passes of the entry, and what is known of their tensors. False: it has no backward pass.
 * (recompute_chain.c) */
bool recompute_find(recompute *r, uint32_t entry);
/* The forward pass for recompute_cut. */
recompute_chain recompute_chain_of(recompute *r);

/* The tensor after which copies of forward tensors are computed: it is made in the backward pass before
 * these are read first, and is none of what needs them. 0: some entry that needs such a copy does not
 * need it. `again` is by tensor: the backward pass will read copies of these. (recompute_order.c) */
neo_tensor recompute_after(recompute *r, const bool *again);

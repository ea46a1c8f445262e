/* For recompute.c: the parts of the pass recompute, whose head is in recompute.c. Private to
 * transform.
 *
 *   chain.c    the forward pass of an entry, in order, with prices
 *   cuts.c     its cuts
 *   order.c    when a segment is recomputed */
#pragma once
#include "base/machine.h"
#include "ir/prove/prove.h"
#include "transform/recompute/cuts.h"

typedef struct { /* facts of a tensor */
  /* definitions of the forward pass up to its last piece; 0: not of the forward pass, or stored
   * for another reason, such as a result of the entry */
  uint32_t made;
  bool read;    /* the backward pass reads it */
  bool saved;   /* read there, and not elementwise over other saved ones */
  bool fixed;   /* never recomputed */
  bool kept;    /* recomputed definitions read it */
  double bytes; /* at the largest sizes */
} recompute_tensor;

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  const neo_profile *profile;
  uint32_t entry;         /* index in m->entries */
  neo_tensors roots;      /* results and updates */
  const neo_def *forward; /* definitions of the entry's first result, producers first */
  uint32_t n_forward;
  const neo_def *order; /* definitions of the entry, producers first */
  uint32_t n_order;
  NEO_VEC(neo_def) copies;  /* copies so far */
  bool *is_forward;         /* by definition */
  bool *recurs;             /* by definition */
  recompute_tensor *tensor; /* by id, without tensors of copies */
  uint32_t n_tensors;
} recompute;

/* Finds the passes of the entry and facts of their tensors. False: it has no backward pass.
 * (chain.c) */
bool recompute_find(recompute *r, uint32_t entry);
/* The forward pass for recompute_cut. */
recompute_chain recompute_chain_of(recompute *r);

/* The tensor after which copies of forward tensors are computed: of the backward pass, before
 * the first reader of a copy, and independent of all readers. 0: some entry that needs such a
 * copy does not need the tensor. `again`, by tensor: the backward pass will read a copy.
 * (order.c) */
neo_tensor recompute_after(recompute *r, const bool *again);

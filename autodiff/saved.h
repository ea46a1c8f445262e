/* Saved activations: the tensors of the forward pass that the gradients read, for `explain`. They
 * are listed after autodiff and before fusion, which decides which of them are saved and which
 * are computed again. */
#pragma once
#include "ir/ir.h"

typedef struct {
  neo_tensor tensor;
  bool made;            /* by the forward pass; else it is given: an input, a parameter ... */
  const neo_tensor *by; /* what is computed from it in the backward pass, in order of ids */
  size_t n_by;
} neo_saved;

/* For a request that was carried out: the tensors that definitions of the backward pass (those that
 * its outs need and its y does not) read and that y needs, in order of ids. In the arena. */
const neo_saved *neo_gradient_reads(neo_module *m, const neo_grad_rec *request, neo_arena *a,
                                    size_t *n);

/* For tools/neoc: saved activations, the tensors of the forward pass that the gradients read. The
 * list is taken after autodiff and before fusion, which decides which of them are saved and which
 * are computed again. */
#pragma once
#include "ir/ir.h"

typedef struct {
  neo_tensor tensor;
  bool made;            /* computed by the forward pass; false: given, as an input or a parameter
                           is */
  const neo_tensor *by; /* tensors of the backward pass that read it, in order of ids */
  size_t n_by;
} neo_saved;

/* The tensors that y needs and that the backward pass reads, in order of ids, for a request that
 * was carried out. The backward pass are the definitions that its outs need and its y does not. In
 * the arena. */
const neo_saved *neo_gradient_reads(neo_module *m, const neo_grad_rec *request, neo_arena *a,
                                    size_t *n);

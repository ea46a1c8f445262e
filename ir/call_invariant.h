/* Call-invariant tensors have the same elements in each call, until the caller or an update changes
 * a parameter. A definition is call-invariant if it follows from constants, and from parameters,
 * states and settings that the entries in question do not update, and uses no random numbers,
 * run-time sizes, `step` or `training`. The pieces of a tensor are all call-invariant, or none
 * is. */
#pragma once
#include "ir/ir.h"

typedef struct {
  const neo_module *m;
  bool *def;       /* by id: whether the definition is call-invariant */
  neo_map updated; /* the tensors that the entries update */
} neo_call_invariants;

/* Finds the call-invariant definitions among the n definitions (producers first) that some entries
 * need. included[k]: the k-th entry is one of these. The result is in arena a. */
neo_call_invariants neo_call_invariants_of(neo_module *m, const neo_def *defs, size_t n,
                                           const bool *included, neo_arena *a);
/* Whether the tensor's elements are the same in each call of the entries. */
bool neo_tensor_is_call_invariant(const neo_call_invariants *l, neo_tensor t);

/* Call-invariant tensors have the same elements in each call until the caller, or an update, changes a
 * parameter. A definition is call-invariant if it follows from constants, and from parameters, states
 * and settings that the entries in question do not update, without random numbers, run-time sizes,
 * `step` and `training`. All pieces of a tensor are, or none is. */
#pragma once
#include "ir/ir.h"

typedef struct {
  const neo_module *m;
  bool *def;       /* by id */
  neo_map updated; /* tensors of which the entries make new versions */
} neo_call_invariants;

/* Finds them among the n definitions (producers first) that some entries need (included[k]: the k-th is
 * one of these). In arena a. */
neo_call_invariants neo_call_invariants_of(neo_module *m, const neo_def *defs, size_t n,
                                           const bool *included, neo_arena *a);
bool neo_tensor_is_call_invariant(const neo_call_invariants *l, neo_tensor t);

/* For branches.c: the parts of the pass `branches`. Private to transform. */
#pragma once
#include "ir/needed.h"
#include "ir/prove/prove.h"

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  const bool *always; /* by tensor: needed whatever holds */
  neo_def *order;     /* needed definitions, producers first */
  size_t n;
  const neo_conditions *of; /* by definition, with conditions on iterations; null: no conditions */
  const uint64_t *loops;    /* by definition: neo_loop_axes */
  neo_conditions holds;     /* conditions of the current definition */
} branches;

/* Readers of a tensor that is zero unless conditions hold ask for these conditions, in a loop for
 * those of their iteration (zeros.c). A sum of tensors of which at most one is not zero
 * becomes a select:
 *
 *     select(k[] == 0, a[n], 0) + select(k[] == 1, b[n], 0)
 *     ->  select(k[] == 0, a[n], select(k[] == 1, b[n], 0)) */
void branches_ask_for_zeros(branches *b);

/* Readers of a branch's tensor read the result where the branch was taken, so that one tensor is
 * stored for all branches of a recurrence (results.c):
 *
 *     z[t, n] = select(k[t] == 0, a[t, n], b[t, n])
 *     d[t, n] = select(k[t] == 0, a[t, n]*g[t, n], 0)
 *     ->  d[t, n] = select(k[t] == 0, z[t, n]*g[t, n], 0) */
void branches_read_results(branches *b);

/* Each branch of a result gets its tensor if one of them is more than elementwise (arms.c):
 *
 *     z[n] = select(k[] == 0, product[n], 2*x[n])
 *     ->  case.z[n] = 2*x[n],  z[n] = select(k[] == 0, product[n], case.z[n]) */
void branches_make_arms(branches *b);

/* Sums over iterations skip those in which a factor is zero (zeros.c). It runs last: all
 * iterations of such a factor may run at once, so the factor itself stays zero where nobody needs
 * it. */
void branches_ask_in_sums(branches *b);

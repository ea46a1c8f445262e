/* Private to transform: the parts of the pass `branches`. */
#pragma once
#include "ir/needed.h"
#include "ir/prove.h"

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  const bool *always; /* by tensor: needed whatever holds */
  neo_def *order;     /* of the definitions that are needed, producers first */
  size_t n;
  const neo_conditions *of; /* by definition, in iterations, too; null: there are no conditions */
  const uint64_t *loops;    /* by definition: neo_loop_axes */
  neo_conditions holds;     /* of the definition at hand */
} branches;

/* Who reads what is zero but where conditions hold asks for these (branch_zeros.c), in a loop those of its iteration. Of terms
 * that are never both other than zero the sum is the one that is not:
 *
 *     select(k[] == 0, a[n], 0) + select(k[] == 1, b[n], 0)
 *     ->  select(k[] == 0, a[n], select(k[] == 1, b[n], 0)) */
void branches_ask_for_zeros(branches *b);

/* What a branch of a recurrence made is its result where it was taken, so that who comes after reads that, and one tensor is
 * kept for all branches (branch_results.c):
 *
 *     z[t, n] = select(k[t] == 0, a[t, n], b[t, n]),   d[t, n] = select(k[t] == 0, a[t, n]*g[t, n], 0)
 *     ->  d[t, n] = select(k[t] == 0, z[t, n]*g[t, n], 0) */
void branches_read_results(branches *b);

/* A result that is chosen has a tensor for each branch, if one of them is more than elementwise
 * (branch_arms.c):
 *
 *     z[n] = select(k[] == 0, product[n], 2*x[n])
 *     ->  case.z[n] = 2*x[n],  z[n] = select(k[] == 0, product[n], case.z[n]) */
void branches_make_arms(branches *b);

/* A sum over iterations leaves out those in which a factor is zero (branch_zeros.c). It comes last: the factor is still
 * zero where nobody needs it, as all iterations of it may run at once. */
void branches_ask_in_sums(branches *b);

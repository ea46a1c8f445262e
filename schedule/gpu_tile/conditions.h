/* Conditions of a sum of products whose operands are copied into scratch or shared memory. A copy
 * writes zeros where the part of the condition that its own axes decide does not hold.
 *
 *   sum[p: 0..2, k | p < 14 - z] D[n, z + p, k] * F[k, c, 2 - 2*p]
 *
 * The copy of D has zeros from p = 14 - z on, where D ends. This is an edge, and products need no
 * test for it. A condition that excludes elements which exist is a mask: an excluded element may be
 * NaN, so either all operands are zero there or each product is tested. */
#pragma once
#include "schedule/contract.h"

typedef struct { /* facts that hold where the operands are read */
  neo_module *m;
  neo_prover *p;
  const neo_form *f;
  neo_facts facts;
} neo_condition_context;

/* Adds to *cond the conjuncts of `where` that only use copy_axes. True: these are all conjuncts. */
bool neo_condition_take(neo_module *m, const neo_form *f, neo_expr where, uint64_t copy_axes,
                        neo_expr *cond);
/* Are all loads of e inside their tensors where cond holds (0: everywhere)? Selects and conditions
 * inside of e are taken into account. */
bool neo_condition_guards(const neo_condition_context *x, neo_expr e, neo_expr cond);
/* The conjuncts that copies do not replace, which each product tests; 0: none. copy_axes[k]: axes
 * that the copy of factor k knows; 0: the factor is not copied. */
neo_expr neo_condition_left(const neo_condition_context *x, const neo_contraction *c,
                            neo_expr where, const uint64_t *copy_axes);

/* The axes that the copy of a factor knows where a block has these rows and columns: all axes
 * except those of the other operand. */
uint64_t neo_tile_copy_axes(const neo_factor *x, uint64_t rows, uint64_t columns);
/* Do copies replace the whole condition of a contraction, in blocks of these rows and columns? True
 * where there is no condition. */
bool neo_tile_copies_conditions(neo_module *m, const neo_form *f, const neo_contraction *c,
                                uint64_t rows, uint64_t columns);

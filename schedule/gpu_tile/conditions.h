/* Conditions of a sum of products whose operands are copied into scratch or shared memory, zero
 * where what a copy can look at of the condition does not hold.
 *
 *   sum[p: 0..2, k | p < 14 - z] D[n, z + p, k] * F[k, c, 2 - 2*p]
 *
 * The copy of D has zeros from p = 14 - z on, where D ends: an edge, which needs no test at the
 * products. A condition that excludes values which are there is a mask: what it excludes may be
 * NaN, so all operands have to be zero there, or each product is tested. */
#ifndef NEO_SCHEDULE_CONDITIONS_H
#define NEO_SCHEDULE_CONDITIONS_H
#include "schedule/contract.h"

typedef struct { /* what is known where the operands are read */
  neo_module *m;
  neo_prover *p;
  const neo_form *f;
  neo_facts facts;
} neo_condition_context;

/* Conjuncts of `where` whose axes are all in reach go into *cond; true if all conjuncts do. */
bool neo_condition_take(neo_module *m, const neo_form *f, neo_expr where, uint64_t reach,
                        neo_expr *cond);
/* Are all loads of e inside their tensors where cond holds (0: everywhere)? Selects and conditions
 * inside e count. */
bool neo_condition_guards(const neo_condition_context *x, neo_expr e, neo_expr cond);
/* Conjuncts that copies do not make up for, to be tested at each product; 0: none. reach[k]: axes
 * that the copy of factor k can look at; 0: it is not copied. */
neo_expr neo_condition_left(const neo_condition_context *x, const neo_contraction *c,
                            neo_expr where, const uint64_t *reach);

/* What the copy of a factor can look at where a block has these rows and columns: all axes but
 * those of the other operand. */
uint64_t neo_tile_reach(const neo_factor *x, uint64_t rows, uint64_t columns);
/* Do copies make up for the whole condition of a contraction, in blocks of these rows and columns?
 * So it is without one. */
bool neo_tile_copies_conditions(neo_module *m, const neo_form *f, const neo_contraction *c,
                                uint64_t rows, uint64_t columns);

#endif

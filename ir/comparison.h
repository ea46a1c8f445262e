/* Comparisons of integers as comparisons of a linear form with 0. */
#pragma once
#include "ir/ir.h"

typedef enum { NEO_AT_LEAST_0, NEO_EQUALS_0, NEO_DIFFERS_FROM_0, NEO_NO_COMPARISON } neo_comparison;

/* Writes a comparison of integers, or the negation of one, as a comparison of *f with 0. */
neo_comparison neo_comparison_of(neo_module *m, neo_expr e, neo_linear *f);

/* Appends the conjuncts of e (0: none) to at[*n], ... False: they are more than `most`. */
bool neo_conjuncts_of(const neo_module *m, neo_expr e, neo_expr *at, uint32_t *n,
                      uint32_t most) NEO_MUST_CHECK;
/* The conjunction of all at[k] that are not 0; 0 if there are none. */
neo_expr neo_conjunction(neo_module *m, const neo_expr *at, uint32_t n);

/* Conditions as what they say of a linear form. */
#pragma once
#include "ir/ir.h"

typedef enum { NEO_AT_LEAST_0, NEO_EQUALS_0, NEO_DIFFERS_FROM_0, NEO_NO_COMPARISON } neo_comparison;

/* A comparison of integers, or its negation, as one of *f with 0. */
neo_comparison neo_comparison_of(neo_module *m, neo_expr e, neo_linear *f);

/* Appends the conjuncts of e (0: none) to at[*n], ... False: there are more than `most`. */
bool neo_conjuncts_of(const neo_module *m, neo_expr e, neo_expr *at, uint32_t *n,
                      uint32_t most) NEO_MUST_CHECK;
/* The conjunction of those that are not 0; 0: there are none. */
neo_expr neo_conjunction(neo_module *m, const neo_expr *at, uint32_t n);

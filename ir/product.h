/* Products as lists of factors. */
#pragma once
#include "ir/ir.h"

/* Appends the factors of e to at[*n], at[*n + 1], ..., from left to right: those of both operands
 * if e is a multiplication, else e itself. False: the list would be longer than `most`. */
bool neo_product_factors(const neo_module *m, neo_expr e, neo_expr *at, uint32_t *n,
                         uint32_t most) NEO_MUST_CHECK;

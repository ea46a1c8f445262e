/* Recurrences whose rounds run along the first dimension of what they make. */
#pragma once
#include "ir/order.h"

/* Lays the results of a loop's members so that a round's elements lie one behind the other:
 *
 *     L[i, j] = f(S[i, j], sum[k: j] L[i, k]*L[j, k])                      rounds along j
 *     ->
 *     L[j, i] = f(S[j, i], sum[k: j] L[k, i]*L[k, j])
 *
 * So lanes go along i, and what a round reads and writes are not lines that lie a row apart, which caches
 * keep few of. Temporary tensors that the members read in rows of a round are laid like them; a result that
 * users see gets a definition that copies it. `n` members: the loop's, and definitions that were added. */
void neo_rounds_outermost(neo_module *m, neo_arena *a, const neo_order_member *member, size_t n);

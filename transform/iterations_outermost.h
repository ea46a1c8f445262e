/* Layout of recurrences: the dimension of the iterations becomes the outermost. */
#pragma once
#include "ir/order.h"

/* Permutes the results of a loop's members so that the elements of an iteration are contiguous:
 *
 *     L[i, j] = f(S[i, j], sum[k: j] L[i, k]*L[j, k])                      iterations along j
 *     ->
 *     L[j, i] = f(S[j, i], sum[k: j] L[k, i]*L[k, j])
 *
 * Lanes then run along i, and an iteration does not touch a cache line in each of many rows.
 * Temporaries that members read by rows of an iteration are permuted too; a result that users see
 * gets a definition that copies it. `n` members: the loop's, and added definitions. */
void neo_iterations_outermost(neo_module *m, neo_arena *a, const neo_order_member *member,
                              size_t n);

/* Sums of products inside of sums: what reads S[i,j] = sum[d] Q[i,d]*K[j,d] in a sum over j may
 * compute it again, block by block, so that S is nowhere in memory:
 *
 *   Z[i] = logsumexp[j] S[i,j]                          its rows i are reduced
 *   Y[i,e] = sum[j] exp(S[i,j] - Z[i]) * V[j,e]         its elements are factors of a product
 *
 * So attention is two kernels over Q, K, V and Z; its gradients, which are sums over j or i of
 * products with what follows from S and from another inner sum (dY times V), are the same form.
 * What stands between the sums may be anything: masks, scales, random numbers are
 * expressions, and the sum around may have a condition, or ranges that depend on rows. Nothing is
 * rescaled or reassociated but sums, so results are those of the definitions.
 *
 *   search/nested.c               which sums are nested: all readers of a sum compute it, or none
 *   form.h                        inner sums are stages over the points of other stages
 *   nested.c                      which axes are rows, columns, batches: here
 *   schedule/gpu_nested/nested.c  how large blocks are
 *   codegen/lower/gpu_nested/nested.c    blocks of threads; nested_*.c: rows, copies, ranges, warps
 *   codegen/lower/loops/stages.c  a thread for each point: any form, slow */
#pragma once
#include "fusion/form.h"

enum { NEO_NESTED_FACTORS = 8, NEO_NESTED_SUMS = 4 };

typedef struct {
  uint32_t n;
  neo_expr at[NEO_NESTED_FACTORS];
} neo_nested_factors;

typedef struct { /* an inner sum: factors that use no own axis of its host, and those that do */
  uint32_t stage;
  neo_nested_factors rows, steps;
} neo_nested_sum;

typedef struct {
  uint64_t rows, columns, batches; /* shared axes, as bits. columns: 0 where rows are reduced */
  uint32_t n_sums;
  neo_nested_sum sum[NEO_NESTED_SUMS];
  /* With columns: the stage of the product; its factors on both sides, of which those of rows alone
   * may have inner sums. */
  uint32_t host;
  neo_nested_factors of_rows, of_columns;
} neo_nested;

/* Can blocks of rows, by blocks of the steps that go over them, compute the form? Then own axes
 * count from 0, to extents that depend on no axes; inner sums have no condition, and one factor at
 * least for rows and one for steps. Found once; *out is the caller's own. */
bool neo_nested_of(neo_module *m, const neo_form *f, neo_nested *out);

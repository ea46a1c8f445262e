/* Nested reductions: a sum over j that reads S[i,j] = sum[d] Q[i,d]*K[j,d] may compute it again,
 * block by block, so that S is not stored:
 *
 *   Z[i] = logsumexp[j] S[i,j]                          its rows i are reduced
 *   Y[i,e] = sum[j] exp(S[i,j] - Z[i]) * V[j,e]         its elements are factors of a product
 *
 * Attention is thus two kernels over Q, K, V and Z; its gradients, sums over j or i of products
 * with values of S and of another inner sum (dY times V), have the same form. Any expressions may
 * be between the sums: masks, scales, random numbers; the outer sum may have a condition, or ranges
 * that depend on rows. Only sums are rescaled or reassociated, so results are those of the
 * definitions.
 *
 *   search/nested.c               choice of inner sums: all readers of a sum compute it, or none
 *   form.h                        inner sums are stages over the points of other stages
 *   nested.c                      rows, columns and batches among the axes: here
 *   schedule/gpu_nested/nested.c  sizes of blocks
 *   codegen/lower/gpu_nested/nested.c    blocks of threads; nested_*.c: rows, copies, ranges, warps
 *   codegen/lower/loops/stages.c  a thread for each point: any form, slow */
#pragma once
#include "fusion/form.h"

enum { NEO_NESTED_FACTORS = 8, NEO_NESTED_SUMS = 4 };

typedef struct {
  uint32_t n;
  neo_expr at[NEO_NESTED_FACTORS];
} neo_nested_factors;

typedef struct { /* an inner sum: factors without own axes of its host, and with them */
  uint32_t stage;
  neo_nested_factors rows, steps;
} neo_nested_sum;

typedef struct {
  uint64_t rows, columns, batches; /* shared axes, as bits. columns: 0 where rows are reduced */
  uint32_t n_sums;
  neo_nested_sum sum[NEO_NESTED_SUMS];
  /* With columns: the stage of the product; its factors on both sides. Only those of rows may have
   * inner sums. */
  uint32_t host;
  neo_nested_factors of_rows, of_columns;
} neo_nested;

/* Can blocks of rows, by blocks of the steps over them, compute the form? Own axes then count from
 * 0 to invariant extents; inner sums have no condition, and at least one factor for rows and one
 * for steps. Cached; *out is the caller's. */
bool neo_nested_of(neo_module *m, const neo_form *f, neo_nested *out);

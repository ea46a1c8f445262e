/* Sums of runs: a sum along r, summed for each run of `length` consecutive points on its own.
 *
 *     S[c] = sum[r: R] f(r, c)
 *     ->
 *     part[s, c] = sum[i: length] f(length*s + i, c),      S[c] = sum[s] part[s, c]
 *
 * transform/rfactor_columns.c writes such definitions; fusion/search/columns.c finds them and computes part with
 * what else there is to do at each r. */
#pragma once
#include "ir/ir.h"

typedef struct {
  uint32_t at;     /* the output axis s; the reduction axis i comes after the output axes */
  int64_t length;  /* points of a run; the last may be shorter */
  neo_expr extent; /* R */
  neo_expr body;   /* f over the definition's output axes, with r in the place of s */
} neo_row_block;

/* length*s + i */
neo_expr neo_row_block_point(neo_module *m, int64_t length, neo_expr s, neo_expr i);
/* Points of run s of R. */
neo_expr neo_row_block_points(neo_module *m, int64_t length, int64_t extent, neo_expr s);
/* Is the definition a sum of runs, for some output axis but the last? */
bool neo_row_block_of(neo_module *m, neo_def d, neo_row_block *out) NEO_MUST_CHECK;

/* Two-pass sums: a sum along r is computed per run of `length` consecutive points, then over the
 * runs.
 *
 *     S[c] = sum[r: R] f(r, c)
 *     ->
 *     part[s, c] = sum[i: length] f(length*s + i, c),      S[c] = sum[s] part[s, c]
 *
 * transform/rfactor_columns.c writes such definitions; fusion/search/columns.c finds them, and
 * computes part together with other definitions along r. */
#pragma once
#include "ir/ir.h"

typedef struct {
  uint32_t at;     /* the output axis s; the reduction axis i comes after the output axes */
  int64_t length;  /* points of a run; the last run may be shorter */
  neo_expr extent; /* R */
  neo_expr body;   /* f over the definition's output axes, with r instead of s */
} neo_row_block;

/* length*s + i */
neo_expr neo_row_block_point(neo_module *m, int64_t length, neo_expr s, neo_expr i);
/* The number of points of run s. */
neo_expr neo_row_block_points(neo_module *m, int64_t length, int64_t extent, neo_expr s);
/* Whether the definition is a sum per run, for an output axis other than the last. */
bool neo_row_block_of(neo_module *m, neo_def d, neo_row_block *out) NEO_MUST_CHECK;

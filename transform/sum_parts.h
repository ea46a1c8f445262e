/* Sums of products as several, whose index sets make up that of the whole (index-set splitting: M. Griebl,
 * P. Feautrier, C. Lengauer, "Index set splitting"). Private to transform. */
#pragma once
#include "ir/prove.h"

enum { NEO_SUM_AXES = 64 };

typedef struct {
  neo_module *m;
  neo_prover *prover;
  neo_def id;
  neo_def_rec r;
  neo_axis_rec axis[NEO_SUM_AXES];
  uint32_t n; /* axes */
} neo_whole_sum;

/* A part: its axes have the positions of the whole's, and count from 0. */
typedef struct {
  neo_axis_rec axis[NEO_SUM_AXES];
  neo_expr where, body;
} neo_sum_part;

/* False: the definition is no sum of a single value. */
bool neo_whole_sum_of(neo_module *m, neo_prover *prover, neo_def id, neo_whole_sum *out);
/* Do two factors lack an output axis each, that the other one has? */
bool neo_sum_is_product(const neo_whole_sum *s);
/* Do the ranges of its axes depend on no other axes? */
bool neo_sum_is_box(const neo_whole_sum *s);
/* Has axis k a range from 0 on, over sizes? */
bool neo_sum_is_plain_axis(const neo_whole_sum *s, uint32_t k);

/* What the sum is where axis `at` has the n values from `from` on, which are counted from 0. */
neo_sum_part neo_sum_part_of(const neo_whole_sum *s, uint32_t at, neo_expr from, neo_expr n);
/* Defines the part as a tensor `prefix`.Y over the output axes that it uses. Returns what reads it: for
 * axis `at` (NEO_SUM_AXES: none) at the position less `from`, for others where they are. */
neo_expr neo_sum_part_define(const neo_whole_sum *s, const char *prefix, const neo_sum_part *x,
                             uint32_t at, neo_expr from);
/* The definition becomes this part; `rest` is added to its sum. Null: it has no sum any more, and `rest`
 * stands in its place. */
void neo_sum_become(neo_whole_sum *s, const neo_sum_part *x, neo_expr rest);

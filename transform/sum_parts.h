/* Index-set splitting of sums of products: several sums whose index sets make up that of the whole
 * (M. Griebl, P. Feautrier, C. Lengauer, "Index set splitting"). Private to transform. */
#pragma once
#include "ir/prove/prove.h"

enum { NEO_SUM_AXES = 64 };

typedef struct {
  neo_module *m;
  neo_prover *prover;
  neo_def id;
  neo_def_rec r;
  neo_axis_rec axis[NEO_SUM_AXES];
  uint32_t n; /* number of axes */
} neo_whole_sum;

/* A part: its axes have the positions of the whole's, and count from 0. */
typedef struct {
  neo_axis_rec axis[NEO_SUM_AXES];
  neo_expr where, body;
} neo_sum_part;

/* False: the definition is no sum of a single value. */
bool neo_whole_sum_of(neo_module *m, neo_prover *prover, neo_def id, neo_whole_sum *out);
/* Are there two factors, each of which lacks an output axis that the other has? */
bool neo_sum_is_product(const neo_whole_sum *s);
/* Do the ranges of its axes depend on no other axes? */
bool neo_sum_is_box(const neo_whole_sum *s);
/* Does axis k run from 0 to a size? */
bool neo_sum_is_plain_axis(const neo_whole_sum *s, uint32_t k);

/* The sum for the n values of axis `at` from `from` on, counted from 0. */
neo_sum_part neo_sum_part_of(const neo_whole_sum *s, uint32_t at, neo_expr from, neo_expr n);
/* Defines the part as a tensor `prefix`.Y over the output axes that it uses. Returns its read: axis
 * `at` (NEO_SUM_AXES: none) less `from`, others unchanged. */
neo_expr neo_sum_part_define(const neo_whole_sum *s, const char *prefix, const neo_sum_part *x,
                             uint32_t at, neo_expr from);
/* Makes the definition this part, with `rest` added to its sum. Null: `rest` alone, without a
 * sum. */
void neo_sum_become(neo_whole_sum *s, const neo_sum_part *x, neo_expr rest);

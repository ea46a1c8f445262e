/* Private to transform: sums of products that a definition already computes. */
#pragma once
#include "ir/prove/prove.h"

typedef struct {
  neo_def reader;           /* the expressions are over its axes; no candidate may need it */
  const neo_axis_rec *axis; /* axes of the reader */
  uint64_t in;              /* axes that are summed over */
  const neo_expr *factor;
  uint32_t n;
  neo_expr where; /* 0: none */
  neo_prover *prover;
} neo_sum_query;

/* The element of a tensor that equals this sum up to names of axes, order of factors, and ranges
 * written as conditions; 0: no tensor does. */
neo_expr neo_available_sum(neo_module *m, const neo_sum_query *q);

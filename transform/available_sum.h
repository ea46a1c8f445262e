/* Private to transform: sums of products that some definition is already. */
#pragma once
#include "ir/prove.h"

typedef struct {
  neo_def reader;           /* whose axes the expressions are over; no definition that needs it */
  const neo_axis_rec *axis; /* its axes */
  uint64_t in;              /* those that are summed over */
  const neo_expr *factor;
  uint32_t n;
  neo_expr where; /* 0: none */
  neo_prover *prover;
} neo_sum_query;

/* The element of a tensor that is this sum, whatever its axes are called, in whatever order the
 * factors are, and whether ranges or a condition say over which points; 0: there is none. */
neo_expr neo_available_sum(neo_module *m, const neo_sum_query *q);

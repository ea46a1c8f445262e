/* Output axes of a reduction that an equation of data says: v in sum[e where dst[e] == v] x[v,
 * e]. A term is of one v alone, so there are as many terms as points of the reduction, not of
 * these by v; and what a term reads at v it may read at the key: x[dst[e], e]. */
#pragma once
#include "ir/prove.h"

enum { NEO_KEYED_AXES = 64 };

typedef struct {
  uint64_t axes;   /* that some equation says */
  uint64_t within; /* of these, whose keys are in range at every point, and use no output axis */
  neo_expr key[NEO_KEYED_AXES]; /* by axis; 0: no equation says it. It uses no axis that one says */
  neo_expr rest;   /* the condition without equations of axes of `within`; 0: nothing is left */
  neo_expr others; /* the same without those of `axes` */
} neo_keyed_axes;

/* axis: of the reduction, n_axes, of which the first n_out are output axes. */
void neo_keyed_axes_of(neo_prover *p, const neo_axis_rec *axis, uint32_t n_axes, uint32_t n_out,
                       neo_expr where, neo_keyed_axes *out);

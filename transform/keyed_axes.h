/* Output axes of a reduction that an equation of data says: v in sum[e where dst[e] == v] x[v, e]. A term is of one v
 * alone, so there are as many terms as points of the reduction, not of these by v; and what a term reads at v it may read
 * at the key: x[dst[e], e]. Private to transform. */
#ifndef NEO_TRANSFORM_KEYED_AXES_H
#define NEO_TRANSFORM_KEYED_AXES_H
#include "ir/prove.h"

enum { NEO_KEYED_AXES = 64 };

typedef struct {
  uint64_t axes;               /* that some equation says */
  uint64_t within;             /* of these, whose keys are in range at every point */
  neo_expr at[NEO_KEYED_AXES]; /* by axis: its key where that is in range, else 0, which stands for the axis itself */
  neo_expr rest; /* the condition without equations of keys that are in range; 0: nothing is left */
} neo_keyed_axes;

/* axis: of the reduction, n_axes, of which the first n_out are output axes. */
void neo_keyed_axes_of(neo_prover *p, const neo_axis_rec *axis, uint32_t n_axes, uint32_t n_out,
                       neo_expr where, neo_keyed_axes *out);

#endif

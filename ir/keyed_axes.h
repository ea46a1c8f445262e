/* Keyed axes: output axes of a reduction that an equation of data determines, as v in
 *
 *     sum[e where dst[e] == v] x[v, e]
 *
 * Each point of the reduction contributes to one v alone, so there are as many terms as points, not
 * as points times values of v; and a read at v may be a read at the key: x[dst[e], e]. */
#pragma once
#include "ir/prove/prove.h"

enum { NEO_KEYED_AXES = NEO_DEF_AXES };

typedef struct {
  uint64_t axes;   /* bit k: an equation determines axis k */
  uint64_t within; /* subset of `axes`: the key is in range at every point, and uses no output
                      axis */
  neo_expr key[NEO_KEYED_AXES]; /* by axis: the key, which uses no keyed axis; 0: not keyed */
  neo_expr rest;   /* the condition without the equations of `within`; 0: nothing is left */
  neo_expr others; /* the condition without the equations of `axes` */
} neo_keyed_axes;

/* `axis` are the n_axes axes of the definition, the first n_out of them output axes; `where` is its
 * condition. */
void neo_keyed_axes_of(neo_prover *p, const neo_axis_rec *axis, uint32_t n_axes, uint32_t n_out,
                       neo_expr where, neo_keyed_axes *out);

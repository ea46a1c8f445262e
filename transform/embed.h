/* Domains that are embedded in larger ones.
 *
 * A pass that gives a definition more points than it had, such as those of a wavefront or of the last chunk, or that
 * takes a condition out of the one around it, evaluates expressions where they were not: bounds of ranges, and what a
 * condition asks. They stay what they were at the old points, and have some value at the new ones:
 *
 *     h[t] = sum[k < l[t]] x[t, k]       ->   h[q, r] = sum[k < (l[q*K + r] else 0) where q*K + r < T] x[q*K + r, k]
 *     select(i[v] >= 0 and T[i[v]] == 1, .., 0)   ->   first = min[v where (T[i[v]] else 0) == 1] v
 *
 * neo_module_check proves that no read is left without its guard. Private to transform. */
#ifndef NEO_TRANSFORM_EMBED_H
#define NEO_TRANSFORM_EMBED_H
#include "ir/prove.h"

/* e, in which reads that nothing shows to be inside of their tensors are 0 (false) where they are not. */
neo_expr neo_embed(neo_prover *p, const neo_facts *facts, neo_expr e);

/* The bounds of axis k of those at hand, of which those before it are there already. */
void neo_embed_axis(neo_prover *p, neo_axis_rec *axes, uint32_t k);

#endif

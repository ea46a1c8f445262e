/* Domains that are embedded in larger ones.
 *
 * A pass that gives a definition more points than it had, such as those of a wavefront or of the last chunk, or that
 * takes a condition out of the one around it, or writes that one in another way, leaves reads where nothing shows that
 * they are inside of their tensors: bounds of ranges, what a condition asks. They stay what they were at the old points,
 * and are 0 where there is no element:
 *
 *     h[t] = sum[k < l[t]] x[t, k]       ->   h[q, r] = sum[k < (l[q*K + r] else 0) where q*K + r < T] x[q*K + r, k]
 *     select(i[v] >= 0 and T[i[v]] == 1, .., 0)   ->   first = min[v where (T[i[v]] else 0) == 1] v
 *
 * neo_module_check_reads proves that no read is left without its guard. Private to transform. */
#pragma once
#include "ir/prove.h"

/* Guards the reads of the definition that nothing shows to be inside of their tensors. */
void neo_embed_def(neo_prover *p, neo_def d);

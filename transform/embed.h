/* Guards for embedded domains. A pass may give a definition more points (a wavefront, a last chunk)
 * or rewrite a condition, so that reads are no longer provably in range. Such a read keeps its
 * value at the old points and is 0 where there is no element:
 *
 *     h[t] = sum[k < l[t]] x[t, k]
 *     ->   h[q, r] = sum[k < (l[q*K + r] else 0) where q*K + r < T] x[q*K + r, k]
 *     select(i[v] >= 0 and T[i[v]] == 1, .., 0)   ->   first = min[v where (T[i[v]] else 0) == 1] v
 *
 * neo_module_check_reads proves that no read lacks a guard. Private to transform. */
#pragma once
#include "ir/prove/prove.h"

/* Guards the definition's reads that are not proved to be in range. */
void neo_embed_def(neo_prover *p, neo_def d);

/* The kernels of a definition of the kind LEVELS (neo_rows_rec), which orders the vertices of a graph.
 *
 * On a processor one kernel makes two passes over the vertices, a stable counting sort by levels between them (D. Knuth,
 * The art of computer programming, volume 3, section 5.2, algorithm D). The lists of parents are sorted by the same way:
 *
 *     for v in 0..n                                          for v in 0..n
 *       level[v] = max[k] level[child[v, k]] + 1               place[v] += first[level[v]];  vertex[place[v]] = v
 *       place[v] = first[level[v]]++                           end[v] = sum;  sum += count[v]
 *       count[child[v, k]]++                                   placed[place[v], k] = place[child[v, k]]
 *     first[l] = sum of those before                           edge[end[child[v, k]]++] = slots*place[v] + k
 *
 * A child comes before its parents, so its list begins at end[child] by the time that a parent looks. The count lies in
 * end[v].
 *
 * On a GPU the first pass is a block's (gpu.c), the second runs in all threads. */
#pragma once
#include "codegen/loop/loop.h"
#include "fusion/group.h"

typedef NEO_VEC(neo_kernel *) neo_kernels;

/* The kernels of a group of such a definition, in the order in which they run; verified, in the arena. After a failure
 * `why` has a text. */
neo_status neo_lower_levels(neo_module *m, const neo_group *g, bool gpu, neo_arena *a,
                            neo_kernels *out, neo_str *why) NEO_MUST_CHECK;

/* For tools/pipeline: the kernels of a definition of the kind LEVELS (neo_rows_rec), which orders
 * the vertices of a graph by levels.
 *
 * On a processor one kernel makes two passes over the vertices: a stable counting sort by level (D.
 * Knuth, The art of computer programming, volume 3, section 5.2, algorithm D). The lists of parents
 * are sorted in the same way:
 *
 *     for v in 0..n                                 for v in 0..n
 *       level[v] = max[k] level[child[v, k]] + 1      place[v] += first[level[v]]
 *       place[v] = first[level[v]]++                  vertex[place[v]] = v
 *       count[child[v, k]]++                          end[v] = sum;  sum += count[v]
 *     first[l] = sum of the earlier counts            placed[place[v], k] = place[child[v, k]]
 *                                                     edge[end[child[v, k]]++] = slots*place[v] + k
 *
 * A child comes before its parents, so end[child] is already the beginning of its list when a
 * parent is visited. end[v] holds the count before that.
 *
 * On a GPU one block makes the first pass (gpu.c), and all threads the second. */
#pragma once
#include "codegen/loop/loop.h"
#include "fusion/group.h"

typedef NEO_VEC(neo_kernel *) neo_kernels;

/* The kernels of a group of such a definition, in the order in which they run; verified, in the
 * arena. After a failure `why` has a text. */
neo_status neo_lower_levels(neo_module *m, const neo_group *g, bool gpu, neo_arena *a,
                            neo_kernels *out, neo_str *why) NEO_MUST_CHECK;

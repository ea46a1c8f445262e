/* Transformations over the whole module.
 *
 * Statuses are those of passes (ir/pass.h). */
#pragma once
#include "ir/pass.h"

/* Specialisation: `training` becomes a constant, true in TRAIN and GRAD entries, false in others.
 * Definitions that depend on it and that both kinds need are copied (specialize.c):
 *     Y[i] = select(training, A[i], B[i])      Y[i] = A[i] (step),  eval.Y[i] = B[i] (forward) */
neo_pass_fn neo_pass_specialize;

/* Sums and products of i64 that may wrap become opaque, so that later passes may take all others
 * for exact integers (wrapping.c):
 *     Y[b] = (x[(b*b*b*b*b) % 7] else 0)   ->   (x[stop(stop(b*b*b*b)*b) % 7] else 0) */
neo_pass_fn neo_pass_wrapping;

/* Simplification by ranges of axes and conditions: guards that always hold, comparisons, x % n for
 * x in [0, n) (simplify.c). */
neo_pass_fn neo_pass_simplify;

/* Horizontal fusion: independent definitions that agree except for constants in their indices
 * become one with another axis (horizontal_fusion.c). */
neo_pass_fn neo_pass_horizontal_fusion;

/* Minimal filtering: neighbouring outputs of a sliding sum are computed together, from fewer
 * products (winograd.c):
 *     Y[k, q] = sum[c, s: 3] F[k, c, s] * X[c, q + s]
 *     ->  sums.Y[t: 6, p, k] = sum[c] taps.Y[t, k, c] * data.Y[t, p, c]
 *         Y[k, q] = sum[t] A[q % 4, t] * sums.Y[t, q/4, k] */
neo_pass_fn neo_pass_winograd;

/* Factorisation: factors that do not change along reduction axes leave the sum, where that saves
 * arithmetic (factor.c). */
neo_pass_fn neo_pass_factor;

/* Common subexpression elimination of definitions, recurrences included (equal_recurrences.c):
 * readers of the later read the earlier. Entries' own tensors stay. */
neo_pass_fn neo_pass_cse;

/* Windows that overlap the edges of what they read: their products are computed once, as a matrix,
 * and added up (col2im.c):
 *     dX[c, z] = sum[k, p: z/2 - 3 .. z/2 + 1] D[k, p] * F[k, c, z - 2*p]
 *     ->  M[c, r, p] = sum[k] D[k, p] * F[k, c, r],  dX[c, z] = sum[p: ..] M[c, z - 2*p, p] */
neo_pass_fn neo_pass_col2im;

/* Definitions that are needed under a condition alone drop it, and their readers test it
 * (branches.c; other parts in branches.h):
 *     a[n] = sum[k] where far[]; x[n, k],  z[n] = a[n] + b[n]
 *     ->  a[n] = sum[k] x[n, k],  z[n] = select(far[], a[n], 0) + b[n] */
neo_pass_fn neo_pass_branches;

/* Copy propagation in recurrences (forward_copies.c):
 *     H[t, j] = (N[t-1, j] else 0),  N[t, j] = f(H[t, j])
 *     ->  N[t, j] = f((N[t-1, j] else 0)) */
neo_pass_fn neo_pass_forward_copies;

/* Level order: a recurrence over a graph, and tensors over its vertices, are sorted by levels
 * (levels.c):
 *     h[v] = f(x[v], (h[child[v]] else 0))
 *     ->  h'[p] = f(x[order[p]], (h'[placed[p]] else 0)),  h[v] = h'[place[v]] */
neo_pass_fn neo_pass_levels;

/* Row-sparse sums: a sum over an equation of data, whose readers test first which rows have terms,
 * is computed for these rows (sparse_rows.c):
 *     G[n, d] = sum[e where key[e] == n] x[e, d],  read[n] = any[d] G[n, d] != 0
 *     ->  G[n, d] = select(touched[n], sum[e where key[e] == n] x[e, d], 0) */
neo_pass_fn neo_pass_sparse_rows;

/* Index-set splitting: a sum with terms only for some values of an output axis is
 * computed for these, and one over concatenated operands becomes one over each
 * (split_sums.c):
 *     G[i: 912, j] = sum[t] where i < 128; d[t, j]*h[t, i]
 *     ->  split.G[i: 128, j] = sum[t] d[t, j]*h[t, i]
 *         G[i, j] = select(i < 128, split.G[i, j], 0) */
neo_pass_fn neo_pass_split_sums;

/* Bounds inference: a tensor shrinks to the box that is read of it (infer_bounds.c):
 *     v[t, k: 912] = sum[j] d[t, j]*W[k, j],  h[t, k: 128] = g(v[t, k])
 *     ->  v[t, k: 128] = sum[j] d[t, j]*W[k, j] */
neo_pass_fn neo_pass_infer_bounds;

/* Linear recurrences become recurrences of blocks of iterations, side by side (reassociate.c):
 *     u[t] = a[t]*(u[t-1] else 0) + x[t]
 *     ->  sums.u[r, q] = a[B*q + r]*(sums.u[r-1, q] else 0) + x[B*q + r],
 *         factors.u[r, 0, q] = a[B*q + r]*(factors.u[r-1, 0, q] else 1),
 *         starts.u[q, 0] = sums.u[B-1, q-1] + factors.u[B-1, 0, q-1]*starts.u[q-1, 0],
 *         blocks.u[r, q] = a[B*q + r]*(blocks.u[r-1, q] else starts.u[q, 0]) + x[B*q + r],
 *         u[t] = blocks.u[t%B, t/B] */
neo_pass_fn neo_pass_reassociate;

/* Loop distribution: a sum of products that is independent of its recurrence moves out of the loops
 * (distribute.c):
 *     s[t, j] = tanh(sum[d] X[t, d]*W[d, j] + g[t, j]), where g reads s
 *     ->  partial.s[t, j] = sum[d] X[t, d]*W[d, j],  s[t, j] = tanh(partial.s[t, j] + g[t, j]) */
neo_pass_fn neo_pass_distribute;

/* Blocked algorithms: sums of products over earlier iterations of a recurrence are split at blocks
 * of iterations (tile_recurrences.c):
 *     L[i, j] = g(sum[k: j] L[i, k]*L[j, k])
 *     ->  tiled.L[i, j] = sum[k: j/32*32] L[i, k]*L[j, k],
 *         L[i, j] = g(tiled.L[i, j] + sum[k: j/32*32 .. j] L[i, k]*L[j, k]) */
neo_pass_fn neo_pass_tile_recurrences;

/* Loop skewing: a recurrence along two axes becomes one along wavefronts (skew.c):
 *     D[i, j] = c[i, j] + min(D[i-1, j], D[i, j-1])
 *     ->  skewed.D[t, i] = select(0 <= t-i and t-i < M, c[i, t-i] + min(skewed.D[t-1, i-1],
 *                          skewed.D[t-1, i]), 0),  D[i, j] = skewed.D[i+j, i] */
neo_pass_fn neo_pass_skew;

/* Checkpointing: every k-th iteration of a recurrence is stored for the backward pass,
 * which recomputes the others, as --memory asks (checkpoint.c):
 *     u[t: T] = f((u[t-1] else 0)),  d[t: T] = g(u[t], (d[t+1] else 0))
 *     ->  chunk.u[q, r: k], edge.u[q] = chunk.u[q, k-1],
 *         again.u[q, r: k] = f(select(r >= 1, again.u[q, r-1], (edge.u[q-1] else 0))),
 *         chunk.d[q, r: k] = g(again.u[q, r],
 *                              select(r+1 < k, chunk.d[q, r+1], (chunk.d[q+1, 0] else 0))) */
neo_pass_fn neo_pass_checkpoint;

/* Running sums: sums over the iterations of a recurrence become recurrences, if nobody
 * else needs their terms (running_sums.c):
 *     G[i] = sum[t: T] d[t, i]*x[t, i]
 *     ->  running.G[t, i] = (running.G[t-1, i] else 0) + d[t, i]*x[t, i]
 *         G[i] = running.G[T-1, i] */
neo_pass_fn neo_pass_running_sums;

/* Trip counts: sums over the iterations of a loop that exits early have the terms of those that ran
 * (trip_counts.c):
 *     G[i, j] = sum[t: T, r: L] select(alive[t, r], d[t, r, i], 0)*h[t, r, j]
 *     ->  G[i, j] = sum[t: T, r: 0 .. rounds[t]] d[t, r, i]*h[t, r, j] */
neo_pass_fn neo_pass_trip_counts;

/* Loop peeling: the first or last terms of a long sum of products, for which a guard fails, become
 * a sum (peel_sums.c):
 *     G[i, j] = sum[t: T] d[t, j]*(h[t-1, i] else 0)
 *     ->  end.G[j] = sum[t: 1] d[t, j]*0,  G[i, j] = end.G[j] + sum[t: T-1] d[t+1, j]*h[t, i] */
neo_pass_fn neo_pass_peel_sums;

/* Polyphase decomposition: if the domain of a reduction depends on remainders of output axes, each
 * remainder becomes a piece (polyphase.c):
 *     Y[z] = sum[p: z/2 .. (z + 3)/2] e(z, p)
 *     ->  Y[2*y] = sum[p: y .. y + 1] e(2*y, p),  Y[2*y + 1] = sum[p: y .. y + 2] e(2*y + 1, p) */
neo_pass_fn neo_pass_polyphase;

/* Loop normalisation: reduction axes whose range moves with other axes count from its start
 * (normalize_loops.c):
 *     Y[y] = sum[p: y .. min(P, y + 2)] e(y, p)
 *     ->  Y[y] = sum[t: 0 .. min(2, P - y)] e(y, y + t) */
neo_pass_fn neo_pass_normalize_loops;

/* Reduction factoring: long reductions to few elements become reductions of parts, which workers
 * share (rfactor.c):
 *     M[] = max[i: 1000000] x[i]
 *     ->  partial.M[s: 16] = max[i: 62500] x[62500*s + i],  M[] = max[s: 16] partial.M[s] */
neo_pass_fn neo_pass_rfactor;
/* Reduction factoring of column sums, if the rows are reduced as well (rfactor_columns.c). */
neo_pass_fn neo_pass_rfactor_columns;

/* Mixed precision: types of operands of contractions and of stored tensors, as m->math and m->store
 * say (mixed_precision.c). */
neo_pass_fn neo_pass_mixed_precision;

/* Layout propagation: intermediate images with channels innermost, for lanes (channels_last.c):
 *     y[n, k, p] = sum[c, r] F[k, c, r] * x[n, c, p + r]
 *     ->  y[n, p, k] = sum[r, c] F[k, c, r] * x[n, p + r, c] */
neo_pass_fn neo_pass_channels_last;

/* Weight prepacking: weights in the order in which products read them, in entries that do not
 * change them, and in steps that read them several times (prepack.c):
 *     Y[b, j] = sum[k] X[b, k]*W[k, j]
 *     ->  P[t, k, l] = W[k, 16*t + l] else 0,  Y[b, j] = sum[k] X[b, k]*P[j/16, k, j%16] */
neo_pass_fn neo_pass_prepack;

/* Rematerialisation: segments of the forward pass are computed again for the backward pass, as
 * --memory asks (recompute.c):
 *     z[i] = f(x, i),  y[i] = g(z, i),  dy[i] = h(y, i),  dz[i] = d(z, dy, i)
 *     ->  after dy again.z[i] = f(x, i),  dz[i] = d(again.z, dy, i) */
neo_pass_fn neo_pass_recompute;

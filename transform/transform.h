/* Transformations over the whole module. */
#pragma once
#include "ir/pass.h"

/* `training` becomes a constant: true in TRAIN and GRAD entries, false in the others. Definitions
 * that depend on it and that both kinds need exist twice afterwards:
 *     Y[i] = select(training, A[i], B[i])      Y[i] = A[i] (step),  eval.Y[i] = B[i] (forward) */
neo_pass_fn neo_pass_specialize;

/* Sums and products of i64 that may wrap become opaque, so that the passes after it may take all others
 * for exact integers (wrapping.c):
 *     Y[b] = (x[(b*b*b*b*b) % 7] else 0)   ->   (x[stop(stop(b*b*b*b)*b) % 7] else 0) */
neo_pass_fn neo_pass_wrapping;

/* Replaces what the axes' ranges and conditions decide: guards that always hold, comparisons, x %
 * n for x in [0, n). */
neo_pass_fn neo_pass_simplify;

/* Definitions that do not depend on each other and agree but for constants in their indices become
 * one, of an axis more (horizontal_fusion.c). */
neo_pass_fn neo_pass_horizontal_fusion;

/* Neighbouring outputs of a sum that slides are made together, from fewer products (winograd.c):
 *     Y[k, q] = sum[c, s: 3] F[k, c, s] * X[c, q + s]
 *     ->  sums.Y[t: 6, p, k] = sum[c] taps.Y[t, k, c] * data.Y[t, p, c]
 *         Y[k, q] = sum[t] A[q % 4, t] * sums.Y[t, q/4, k] */
neo_pass_fn neo_pass_winograd;

/* Factors that do not change along reduction axes leave the sum, where that saves arithmetic
 * (factor.c). */
neo_pass_fn neo_pass_factor;

/* Definitions that say the same are one, recurrences too (equal_recurrences.c): readers of the later
 * read the earlier. Entries' own tensors stay. */
neo_pass_fn neo_pass_cse;

/* Windows that stick out of what they read: their products are computed once, as a matrix, and
 * added up (col2im.c):
 *     dX[c, z] = sum[k, p: z/2 - 3 .. z/2 + 1] D[k, p] * F[k, c, z - 2*p]
 *     ->  M[c, r, p] = sum[k] D[k, p] * F[k, c, r],  dX[c, z] = sum[p: ..] M[c, z - 2*p, p] */
neo_pass_fn neo_pass_col2im;

/* What is needed only where a condition holds is written as if it held; who reads it asks (branches.c; branches.h has the
 * rest):
 *     a[n] = sum[k] where far[]; x[n, k],  z[n] = a[n] + b[n]
 *     ->  a[n] = sum[k] x[n, k],  z[n] = select(far[], a[n], 0) + b[n] */
neo_pass_fn neo_pass_branches;

/* Who reads a copy in a recurrence reads what it is of (forward_copies.c):
 *     H[t, j] = (N[t-1, j] else 0),  N[t, j] = f(H[t, j])
 *     ->  N[t, j] = f((N[t-1, j] else 0)) */
neo_pass_fn neo_pass_forward_copies;

/* A recurrence over a graph, and what has an element for each of its vertices, lies in an order by levels
 * (levels.c):
 *     h[v] = f(x[v], (h[child[v]] else 0))
 *     ->  h'[p] = f(x[order[p]], (h'[placed[p]] else 0)),  h[v] = h'[place[v]] */
neo_pass_fn neo_pass_levels;

/* A sum over an equation of data whose readers ask first which rows have anything in them has these rows alone
 * (sparse_rows.c):
 *     G[n, d] = sum[e where key[e] == n] x[e, d],  read[n] = any[d] G[n, d] != 0
 *     ->  G[n, d] = select(touched[n], sum[e where key[e] == n] x[e, d], 0) */
neo_pass_fn neo_pass_sparse_rows;

/* A sum of products that has terms only for some values of an output axis is made for these, and one over
 * operands that lie beside each other becomes one over each (split_sums.c):
 *     G[i: 912, j] = sum[t] where i < 128; d[t, j]*h[t, i]
 *     ->  split.G[i: 128, j] = sum[t] d[t, j]*h[t, i],  G[i, j] = select(i < 128, split.G[i, j], 0) */
neo_pass_fn neo_pass_split_sums;

/* A tensor of which only a box is read has no more than that (infer_bounds.c):
 *     v[t, k: 912] = sum[j] d[t, j]*W[k, j],  h[t, k: 128] = g(v[t, k])
 *     ->  v[t, k: 128] = sum[j] d[t, j]*W[k, j] */
neo_pass_fn neo_pass_infer_bounds;

/* Linear recurrences become recurrences of blocks of rounds, side by side (reassociate.c):
 *     u[t] = a[t]*(u[t-1] else 0) + x[t]
 *     ->  sums.u[r, q] = a[B*q + r]*(sums.u[r-1, q] else 0) + x[B*q + r],
 *         factors.u[r, 0, q] = a[B*q + r]*(factors.u[r-1, 0, q] else 1),
 *         starts.u[q, 0] = sums.u[B-1, q-1] + factors.u[B-1, 0, q-1]*starts.u[q-1, 0],
 *         blocks.u[r, q] = a[B*q + r]*(blocks.u[r-1, q] else starts.u[q, 0]) + x[B*q + r],
 *         u[t] = blocks.u[t%B, t/B] */
neo_pass_fn neo_pass_reassociate;

/* A sum of products of a recurrence that reads nothing of it becomes a definition outside of its loops
 * (distribute.c):
 *     s[t, j] = tanh(sum[d] X[t, d]*W[d, j] + g[t, j]), where g reads s
 *     ->  partial.s[t, j] = sum[d] X[t, d]*W[d, j],  s[t, j] = tanh(partial.s[t, j] + g[t, j]) */
neo_pass_fn neo_pass_distribute;

/* Sums of products over what earlier rounds of a recurrence made are divided at blocks of rounds
 * (tile_recurrences.c):
 *     L[i, j] = g(sum[k: j] L[i, k]*L[j, k])
 *     ->  tiled.L[i, j] = sum[k: j/32*32] L[i, k]*L[j, k],
 *         L[i, j] = g(tiled.L[i, j] + sum[k: j/32*32 .. j] L[i, k]*L[j, k]) */
neo_pass_fn neo_pass_tile_recurrences;

/* A recurrence along two axes becomes one along wavefronts (skew.c):
 *     D[i, j] = c[i, j] + min(D[i-1, j], D[i, j-1])
 *     ->  skewed.D[t, i] = select(0 <= t-i and t-i < M, c[i, t-i] + min(skewed.D[t-1, i-1],
 *                          skewed.D[t-1, i]), 0),  D[i, j] = skewed.D[i+j, i] */
neo_pass_fn neo_pass_skew;

/* Of what recurrences keep for the backward pass every k-th round is kept, and the others are made again, where
 * --memory asks for it (checkpoint.c):
 *     u[t: T] = f((u[t-1] else 0)),  d[t: T] = g(u[t], (d[t+1] else 0))
 *     ->  chunk.u[q, r: k], edge.u[q] = chunk.u[q, k-1],
 *         again.u[q, r: k] = f(select(r >= 1, again.u[q, r-1], (edge.u[q-1] else 0))),
 *         chunk.d[q, r: k] = g(again.u[q, r], select(r+1 < k, chunk.d[q, r+1], (chunk.d[q+1, 0] else 0))) */
neo_pass_fn neo_pass_checkpoint;

/* Sums over the rounds of a recurrence become recurrences, where nobody else needs all that they add up
 * (running_sums.c):
 *     G[i] = sum[t: T] d[t, i]*x[t, i]
 *     ->  running.G[t, i] = (running.G[t-1, i] else 0) + d[t, i]*x[t, i],  G[i] = running.G[T-1, i] */
neo_pass_fn neo_pass_running_sums;

/* Sums over the iterations of a loop that ends early have the terms of those that ran (trip_counts.c):
 *     G[i, j] = sum[t: T, r: L] select(alive[t, r], d[t, r, i], 0)*h[t, r, j]
 *     ->  G[i, j] = sum[t: T, r: 0 .. rounds[t]] d[t, r, i]*h[t, r, j] */
neo_pass_fn neo_pass_trip_counts;

/* The first or last terms of a long sum of products, for which a guard fails, become a sum of their own
 * (peel_sums.c):
 *     G[i, j] = sum[t: T] d[t, j]*(h[t-1, i] else 0)
 *     ->  end.G[j] = sum[t: 1] d[t, j]*0,  G[i, j] = end.G[j] + sum[t: T-1] d[t+1, j]*h[t, i] */
neo_pass_fn neo_pass_peel_sums;

/* Where the domain of a reduction depends on remainders of output axes, each remainder becomes a
 * piece of its own (polyphase.c):
 *     Y[z] = sum[p: z/2 .. (z + 3)/2] e(z, p)
 *     ->  Y[2*y] = sum[p: y .. y + 1] e(2*y, p),  Y[2*y + 1] = sum[p: y .. y + 2] e(2*y + 1, p) */
neo_pass_fn neo_pass_polyphase;

/* Reduction axes whose range moves with other axes count from its start (normalize_loops.c):
 *     Y[y] = sum[p: y .. min(P, y + 2)] e(y, p)
 *     ->  Y[y] = sum[t: 0 .. min(2, P - y)] e(y, y + t) */
neo_pass_fn neo_pass_normalize_loops;

/* Long reductions to few elements are reductions of parts, which workers share (rfactor.c):
 *     M[] = max[i: 1000000] x[i]
 *     ->  partial.M[s: 16] = max[i: 62500] x[62500*s + i],  M[] = max[s: 16] partial.M[s] */
neo_pass_fn neo_pass_rfactor;
/* Sums of columns of matrices whose rows are reduced become sums of runs of rows. */
neo_pass_fn neo_pass_rfactor_columns;

/* Operands of contractions, and tensors in memory, in what m->math and m->store say (mixed_precision.c). */
neo_pass_fn neo_pass_mixed_precision;

/* Intermediate images with their channels innermost, where lanes run (channels_last.c):
 *     y[n, k, p] = sum[c, r] F[k, c, r] * x[n, c, p + r]
 *     ->  y[n, p, k] = sum[r, c] F[k, c, r] * x[n, p + r, c] */
neo_pass_fn neo_pass_channels_last;

/* Weights of products in the order in which these read them, in entries that leave them as they
 * are, and in steps that read them several times (prepack.c):
 *     Y[b, j] = sum[k] X[b, k]*W[k, j]
 *     ->  P[t, k, l] = W[k, 16*t + l] else 0,  Y[b, j] = sum[k] X[b, k]*P[j/16, k, j%16] */
neo_pass_fn neo_pass_prepack;

/* Segments of the forward pass are computed again for the backward pass, as --memory asks (recompute.c):
 *     z[i] = f(x, i),  y[i] = g(z, i),  dy[i] = h(y, i),  dz[i] = d(z, dy, i)
 *     ->  after dy again.z[i] = f(x, i),  dz[i] = d(again.z, dy, i) */
neo_pass_fn neo_pass_recompute;

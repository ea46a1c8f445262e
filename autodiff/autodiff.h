/* Reverse-mode differentiation of the expression IR. It is closed: gradients are definitions of the
 * same IR.
 *
 * Visits every definition on a path from a request's `y` to its `wrt`, last first, and every read
 * of an active tensor in it, and makes one gathered contribution (no scatter, no atomics):
 *
 *   before   Y[b, j] = relu(acc),  acc = sum[i] X[b, i]*W[i, j]
 *   after    G[b, j]    = select(0 < Y[b, j], d.Y[b, j], 0)          adjoint of acc
 *            d.W[z, w]  = sum[b] X[b, z]*G[b, w]
 *            d.X[z, w]  = sum[j] W[w, j]*G[z, j]
 *
 * (for the read W[i, j]: i = z, j = w, and b stays free)
 *
 * The index system f(x, r) = z of a read is solved symbolically (solve.c): determined axes are
 * substituted, free ones become reduction axes, and the remaining equations become conditions,
 * which are proved away or turned into loop bounds where possible (ir/prove/prove.h). An index that
 * cannot be solved stays as the condition f(x, r) == z: slower, but right.
 *
 * Derivatives at kinks, ties and reducers are those of the language. A gradient that cannot be
 * formed is an error (E05xx) that names the read. */
#pragma once
#include "ir/pass.h"

/* Carries out all gradient requests of the module in order, filling the pieces of their outs. */
neo_pass_fn neo_pass_autodiff;

#!/bin/sh
# A product of matrices is one however it is written: no divisor, sign, condition on results or
# function of an operand in the sum leaves a kernel of it or of its gradients without tiles of rows.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

tiled() { # FORM: C and the gradients for A and B are made by tiles of several rows
  cat >product.expr <<END
import optim
dim N = 96
input Y[N, N]
param A[N, N] = normal(0, 1)
param B[N, N] = normal(0, 1)
param D[N, N] = normal(0, 1)
param v[N] = normal(0, 1)
param w[N] = uniform(1, 2)
$1
loss = mean[..] (C[..] - Y[..])^2 + 0*(D[0, 0] + v[0] + w[0])
output C
train loss using optim.sgd(lr = 0.1)
END
  "$NEOC" explain product.expr --records=none --mcpu=x86-64-v4 --schedule >chosen ||
    fail "no schedule of $1"
  for name in C A_grad B_grad; do
    grep -Eq "^(partial_)?$name: .*tile_m=([2-9]|[1-9][0-9])" chosen ||
      fail "$name is no product of matrices: $1"
  done
}

tiled 'C[i, j] = sum[k] A[i, k]*B[k, j]'
tiled 'C[i, j] = mean[k] A[i, k]*B[k, j]'
tiled 'C[i, j] = sum[k] -A[i, k]*B[k, j]'
tiled 'C[i, j] = sum[k] 2*A[i, k]*B[k, j]'
tiled 'C[i, j] = sum[k] A[i, k]*B[k, j]/sqrt(f32(N))'
tiled 'C[i, j] = sum[k] A[i, k]/2*B[k, j]/3'
tiled 'C[i, j] = sum[k] A[i, k]/w[i]*B[k, j]'
tiled 'C[i, j] = sum[k] A[i, k]/w[k]*B[k, j]'
tiled 'C[i, j] = sum[k] A[i, k]*B[k, j]*v[i]'
tiled 'C[i, j] = sum[k] (A[i, k] - v[k])*B[k, j]'
tiled 'C[i, j] = sum[k] (A[i, k] - v[i])/sqrt(w[i] + 1e-5)*B[k, j]'
tiled 'C[i, j] = sum[k] A[i, k]*(B[k, j] + D[k, j])'
tiled 'C[i, j] = sum[k] relu(A[i, k])*B[k, j]'
tiled 'C[i, j] = sum[k] exp(A[i, k] - v[i])*B[k, j]'
tiled 'C[i, j] = sum[k] A[i, k]*sigmoid(D[i, k])*B[k, j]'
tiled 'C[i, j] = sum[k <= i] A[i, k]*B[k, j]'
tiled 'C[i, j] = sum[k where k <= i] A[i, k]*B[k, j]'
tiled 'C[i, j] = sum[k] A[i, N - 1 - k]*B[k, j]'
tiled 'C[i, j] = sum[k] A[i, (k + 5) % N]*B[k, j]'
tiled 'C[i, j] = sum[u < 8, l < 12] A[i, 12*u + l]*B[12*u + l, j]'
tiled 'C[i, j] = tanh((sum[k] A[i, k]*B[k, j])/sqrt(f32(N)) + v[j])'
tiled 'C[i, j] = (sum[k] A[k, i]*B[j, k])^3'
exit $status

#!/bin/sh
# A model of a thousand rounds of `repeat` compiles in memory and time that grow with their number,
# and running out of memory says what to do.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
not_sanitized # the sanitizers' own memory is no measure

cat >lstm.expr <<'END'
import nn, optim
dim R = 1000
dim H = 16
input X[R, 4, H]
input Y[4] : i32 < 10
param Wx[H, 4*H] = glorot(H, 4*H)
param Wh[H, 4*H] = glorot(H, 4*H)
param V[H, 10] = glorot(H, 10)
h0[b < 4, j < H] = f32(0)
h, c = repeat t < R from h = h0, c = h0 {
  g[b, j < 4*H] = sum[i] X[t, b, i]*Wx[i, j] + sum[k] h[b, k]*Wh[k, j]
  c2[b, j < H] = sigmoid(g[b, j + H])*c[b, j] + sigmoid(g[b, j])*tanh(g[b, j + 2*H])
  next c = c2, h[b, j < H] = sigmoid(g[b, j + 3*H])*tanh(c2[b, j])
}
L[b, c] = sum[j] h[b, j]*V[j, c]
loss = nn.cross_entropy(L, Y)
train loss using optim.sgd(lr = 0.1)
END

# Address space, not the resident part: neoc maps some 300 MiB of code and files of its own.
(ulimit -v 1300000 && "$NEOC" explain lstm.expr --groups >out 2>err) ||
  fail "1000 rounds compile within 1 GB" err

if (ulimit -v 400000 && "$NEOC" explain lstm.expr --groups >out 2>err); then
  fail "1000 rounds fit 400 MB of address space: the next check needs less"
else
  grep -q 'out of memory with [0-9]* definitions.*fewer rounds' err ||
    fail "running out of memory says what to do" err
fi
exit $status

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
(ulimit -v 1300000 && "$NEOC" explain lstm.expr --unroll=1000000 --groups >out 2>err) ||
  fail "1000 rounds compile within 1 GB" err

if (ulimit -v 400000 && "$NEOC" explain lstm.expr --unroll=1000000 --groups >out 2>err); then
  fail "1000 rounds fit 400 MB of address space: the next check needs less"
else
  grep -q 'out of memory with [0-9]* definitions.*fewer iterations' err ||
    fail "running out of memory says what to do" err
fi

# As a loop it takes the memory of a few rounds.
(ulimit -v 600000 && "$NEOC" explain lstm.expr -DR=20000 --groups >out 2>err) ||
  fail "20000 rounds compile as a loop" err

# Both ways parameters have the same first values, also those that are made of others of their round.
cat >half.expr <<'END'
input X[3]
x = repeat l < 5 from x = X {
  param a[3] = uniform(0.5, 1)
  param half[n < 3] = 0.5*a[n] + f32(l)
  next x[n] = x[n]*a[n] + half[n]
}
output x
END
"$NEOC" run half.expr 'X=[1,2,3]' --seed=4 --unroll=1000 >unrolled
"$NEOC" run half.expr 'X=[1,2,3]' --seed=4 --unroll=1 >loop
cmp -s unrolled loop || fail "a loop of rounds has other parameters"
exit $status

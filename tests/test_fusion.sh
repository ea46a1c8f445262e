#!/bin/sh
# Fusion changes no result: with each kind of it switched off, with all, and with as little memory
# kept as can be, compiled code computes what the interpreter does. `neoc explain` says what was done.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

cat >net.expr <<'END'
import nn, optim
dim B <= 12
input X[B, 3, 5, 5]
input Y[B] : i32 < 7
c = nn.conv2d_layer(X, out = 6, pad = 1, bias = false)
n = nn.batch_norm(c)
r[b, k, i, j] = relu(n[b, k, i, j])
f[b, k, i] = mean[j] r[b, k, i, j]
a = nn.attention(f, heads = 1)
l = nn.layer_norm(a)
u[b, k] = sum[i] l[b, k, i]*f[b, k, i]
h = nn.linear(u, out = 20)
g[b, j] = gelu(h[b, j])
s = nn.softmax(g)
o = nn.linear(s, out = 7)
loss = nn.cross_entropy(o, Y)
output o
train loss using optim.adam(lr = 0.01)
END
"$NEOC" explain net.expr --groups >groups
kinds="inline prologue epilogue siblings sums rows"
for kind in $kinds; do
  if [ $kind = inline ] || [ $kind = prologue ]; then pattern="^$kind .* saves"; else pattern="^join .*: $kind, saves"; fi
  grep -q "$pattern" groups || fail "no fusion of the kind $kind"
  "$NEOC" explain net.expr --groups --no-fuse=$kind >without
  grep -q "$pattern" without && fail "--no-fuse=$kind leaves some"
done

cat >rows.expr <<'END'
import nn, optim
input X[2048, 1024]
h = nn.linear(X, out = 1024)
l = nn.layer_norm(h)
loss = mean[i, j] l[i, j]*X[i, j]
output l
train loss using optim.sgd(lr = 0.01)
END
"$NEOC" explain rows.expr --groups | grep -q "^join .*: columns" || fail "no sums of columns in a kernel of rows"
"$NEOC" explain rows.expr --groups --no-fuse=columns | grep -q "^join .*: columns" && fail "--no-fuse=columns leaves some"

for off in $kinds columns all sums,rows; do
  timeout 120 "$NEOC" verify -q net.expr --no-fuse=$off >out 2>&1 || fail "without $off" out
done
"$NEOC" explain net.expr --groups --no-fuse=all | grep -q saves && fail "all leaves some"
timeout 120 "$NEOC" verify -q net.expr --memory=small >out 2>&1 || fail "--memory=small" out
cat >kept.expr <<'END'
import nn, optim
dim B <= 64
input X[B, 256]
input Y[B] : i32 < 7
h = nn.linear(X, out = 512)
g[b, j] = sin(gelu(h[b, j]))
o = nn.linear(g, out = 7)
loss = nn.cross_entropy(o, Y)
output o
train loss using optim.adam(lr = 0.01)
END
kept() { sed -n 's/.*in all *\([0-9]*\) B/\1/p' | head -1; }
fast=$("$NEOC" explain kept.expr --groups | kept)
small=$("$NEOC" explain kept.expr --groups --memory=small | kept)
[ "$small" -lt "$fast" ] || fail "--memory=small keeps $small bytes, fast $fast"
[ $status = 0 ] || tail -50 groups
exit $status

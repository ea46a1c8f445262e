#!/bin/sh
# The matrix unit, here in plain code (--mcpu=LEVEL+tiles): with --math=bf16 whole models run on tiles,
# agree with the interpreter, and give the same bits on any number of threads; a library for CPUs with
# AMX has every such kernel twice.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
grep -q ' avx2 ' /proc/cpuinfo 2>/dev/null || { echo "no AVX2 here: nothing to run"; exit 77; }
tiles="--mcpu=x86-64-v3+tiles --math=bf16"

cat >net.expr <<'EXPR'
import nn, optim

dim B <= 70
input X[B, 50]
input Y[B] : i32 < 37

param W1[50, 45] = glorot(50, 45)
param b1[45] = 0
param W2[45, 37] = glorot(45, 37)

H[b, j] = relu(sum[i] X[b, i] * W1[i, j] + b1[j])
L[b, c] = sum[j] H[b, j] * W2[j, c]

loss = nn.cross_entropy(L, Y)

output L
train loss using optim.sgd(lr = 0.1)
EXPR

kernels=$("$NEOC" explain net.expr --kernels $tiles)
n=$(printf '%s\n' "$kernels" | grep -c 'tile dot') || true
[ "$n" -ge 4 ] || fail "$n products of tiles in a network with two layers"
"$NEOC" explain net.expr --kernels --mcpu=x86-64-v3+tiles | grep -q 'tile dot' &&
  fail "f32 stays f32 unless less is asked for"

for B in 1 16 61; do
  "$NEOC" verify -q net.expr -D B=$B $tiles || fail "machine code and interpreter differ, B=$B"
done
"$NEOC" verify -q "$NEO_SOURCE_DIR/models/zoo/capsule_conv.expr" -D B=2 -D C=4 -D M=4 -D H=9 $tiles ||
  fail "capsule_conv"

for threads in 1 3; do
  "$NEOC" run net.expr X=random:1:[61,50] $tiles --threads $threads -o out$threads.npz >/dev/null
done
cmp out1.npz out3.npz || fail "the number of threads shows"

"$NEOC" compile net.expr --mcpu=sapphirerapids --math=bf16 --emit=s -o amx >/dev/null
for word in ldtilecfg tileloadd tdpbf16ps tilestored tilerelease; do
  grep -q $word amx/net.s || fail "no $word for sapphirerapids"
done
awk '/^[A-Za-z_0-9]*:/ { name = $1 } /tdpbf16ps/ && name !~ /_tiles/ && name !~ /^\.L/ { print name }' \
  amx/net.s >outside
[ -s outside ] && fail "tiles outside of variants: $(sort -u outside)"
for name in $(sed -n 's/^\(net_k[A-Za-z0-9_]*\)_tiles:.*/\1/p' amx/net.s); do
  grep -q "^$name:" amx/net.s || fail "$name has no code for machines without tiles"
done
exit $status

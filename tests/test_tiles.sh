#!/bin/sh
# The matrix unit and dots of vectors, here in plain code (--mcpu=LEVEL+tiles, +dots): with --math=bf16
# whole models run on them, agree with the interpreter, and give the same bits on any number of threads;
# a library for processors with AMX, or on which dots are quick, has every such kernel twice.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
grep -q ' avx2 ' /proc/cpuinfo 2>/dev/null || { echo "no AVX2 here: nothing to run"; exit 77; }

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

# runs_on UNIT WORD: what explain calls it.
runs_on() {
  how="--mcpu=x86-64-v3+$1 --math=bf16"
  n=$("$NEOC" explain net.expr --kernels $how | grep -c "$2") || true
  [ "$n" -ge 4 ] || fail "$n products by $1 in a network with two layers"
  "$NEOC" explain net.expr --kernels --mcpu=x86-64-v3+$1 | grep -q "$2" &&
    fail "f32 stays f32 unless less is asked for ($1)"
  for B in 1 16 61; do
    "$NEOC" verify -q net.expr -D B=$B $how || fail "$1: machine code and interpreter differ, B=$B"
  done
  "$NEOC" verify -q "$NEO_SOURCE_DIR/models/zoo/capsule_conv.expr" -D B=2 -D C=4 -D M=4 -D H=9 $how ||
    fail "$1: capsule_conv"
  for threads in 1 3; do
    "$NEOC" run net.expr X=random:1:[61,50] $how --threads $threads -o $1$threads.npz >/dev/null
  done
  cmp $1"1.npz" $1"3.npz" || fail "$1: the number of threads shows"
}
runs_on tiles 'tile dot'
runs_on dots ' dot('

# has_twice CPU UNIT WORD...: instructions, of which the last stands in no kernel but variants.
has_twice() {
  cpu=$1 unit=$2
  shift 2
  "$NEOC" compile net.expr --mcpu=$cpu --math=bf16 --emit=s -o $cpu >/dev/null
  for word; do
    grep -q $word $cpu/net.s || fail "no $word for $cpu"
  done
  awk '/^[A-Za-z_0-9]*:/ { name = $1 } /'$word'/ && name !~ /_'$unit'/ && name !~ /^\.L/ { print name }' \
    $cpu/net.s >outside
  [ -s outside ] && fail "$unit outside of variants: $(sort -u outside)"
  for name in $(sed -n "s/^\(net_k[A-Za-z0-9_]*\)_$unit:.*/\1/p" $cpu/net.s); do
    grep -q "^$name:" $cpu/net.s || fail "$name has no code for machines without $unit"
  done
}
has_twice sapphirerapids tiles ldtilecfg tileloadd tilestored tilerelease tdpbf16ps
has_twice znver4 dots vcvtne2ps2bf16 vdpbf16ps

# Dots by instructions have the bits of plain code, which other orders of sums have not: a context takes
# the variant where the processor has them.
cat >product.expr <<'EXPR'
input X[301, 150]
param W[150, 75] = glorot(150, 75)
Y[b, j] = sum[i] X[b, i] * W[i, j]
output Y
EXPR
if grep -q ' avx512_bf16 ' /proc/cpuinfo; then
  for cpu in znver4 x86-64-v4+dots x86-64-v4; do
    "$NEOC" run product.expr X=random:1:[301,150] --mcpu=$cpu --math=bf16 -o $cpu.npz >/dev/null
  done
  cmp znver4.npz x86-64-v4+dots.npz || fail "dots by instructions are not those of plain code"
  cmp -s znver4.npz x86-64-v4.npz && fail "no context takes dots"
fi

# A long product by dots is several units of work: by rows, or by columns that are read in place.
for size in '256 256' '16 1024'; do
  "$NEOC" explain "$NEO_SOURCE_DIR/tools/benchmarks/models/gemm.expr" --define=M="${size% *}" \
    --define=N="${size#* }" --math=bf16 --mcpu=znver4 --records=none --schedule >units
  grep '^C: pairs .* pairs=2' units | grep -q ' unit_axes=1 ' || fail "one unit of $size"
done
exit $status

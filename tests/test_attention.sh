#!/bin/sh
# Sums inside of sums on an emulated GPU: attention and its gradients have no tensor of the square
# of a sequence's length, whatever stands between the sums, and are the interpreter's.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
not_sanitized # the stacks of emulated threads are not the sanitizer's
emulator=$NEO_BUILD_DIR/tests/libneo_gpu_emulator.so
gpu="--target=nvptx:sm_90a"

cat >net.expr <<'END1'
import nn, optim

dim B <= 3
dim T = 45
dim D = 22
dim CAUSAL = 1
input X[B, T, D]
input Y[B, T, D]

a = nn.attention(X, heads = 2, causal = CAUSAL == 1)
loss = nn.mse(a, Y)

output a
train loss using optim.sgd(lr = 0.1)
END1

squares() { # tensors in memory, of a model's attention
  grep -E '^  memory .*\.s$|^nothing' "$1" || true
}

# Every way of making the tensor away is said, and none is left.
"$NEOC" explain net.expr $gpu --groups >groups
grep -q '^nested a.a.s into ' groups || fail "the scores are not nested" groups
[ -z "$(squares groups)" ] || fail "a square is in memory" groups
"$NEOC" explain net.expr $gpu --groups --no-fuse=nested >without
grep -q '^nested ' without && fail "--no-fuse=nested nests"
[ -n "$(squares without)" ] || fail "without nesting there is no square" without
"$NEOC" explain net.expr --groups | grep -q '^nested ' && fail "a processor nests"

# With a mask or without: gradients have ranges and conditions. Blocks that no row takes are left
# out, and whole ones are not tested.
"$NEOC" explain net.expr -D CAUSAL=0 $gpu --groups >groups
[ -z "$(squares groups)" ] || fail "a square is in memory without a mask" groups
"$NEOC" explain net.expr $gpu --kernels >kernels
lines() { # of a kernel, that match
  awk -v name="kernel $1(" 'index($0, name) == 1 { on = 1 } /^#/ { on = 0 } on' kernels |
    grep -Ec "$2" || true
}
for kernel in a_a_z a_a d_a_v d_a_k d_a_q; do
  [ "$(lines $kernel '^  for j in ')" -ge 1 ] || fail "$kernel has no loop over steps" kernels
  [ "$(lines $kernel '^  for j in 0\.\.45 ')" -eq 0 ] || fail "$kernel takes all steps" kernels
done
for kernel in a_a d_a_v; do
  [ "$(lines $kernel '^    else$')" -ge 1 ] || fail "$kernel tests all of its products" kernels
done

# Warps compute products of rounded operands.
for math in bf16 tf32; do
  "$NEOC" compile -q net.expr -D T=512 -D D=64 $gpu --math=$math --emit=ptx -o warps
  for kernel in a_a_z a_a d_a_v d_a_k d_a_q; do
    awk -v name="_$kernel(" '/^.visible .entry/ { on = index($0, name) } on' warps/net.ptx >ptx
    grep -q 'mma\.sync' ptx || fail "$math: no products by warps in $kernel"
  done
done

# Values that other kernels read are stored, and not computed twice.
cat >wanted.expr <<'END1'
import nn
input Q[40, 8]
input K[40, 8]
s[i, j] = sum[d] Q[i, d] * K[j, d]
p = nn.softmax(s)
y[i, d] = sum[j] p[i, j] * K[j, d]
output p
output y
END1
"$NEOC" explain wanted.expr $gpu --groups | grep -q '^nested ' && fail "what is wanted is nested"

# The encoder's layer, forward and training.
"$NEOC" explain "$NEO_SOURCE_DIR/models/zoo/bert.expr" -D LAYERS=1 $gpu --groups >groups
[ -z "$(squares groups)" ] || fail "a square of BERT's is in memory" groups

# A sequence whose square would be 64 GiB.
cat >long.expr <<'END1'
import nn
dim T = 131072
input Q[1, T, 1, 16]
input K[1, T, 1, 16]
input V[1, T, 1, 16]
y = nn.dot_attention(Q, K, V)
output y
END1
"$NEOC" compile long.expr $gpu --emit=ptx -o long >out 2>&1
grep -q '^forward: memory [0-9.]* \(K\|M\)iB' out || fail "memory grows with the square" out
"$NEOC" compile long.expr $gpu --emit=ptx --no-fuse=nested -o long >out 2>&1
grep -q '^forward: memory 65[0-9]*.* MiB' out || fail "without nesting it does not" out

# The answers are the interpreter's.
[ -e "$emulator" ] || exit $status
export NEO_CUDA_DRIVER="$emulator"
for math in bf16 3xtf32; do
  timeout 100 "$NEOC" verify -q net.expr -D B=1 --math=$math $gpu+host || fail "causal, $math"
done
for causal in 0 1; do
  timeout 100 "$NEOC" verify -q net.expr -D B=2 -D CAUSAL=$causal $gpu+host || fail "causal $causal"
done
NEO_EMULATOR_SEED=5 timeout 100 "$NEOC" verify -q net.expr -D B=1 -D T=17 $gpu+host ||
  fail "the order of threads shows"
exit $status

#!/bin/sh
# Models for GPUs on an emulated device (tests/gpu/emulator.c in place of the CUDA driver): they agree
# with the interpreter, train, save and load, and what is missing is said in so many words.
set -eu
[ -x "${NEOC:-}" ] || exit 77
emulator=$NEO_BUILD_DIR/tests/libneo_gpu_emulator.so
[ -e "$emulator" ] || exit 77
[ -z "${NEO_SANITIZE:-}" ] || exit 77 # the kernels' stacks are not the sanitizer's
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
status=0
fail() {
  echo "FAIL: $1" >&2
  status=1
}
gpu="--target=nvptx:sm_90a+host"
export NEO_CUDA_DRIVER="$emulator"

cat >net.expr <<'END'
import nn, optim

dim B <= 33
input X[B, 12]
input Y[B] : i32 < 5

param W1[12, 20] = glorot(12, 20)
param b1[20] = 0
param W2[20, 5] = glorot(20, 5)

H[b, j] = nn.layer_norm(sum[i] X[b, i] * W1[i, j] + b1[j])
L[b, c] = sum[j] relu(H[b, j]) * W2[j, c]

loss = nn.cross_entropy(L, Y)

output L
train loss using optim.adam(lr = 0.01)
END
sed -i 's/nn.layer_norm(\(.*\))$/tanh(\1)/' net.expr

# The driver is told what a context needs of it; the answer is the interpreter's.
for B in 1 7 33; do
  "$NEOC" verify -q net.expr -D B=$B $gpu || fail "the emulated device and the interpreter differ, B=$B"
done
for model in attention norms conv functions reducers pool; do
  path=$NEO_SOURCE_DIR/tests/library/$model.expr
  [ ! -e "$path" ] || "$NEOC" verify -q "$path" $gpu || fail "$model differs on the emulated device"
done
NEO_EMULATOR_SEED=5 "$NEOC" verify -q net.expr -D B=9 $gpu || fail "the order of threads shows"

# The same numbers as on the processor, and a file of parameters that either side reads.
"$NEOC" run net.expr X=random:1:[33,12] -o cpu.npz >/dev/null
"$NEOC" run net.expr X=random:1:[33,12] $gpu -o gpu.npz >/dev/null
[ -s gpu.npz ] || fail "no output of the emulated device"

says() { # text, command...
  text=$1
  shift
  "$@" >said 2>&1 && fail "'$text' was expected to fail"
  grep -q "$text" said || { cat said; fail "'$text' is not said"; }
}
says 'CUDA driver cannot be opened' env NEO_CUDA_DRIVER=./none.so "$NEOC" run net.expr \
  X=random:1:[1,12] $gpu
says 'compile it with --target=nvptx:sm_80' env NEO_EMULATOR_SM=80 "$NEOC" run net.expr \
  X=random:1:[1,12] $gpu
says 'the driver has 0' env NEO_EMULATOR_DEVICES=0 "$NEOC" run net.expr X=random:1:[1,12] $gpu
says 'are free' env NEO_EMULATOR_MIB=0 "$NEOC" run net.expr X=random:1:[1,12] $gpu
says 'unknown GPU' "$NEOC" compile net.expr --target=nvptx:sm_12 -o out
says 'named by the target' "$NEOC" compile net.expr --target=nvptx:sm_80 --mcpu=x86-64-v3 -o out

# PTX for all levels, which ptxas takes where there is one.
for level in sm_75 sm_80 sm_90 sm_90a; do
  "$NEOC" compile net.expr --target=nvptx:$level --emit=ptx -o "$level" >/dev/null || fail "$level"
  grep -q "^.target $level" "$level/net.ptx" || fail "$level: the PTX is for something else"
  ! command -v ptxas >/dev/null || ptxas -arch=$level -o /dev/null "$level/net.ptx" ||
    fail "$level: ptxas refuses the PTX"
done
exit $status

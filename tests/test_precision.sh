#!/bin/sh
# --math=bf16 and --store=bf16: machine code agrees with the interpreter, and training on real data
# comes out the same. Tolerance: accuracy of the digits within half a point of f32 after one epoch.
# Without any optimization the curve is that of f32: the loss to one part in ten thousand.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

for model in sublstm scrnn capsule_conv; do
  "$NEOC" verify -q --math=bf16 --store=bf16 -D B=2 "$NEO_SOURCE_DIR/models/zoo/$model.expr" $(
    case $model in capsule_conv) echo -D C=4 -D M=4 -D H=9 ;; *) echo -D I=20 -D H=16 ;; esac) ||
    { echo "$model: machine code and interpreter differ"; exit 1; }
done

"$NEOC" verify -q --math=tf32 -D B=2 -D C=4 -D M=4 -D H=9 "$NEO_SOURCE_DIR/models/zoo/capsule_conv.expr" ||
  { echo "tf32: machine code and interpreter differ"; exit 1; }

# On a processor 3xtf32 is f32: the same machine code.
for math in f32 3xtf32; do
  "$NEOC" compile -q --math=$math --emit=s -D B=2 -D C=4 -D M=4 -D H=9 -o $math \
    "$NEO_SOURCE_DIR/models/zoo/capsule_conv.expr"
done
cmp -s f32/*.s 3xtf32/*.s || { echo "3xtf32 is not f32 on a processor"; exit 1; }

data=${NEO_DATA:-$NEO_SOURCE_DIR/../shared/data}/mnist
if [ ! -d "$data" ]; then
  echo "no MNIST files in $data: training was not compared"
  exit 0
fi
learn() {
  name=$1
  shift
  "$NEOC" train "$NEO_SOURCE_DIR/models/mnist/mlp.expr" "$@" --epochs 1 --threads 1 \
    --data "X=$data/train-images-idx3-ubyte.gz,Y=$data/train-labels-idx1-ubyte.gz" \
    --test "X=$data/t10k-first3000-images-idx3-ubyte.gz,Y=$data/t10k-first3000-labels-idx1-ubyte.gz" \
    >"$name" 2>&1
  sed -n 's/.*accuracy[ =:]*\([0-9.]*\).*/\1/p' "$name" | tail -1
}
exact=$(learn exact)
learn plain --passes= --records=none >accuracy
loss() { sed -n 's/.*epoch 1\/1: loss \([0-9.]*\).*/\1/p' "$1"; }
awk -v a="$(loss exact)" -v b="$(loss plain)" \
  'BEGIN { d = a - b; exit !(a > 0 && b > 0 && d < a/10000 && -d < a/10000) }' ||
  { echo "loss with and without optimizations:"; cat exact plain; exit 1; }
narrow=$(learn narrow --math=bf16 --store=bf16)
echo "accuracy after an epoch: f32 $exact, bf16 $narrow"
awk -v a="$exact" -v b="$narrow" 'BEGIN { exit !(a > 0.9 && b > a - 0.005) }' ||
  { cat exact narrow; exit 1; }

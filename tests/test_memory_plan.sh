#!/bin/sh
# The prices by which --memory chooses are those of plans: bytes that are kept less are bytes of the plan less, inference needs no
# more than without, and a plan above the limit is told with its figure.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
zoo=$NEO_SOURCE_DIR/models/zoo
benchmarks=$NEO_SOURCE_DIR/tools/benchmarks/models

# plan MODEL OPTION...: bytes of a step; of inference, with what is kept between calls
plan() {
  "$NEOC" compile "$@" -o "$work" --emit=json --format=json >out 2>err || die "compile $*" err
  python3 - out <<'END'
import json, sys
made = json.load(open(sys.argv[1]))
frame = {e["name"]: e["frame_bytes"] for e in made["entries"]}
print(frame["step"], max(frame[e] for e in frame if e in ("forward", "test")), made["cached_bytes"])
END
}

layers_model >layers.expr
lstm_model 1000 >lstm.expr
cat >nested.expr <<'END'
import optim
dim T = 500
dim S = 9
input X[T, S, 8]
param U[8, 8] = uniform(-0.4, 0.4)
h = scan t < T from h[j < 8] = 0.1 {
  k = scan s < S from k = h { next k[j] = tanh(X[t, s, j] + sum[i] k[i]*U[i, j]) }
  next h[j] = tanh(k[j] + h[j])
}
L = sum[j] h[j]^2
output L
train L using optim.sgd(lr = 0.1)
END

while read -r model options; do
  set -- $(plan "$model" $options)
  all=$1 forward=$2 cached=$3
  set -- $(plan "$model" $options --memory=small)
  small=$1
  # what lies between calls lies in the frame with --memory, each tensor on a line of its own
  [ "$2" -le $((forward + cached + forward / 1000)) ] || fail "$model: inference of $2 bytes, of $forward without --memory"
  [ "$small" -le $((all + all / 50)) ] || fail "$model: a step of $small bytes, of $all without --memory"
  kept=$(kept "$model" $options)
  least=$(kept "$model" $options --memory=small)
  # at least half of what is kept less is memory less; Mamba's states are all read by a gradient of two pieces
  [ $((2 * (all - small))) -ge $((kept - least)) ] || [ "${model##*/}" = mamba.expr ] ||
    fail "$model: $kept to $least bytes are kept, $all to $small planned"
  limit=512
  step=$(plan "$model" $options --memory=$limit | cut -d' ' -f1)
  cat out err >told
  grep -q "entry 'step' needs $step bytes of memory in a call, more than the $limit of --memory" told ||
    fail "$model: nothing tells that a step needs $step bytes, and not $limit" told
  step=$(plan "$model" $options --memory=$((2 * all)) | cut -d' ' -f1)
  cat out err >told
  grep -q R0919 told && fail "$model: $step bytes are no more than $((2 * all))" told
done <<END
layers.expr
lstm.expr
nested.expr
$zoo/mlp.expr
$zoo/tagger.expr
$zoo/mamba.expr -DWIDTH=64 -DT=64
$zoo/seq2seq.expr
$zoo/mobilenet.expr
$zoo/shufflenet.expr
$zoo/resnet18.expr
$zoo/wave.expr
$benchmarks/unet.expr -DWIDTH=16 -DIMAGE=64
$benchmarks/googlenet.expr -DWIDTH=8 -DIMAGE=32
END
exit $status

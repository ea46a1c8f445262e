#!/bin/sh
# Every model of models/zoo has as many parameters as its definition, a case of tests/zoo, and
# gradients that agree with differences at the sizes of its cases.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
models=$NEO_SOURCE_DIR/models/zoo
cases=$NEO_SOURCE_DIR/tests/zoo/expected
out=$work/out

# The product of a parameter's extents, summed.
count() {
  "$NEOC" describe --format=json "$@" | awk '
    /"role": "parameter"/ {
      sub(/.*"shape": \[/, ""); sub(/\].*/, "")
      n = split($0, extent, ", "); size = 1
      for (k = 1; k <= n; k++) size *= extent[k]
      sum += size
    }
    END { printf "%d", sum }'
}

check_count() { # NUMBER MODEL [-D NAME=N]...
  want=$1 model=$2
  shift 2
  have=$(count "$models/$model.expr" "$@")
  [ "$have" = "$want" ] || fail "$model $*: $have parameters, not $want"
}

check_count 1854170 mlp
check_count 11689512 resnet18
check_count 25557032 resnet50
check_count 4231976 mobilenet
check_count 1865728 shufflenet
check_count 85054464 bert
check_count 10616832 capsule_conv
check_count 1179648 capsule_conv -D H=56 -D R=3 -D stride=1 -D pad=1
check_count 6804224 capsulenet
check_count 6804224 capsulenet_conv
check_count 3969024 mamba
check_count 2165340 tagger
check_count 6433792 seq2seq
check_count 262144 wave
check_count 402 gotoh
check_count 2774149 tree_lstm
check_count 2692229 tree_lstm_sum
check_count 2692101 tree_gru
check_count 2705335 dependency_lstm
check_count 5124293 mv_rnn
check_count 8386 tree_fc
check_count 4244240 chain_lstm
check_count 1510674 lattice_lstm
check_count 230785 ggnn
for form in "" _unrolled _scan; do
  check_count 7432202 "milstm$form"
  check_count 177024 "scrnn$form"
  check_count 469258 "sublstm$form"
  check_count 351882 "lltm$form"
done

for model in "$models"/*.expr; do
  name=$(basename "$model" .expr)
  grep -q '^train' "$model" || continue # a module
  grep -qx "model $name" "$cases"/*.txt || fail "no case of tests/zoo runs $name"
done

for case in "$cases"/*.txt; do
  model=$(sed -n 's/^model //p' "$case")
  options=$(sed -n 's/^define \([^ ]*\) \([^ ]*\)$/-D \1=\2/p
                    s/^size \([^ ]*\) \([^ ]*\)$/--size=\1=\2/p' "$case")
  # shellcheck disable=SC2086
  "$NEOC" grad-check "$models/$model.expr" $options --samples 4 >"$out" 2>&1 ||
    fail "grad-check of $case" "$out"
  grep -q '^[1-9][0-9]* elements checked, 0 failed' "$out" || fail "$case: nothing was checked"
done
exit $status

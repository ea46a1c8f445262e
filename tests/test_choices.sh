#!/bin/sh
# What the models of cost choose: the schedule of every kernel of some models on two processors and
# a GPU (tests/golden/choices), as `neoc explain --schedule` says it, without what is as in a plain
# one. Values do not depend on it, times do: who changes a model of cost sees here what that moves.
# NEO_GOLDEN_REFRESH=1 rewrites the golden files.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
golden=$NEO_SOURCE_DIR/tests/golden/choices
plain=" merge=1 axis_m=-1 axis_n=-1 tile_m=1 tile_n=1 unit_size=1 unroll_k=1 vector_axis=-1 \
vector_width=1 "

choices() { # MODEL OPTION...
  file=$NEO_SOURCE_DIR/tests/$1.expr
  shift
  "$NEOC" explain "$file" "$@" --records=none --schedule | awk -v plain="$plain" '
    /^  by the analytic model$/ { next }
    { line = $1
      for (k = 2; k <= NF; k++)
        if ($k !~ /=0$/ && !index(plain, " " $k " ")) line = line " " $k
      print line }'
}

check() { # NAME MODEL OPTION...
  kept=$golden/$1
  shift
  choices "$@" >"$work/is" || fail "explain --schedule $*"
  if [ "${NEO_GOLDEN_REFRESH:-}" ]; then cp "$work/is" "$kept"; fi
  diff "$kept" "$work/is" >&2 || fail "$*: other schedules"
}

for model in golden/ptx/kernels gpu/large gpu/products; do
  name=$(basename "$model")
  check "$name.avx2" "$model" --mcpu=x86-64-v3
  check "$name.avx512" "$model" --mcpu=x86-64-v4
  check "$name.gpu" "$model" --target=nvptx:sm_90a
done
check nested.gpu gpu/nested --target=nvptx:sm_90a
check block.gpu library/block --target=nvptx:sm_90a
exit $status

#!/bin/sh
# The choices of the cost models: the schedule of every kernel of some models on two processors and
# a GPU (tests/golden/choices), as `neoc explain --schedule` says it. Values do not depend on it,
# times do: who changes a model of cost sees here what that moves. NEO_GOLDEN_REFRESH=1 rewrites the
# golden files.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
golden=$NEO_SOURCE_DIR/tests/golden/choices

choices() { # MODEL OPTION...
  file=$NEO_SOURCE_DIR/tests/$1.expr
  shift
  "$NEOC" explain "$file" "$@" --records=none --schedule | grep -v '^  by the analytic model$'
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
# Machines of which a row of base/machine.def says more than of their level.
for cpu in haswell znver1 skylake-avx512 sapphirerapids znver4 znver5; do
  check "products.$cpu" gpu/products --target=x86_64 --mcpu=$cpu
done
for cpu in neoverse-n1 neoverse-v2; do
  check "products.$cpu" gpu/products --target=aarch64 --mcpu=$cpu
done
for gpu in sm_75 sm_80 sm_86; do check "large.$gpu" gpu/large --target=nvptx:$gpu; done
check nested.gpu gpu/nested --target=nvptx:sm_90a
check block.gpu library/block --target=nvptx:sm_90a
exit $status

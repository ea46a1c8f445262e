#!/bin/sh
# Gradients of every function of the shipped library, and of every model, agree with differences in
# f64. tests/golden/gradcheck holds a model for each kind of function.
set -eu
[ -x "${NEOC:-}" ] || exit 77
folder=$NEO_SOURCE_DIR/tests/golden/gradcheck
status=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

fail() {
  echo "FAIL: $1" >&2
  status=1
}
check() {
  "$NEOC" grad-check "$@" >"$out" 2>&1 || { fail "grad-check $*"; cat "$out" >&2; }
  grep -q '^[1-9][0-9]* elements checked, 0 failed' "$out" || fail "$*: nothing was checked"
}

for model in "$folder"/*.expr; do
  check "$model" --samples 16 --seed 1
done
for model in "$NEO_SOURCE_DIR"/models/*/*.expr; do
  case $model in
    */std/* | */zoo/*) ;; # the zoo has small sizes in tests of its own
    *) check "$model" --samples 8 ;;
  esac
done

# No function of nn is forgotten.
for name in $(sed -n 's/^fn \([a-z0-9_]*\)(.*/\1/p' "$NEO_SOURCE_DIR/models/std/nn.expr"); do
  grep -q "nn\.$name(" "$folder"/*.expr || fail "nothing checks the gradient of nn.$name"
done
exit "$status"

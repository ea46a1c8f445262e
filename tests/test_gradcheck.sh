#!/bin/sh
# Gradients of the models of tests/library agree with differences in f64: every element of every
# parameter and float input, at two sizes; and these models use all of nn and optim.
set -eu
[ -x "${NEOC:-}" ] || exit 77
folder=$NEO_SOURCE_DIR/tests/library
status=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

fail() {
  echo "FAIL: $1" >&2
  status=1
}

for model in "$folder"/*.expr; do
  case $model in
    */ste.expr) continue ;;  # gradients of its own making
    */int8.expr) continue ;; # no floats
  esac
  "$NEOC" grad-check "$model" --samples 0 --seed 3 >"$out" 2>&1 ||
    { fail "grad-check $model"; cat "$out" >&2; }
  grep -q '^[1-9][0-9]* elements checked, 0 failed' "$out" || fail "$model: nothing was checked"
done

for module in nn optim; do
  for name in $(sed -n 's/^\(fn\|optimizer\) \([a-z0-9_]*\)(.*/\2/p' \
                  "$NEO_SOURCE_DIR/models/std/$module.expr"); do
    cat "$folder"/*.expr | grep -q "$module\.$name(" || fail "no model uses $module.$name"
  done
done
exit $status

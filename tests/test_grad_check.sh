#!/bin/sh
# Gradients agree with differences in f64:
#
#   of the models of tests/library, which use nn and optim: every element in a long run, else some of each tensor
#   of those of tests/recurrences, which use the rest of the library
#   of index forms, reducers and second derivatives (tests/golden/gradcheck)
#   of the models; test_zoo_models.sh has those of the zoo
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
library=$NEO_SOURCE_DIR/tests/library
recurrences=$NEO_SOURCE_DIR/tests/recurrences
models=$NEO_SOURCE_DIR/models
out=$work/out

check() {
  "$NEOC" grad-check "$@" >"$out" 2>&1 || fail "grad-check $*" "$out"
  grep -q '^[1-9][0-9]* elements checked, 0 failed' "$out" || fail "$*: nothing was checked"
}

samples=6
[ -z "${NEO_TEST_LONG:-}" ] || samples=0
for model in "$library"/*.expr; do
  case $model in
    */ste.expr) continue ;;  # all of it flows through gradients of its own making
    */int8.expr) continue ;; # no floats
  esac
  check "$model" --samples $samples --seed 3
done
for model in "$recurrences"/*.expr; do
  check "$model" --samples 2 --seed 3
done
for model in "$NEO_SOURCE_DIR"/tests/golden/gradcheck/*.expr; do
  check "$model" --samples 16 --seed 1
done
check "$NEO_SOURCE_DIR/tests/golden/gradcheck/keyed.expr" --samples 12 --seed 2 --size=M=23 \
  --size=V=7 --size=T=3 --size=U=3
"$NEOC" grad-check "$NEO_SOURCE_DIR/tests/golden/gradcheck/own_gradient.expr" >"$out" 2>&1
grep -q '^d l/d w: own gradient, not compared' "$out" || fail "what an own gradient hides" "$out"
grep -q '^d l/d v: ok, 4 of 4' "$out" || fail "what is beside an own gradient" "$out"
check "$library/reducers.expr" --own --samples 2
for model in "$models"/*/*.expr; do
  case $model in
    */std/*|*/zoo/*) ;;
    *) check "$model" --samples 8 ;;
  esac
done

for module in nn optim linalg vision schedule; do
  for name in $(sed -n 's/^\(fn\|optimizer\) \([a-z0-9_]*\)(.*/\2/p' "$models/std/$module.expr"); do
    grep -q "$module\.$name(" "$library"/*.expr "$recurrences"/*.expr ||
      grep -q -e "$module\.$name(" -e "(\"$name(" "$NEO_SOURCE_DIR"/tests/types/*.py || # checks gradients, too
      grep -q "^ .*[ =]$name(" "$models/std/$module.expr" || # another function uses it
      fail "no model uses $module.$name"
  done
done
# ---- two entries that train one loss, each its own parameters; verify takes the sizes of its seed
cat >"$work/shared.expr" <<'END'
import nn, optim
dim B <= 40
input X[B, 4]
input Y[B] : i32 < 3
L = nn.linear(X, out = 3)
loss = nn.cross_entropy(L, Y)
output L
train a: loss over L.W using optim.sgd(lr = 0.1)
train b: loss over L.b using optim.sgd(lr = 0.1)
END
"$NEOC" grad-check "$work/shared.expr" >"$work/out" 2>&1 || fail "two entries of one loss" "$work/out"
grep -q 'd loss in grad_b/d L.b: ok' "$work/out" || fail "the second entry's gradients" "$work/out"
for run in 1 2; do
  "$NEOC" verify "$work/shared.expr" --seed=3 2>&1 | grep -o '^[a-z_]* *B=[0-9]*' >"$work/sizes$run" || fail "verify"
done
cmp -s "$work/sizes1" "$work/sizes2" || fail "verify takes other sizes with the same seed" "$work/sizes2"
exit $status

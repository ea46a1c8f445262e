#!/bin/sh
# Gradients of gradients agree with differences in f64, of every function of the library, every
# reducer and function of elements (their third derivatives too), every form of index, and of the
# zoo's smallest models. Interpreted, as there is much to compile and little to run.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
tests=$NEO_SOURCE_DIR/tests
zoo=$NEO_SOURCE_DIR/models/zoo
out=$work/out

check() {
  "$NEOC" grad-check --interp "$@" >"$out" 2>&1 || fail "grad-check $*" "$out"
  grep -q '^d (d ' "$out" || fail "$*: nothing of the second order was checked"
}

for model in "$tests"/library/*.expr; do
  case $model in
    */ste.expr) continue ;;  # gradients of its own making
    */int8.expr) continue ;; # no floats
  esac
  check "$model" --order=2 --samples 8
done
check "$tests/golden/gradcheck/reducers.expr" --order=3 --samples 4
check "$tests/golden/gradcheck/indices.expr" --order=3 --samples 4
check "$tests/golden/gradcheck/conv_second.expr" --order=2 --samples 4
for cell in milstm sublstm lltm scrnn; do
  check "$zoo/$cell.expr" -DI=4 -DH=3 --order=2 --samples 8
done
check "$zoo/capsulenet.expr" -DH=7 -DC=2 -DM=2 -DD=2 -DR=3 -DE=2 --order=2 --samples 2
check "$zoo/capsule_conv.expr" -DH=7 -DC=2 -DM=2 -DR=3 -DI=2 -DJ=2 --order=2 --samples 8
exit $status

#!/bin/sh
# No number of gradients, results, arguments, carries, collected tensors, gathers or outputs is too large for the language: texts
# with 17, 100 and 1000 of them compile and give what they say. Time is not tested (tools/bench).
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3
many="$NEO_SOURCE_DIR/tests/many/main.py"

# gives KIND N [OPTION...]
gives() {
  kind=$1 n=$2
  shift 2
  python3 "$many" "$kind" "$n" >"$kind.expr"
  "$NEOC" run "$kind.expr" --format=json "$@" >out 2>err || { fail "$kind of $n: does not run" err; return; }
  python3 "$many" "$kind" "$n" check <out 2>err || fail "$kind of $n" err
}

for n in 17 100; do
  for kind in first second seeded calls own_gradients scan repeat until case; do
    gives $kind $n
    gives $kind $n --interp
  done
  gives vertices $n x=[1,1,1] G.child=[[-1],[0],[1]]
done
for kind in first second seeded calls own_gradients case; do
  gives $kind 1000
done

# a call keeps its run-time sizes on its stack
awk 'BEGIN {
  for (k = 0; k < 65; k++) printf "dim N%d <= 4\ninput x%d[N%d]\ns%d = sum[i] x%d[i]\n", k, k, k, k, k
  printf "output s0"; for (k = 1; k < 65; k++) printf ", s%d", k; print ""
}' >sizes.expr
expect 1 "65 run-time sizes" "$NEOC" compile sizes.expr
says err 'E0918.*more than 64 run-time sizes' "65 run-time sizes"

exit $status

#!/bin/sh
# Running sums and products, and the gradients of products, cost as much as their elements: a
# quadratic kernel would take minutes at these lengths. And they are right there.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

cat >long.expr <<'END'
dim N = 400000
param x[N] = 1
param q[i < N] = select(i % 2 == 0, 1.0001, 1/1.0001)
S[i < N] = sum[k <= i] x[k]
T[i < N] = sum[k where i < k] x[k]
M[i < N] = max[k <= i] x[k]*f32(k % 1000)
p = prod[i] q[i]
loss = sum[i] S[i]*x[i]/f32(N) + sum[i] T[i]/f32(N) + sum[i] M[i]/f32(N)
dx = grad(loss, x)
dq = grad(p, q)
last = S[N - 1]
first = T[0]
most = max[i] M[i]
sd = sum[i] dx[i]/f32(N)
sq = max[i] abs(dq[i]*q[i] - p)
output last, first, most, sd, sq, p
END
"$NEOC" explain long.expr --schedule --records=none >schedules
for name in S T M '\(before.p\|dq\)' after.p; do
  grep -q "^$name: scan" schedules || fail "$name is not run along its axis"
done
start=$(date +%s)
timeout 120 "$NEOC" run long.expr >out || die "run" out
[ $(($(date +%s) - start)) -lt 60 ] || fail "it takes as long as a quadratic kernel"
value() { sed -n "/^$1 /{n;p}" out; }
[ "$(value last)" = 400000 ] || fail "last is $(value last)"
[ "$(value first)" = 399999 ] || fail "first is $(value first)"
[ "$(value most)" = 999 ] || fail "most is $(value most)"
awk -v p="$(value p)" -v sq="$(value sq)" 'BEGIN { exit !(p > 0.8 && p < 1.2 && sq < 1e-2) }' ||
  fail "the product's gradient: p = $(value p), off by $(value sq)"
[ $status = 0 ] || cat out >&2
exit $status

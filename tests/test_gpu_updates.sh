#!/bin/sh
# An update that changes some elements only leaves the others as they were, on a GPU too, where neither of two states can be updated
# in its place: each is read by the other's update.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
on_emulated_device

cat >swap.expr <<'END1'
import optim
dim N = 64
dim D = 8
input x[D]
input c[N] : i32 < 2
param p[D] = 1
state s[N, D] = 1
state t[N, D] = 2
loss = sum[n, d] (s[n, d] - 3*t[n, d] + x[d])*p[d]
update s[n, d] = select(c[n] == 1, t[N - 1 - n, d] + x[d], s[n, d])
update t[n, d] = select(c[n] == 0, s[N - 1 - n, d], t[n, d])
output test: loss
train loss using optim.sgd(lr = 0.01)
END1
for option in "" --no-fuse=all; do
  "$NEOC" verify swap.expr $gpu $option >said 2>&1 || fail "other states $option" said
done
"$NEOC" explain swap.expr $gpu --kernels | grep -A3 '^kernel s_next' | grep -q ' if c\[' ||
  fail "all elements are written: this tests nothing"
exit $status

#!/bin/sh
# However little memory there is, `neoc compile` ends with all of its files and 0, or with none, a sentence and 4: where
# LLVM's, C++'s or isl's memory ends, too.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" cc
not_sanitized # sanitizers map terabytes

cat >net.expr <<'END'
import nn, optim
dim B <= 64
input X[B, 64]
input Y[B] : i32 < 10
h = nn.linear(X, out = 96)
r[b, j] = relu(h[b, j])
c[b, j < 96] = sum[0 <= k < 3] r[b, (5*j + 3*k) % 96]
g = nn.linear(c, out = 10)
loss = nn.cross_entropy(g, Y)
output g
train loss using optim.adam(lr = 1e-3)
END
"$NEOC" compile -q net.expr -o good
mkdir temporary
export TMPDIR="$work/temporary"

# limited KIB: compiles into `here`.
limited() {
  rm -rf here cache
  code=0
  (ulimit -c 0 && ulimit -v "$1" && exec "$NEOC" compile -q net.expr -o here --cache=cache) 2>err || code=$?
}

# Below this much neoc itself is not loaded.
least=60000
while ! (ulimit -c 0 && ulimit -v "$least" && exec "$NEOC" version) >/dev/null 2>&1; do
  least=$((least + 4000))
done
limit=$((least + 1000))
most=$((least + 181000)) # it is enough, but not the least that is: where the large stack fails, the usual one may do
step=6000
[ -z "${NEO_TEST_LONG:-}" ] || step=500
passed=0
failed=0
while [ $limit -le $most ]; do
  limited $limit
  case $code in
    0)
      passed=$((passed + 1))
      cmp -s here/libnet.so good/libnet.so && cmp -s here/net.h good/net.h || fail "$limit KiB: other files" ;;
    4)
      failed=$((failed + 1))
      says err 'neoc.*: .*memory' "$limit KiB"
      [ -z "$(ls -A here 2>/dev/null)" ] || fail "$limit KiB: it leaves $(ls -A here)" ;;
    *) fail "$limit KiB: exit code $code" err ;;
  esac
  [ -z "$(ls -A temporary)" ] || fail "$limit KiB: it leaves $(ls -A temporary) in TMPDIR"
  limit=$((limit + step))
done
[ $failed -ge 5 ] || fail "only $failed limits were too small"
[ $passed -ge 1 ] || fail "none of the limits was enough"
echo "from $least KiB on: $failed limits too small, $passed enough"
exit "$status"

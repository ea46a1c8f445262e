#!/bin/sh
# `neoc tune`: what it finds is recorded, used by `neoc compile --records`, and not searched for again.
set -eu
neoc=${NEOC:-$NEO_BUILD_DIR/bin/neoc}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache

fail() {
  echo "FAIL: $1" >&2
  [ -z "${2:-}" ] || cat "$2" >&2
  exit 1
}

cat > "$dir/m.expr" <<'EOF'
dim B <= 8
input X[B, 40]
param W[40, 24] = glorot(40, 24)
input Y[B] : i32 < 24
import nn, optim
score[b, j] = sum[i] X[b, i] * W[i, j]
loss = nn.cross_entropy(score, Y)
output score
train loss using optim.sgd(lr = 0.1)
EOF

# ---- a short run: every kernel of the step is measured, and the model still says the same
"$neoc" tune "$dir/m.expr" --time=6s --format=json > "$dir/out.json" 2> "$dir/err" ||
  fail "neoc tune" "$dir/err"
grep -q '"ok": true' "$dir/out.json" || fail "no result" "$dir/out.json"
grep -q '"failed"' "$dir/out.json" && fail "a kernel could not be tuned" "$dir/out.json"
trials=$(sed -n 's/.*"trials": \([0-9]*\), "refused": \([0-9]*\).*/\1/p' "$dir/out.json")
[ "$trials" -gt 4 ] || fail "only $trials trials" "$dir/out.json"
[ -s "$dir/cache/neo/trials" ] || fail "no log"
[ "$(grep -c '"ratio"' "$dir/cache/neo/trials")" -ge "$trials" ] || fail "trials are missing in the log"
"$neoc" verify "$dir/m.expr" --records=user > "$dir/verify" 2>&1 ||
  fail "the tuned model is wrong" "$dir/verify"

# ---- a second run knows what the first one tried
sort "$dir/cache/neo/trials" > "$dir/before"
"$neoc" tune "$dir/m.expr" --time=3s -q > "$dir/out" 2> "$dir/err" || fail "the second run" "$dir/err"
sort "$dir/cache/neo/trials" > "$dir/after"
comm -13 "$dir/before" "$dir/after" | sed 's/,"ratio".*//' | sort > "$dir/new"
sed 's/,"ratio".*//' "$dir/before" | sort -u > "$dir/old"
again=$(comm -12 "$dir/old" "$dir/new" | wc -l) # races of what was found before, no more than that
known=$(wc -l < "$dir/old")
[ $((again * 3)) -le "$known" ] || fail "$again of $known trials were made again"

# ---- an interruption keeps what there is, and says so by its exit code
mkdir "$dir/tmp"
for signal in INT TERM HUP; do
  TMPDIR=$dir/tmp "$neoc" tune "$dir/m.expr" --time=60s --records="$dir/$signal" > "$dir/out" 2> "$dir/err" &
  pid=$!
  sleep 2
  kill -$signal $pid
  status=0
  wait $pid || status=$?
  [ "$status" -gt 128 ] || fail "exit code $status after $signal" "$dir/err"
  [ -s "$dir/$signal.trials" ] || fail "nothing was kept"
  grep -q ' trials, ' "$dir/out" || fail "no result after $signal" "$dir/out"
  [ -z "$(ls "$dir/tmp")" ] || fail "$(ls "$dir/tmp"/*) is left after $signal"
done

# ---- a kernel with many buffers, as of an unrolled recurrence, is measured as others are; one that
# the measurer cannot take ends its own tuning only
{
  sum=0
  for k in $(seq 80); do echo "input A$k[64]"; sum="$sum + A$k[i]"; done
  echo "y[i] = $sum"
  echo "input Z[1000000000000]"
  echo "z[i] = 2*Z[i]"
  echo "output y, z"
} > "$dir/many.expr"
"$neoc" tune "$dir/many.expr" --time=3s --records="$dir/many" --format=json > "$dir/out" 2> "$dir/err" ||
  fail "many buffers" "$dir/err"
[ "$(grep -o '"failed"' "$dir/out" | wc -l)" = 1 ] || fail "not one kernel was refused" "$dir/out"
grep -q '"failed": "not measured: its buffers have' "$dir/out" || fail "why not" "$dir/out"
grep -q '"name": "y".*"default_ns"' "$dir/out" || fail "y was not measured" "$dir/out"

# ---- a place that cannot be written is told before the search
status=0
timeout 30 "$neoc" tune "$dir/m.expr" --time=10m --records=/proc/x/y --log=none > "$dir/out" 2> "$dir/err" ||
  status=$?
[ "$status" = 3 ] || fail "exit code $status where nothing can be written" "$dir/err"
grep -q '/proc/x/y: ' "$dir/err" || fail "which place" "$dir/err"

# ---- mistakes
for bad in --time=soon --threads=0 --kernel='(' --size=Q=3; do
  status=0
  "$neoc" tune "$dir/m.expr" "$bad" > "$dir/out" 2> "$dir/err" || status=$?
  [ "$status" = 2 ] || fail "$bad: exit code $status" "$dir/err"
done
echo ok

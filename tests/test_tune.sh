#!/bin/sh
# `neoc tune`: what it finds is recorded, used by `neoc compile --records`, and not searched for again.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" "$NEO_BUILD_DIR/bin/neo-measure"
export XDG_CACHE_HOME=$work/cache

cat > "$work/m.expr" <<'EOF'
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
"$NEOC" tune "$work/m.expr" --time=6s --format=json > "$work/out.json" 2> "$work/err" ||
  die "neoc tune" "$work/err"
grep -q '"ok": true' "$work/out.json" || die "no result" "$work/out.json"
grep -q '"failed"' "$work/out.json" && die "a kernel could not be tuned" "$work/out.json"
trials=$(sed -n 's/.*"trials": \([0-9]*\), "refused": \([0-9]*\).*/\1/p' "$work/out.json")
[ "$trials" -gt 4 ] || die "only $trials trials" "$work/out.json"
[ -s "$work/cache/neo/trials" ] || die "no log"
[ "$(grep -c '"ratio"' "$work/cache/neo/trials")" -ge "$trials" ] || die "trials are missing in the log"
"$NEOC" verify "$work/m.expr" --records=user > "$work/verify" 2>&1 ||
  die "the tuned model is wrong" "$work/verify"

# ---- a second run knows what the first one tried
sort "$work/cache/neo/trials" > "$work/before"
"$NEOC" tune "$work/m.expr" --time=3s -q > "$work/out" 2> "$work/err" || die "the second run" "$work/err"
sort "$work/cache/neo/trials" > "$work/after"
comm -13 "$work/before" "$work/after" | sed 's/,"ratio".*//' | sort > "$work/new"
sed 's/,"ratio".*//' "$work/before" | sort -u > "$work/old"
again=$(comm -12 "$work/old" "$work/new" | wc -l) # races of what was found before, no more than that
known=$(wc -l < "$work/old")
[ $((again * 3)) -le "$known" ] || die "$again of $known trials were made again"

# ---- an interruption keeps what there is, and says so by its exit code
mkdir "$work/tmp"
for signal in INT TERM HUP; do
  TMPDIR=$work/tmp "$NEOC" tune "$work/m.expr" --time=60s --records="$work/$signal" > "$work/out" 2> "$work/err" &
  pid=$!
  sleep 2
  kill -$signal $pid
  code=0
  wait $pid || code=$?
  [ "$code" -gt 128 ] || die "exit code $code after $signal" "$work/err"
  [ -s "$work/$signal.trials" ] || die "nothing was kept"
  grep -q ' trials, ' "$work/out" || die "no result after $signal" "$work/out"
  [ -z "$(ls "$work/tmp")" ] || die "$(ls "$work/tmp"/*) is left after $signal"
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
} > "$work/many.expr"
"$NEOC" tune "$work/many.expr" --time=3s --records="$work/many" --format=json > "$work/out" 2> "$work/err" ||
  die "many buffers" "$work/err"
[ "$(grep -o '"failed"' "$work/out" | wc -l)" = 1 ] || die "not one kernel was refused" "$work/out"
grep -q '"failed": "not measured: its buffers have' "$work/out" || die "why not" "$work/out"
grep -q '"name": "y".*"default_ns"' "$work/out" || die "y was not measured" "$work/out"

# ---- a place that cannot be written is told before the search
code=0
timeout 30 "$NEOC" tune "$work/m.expr" --time=10m --records=/proc/x/y --log=none > "$work/out" 2> "$work/err" ||
  code=$?
[ "$code" = 3 ] || die "exit code $code where nothing can be written" "$work/err"
grep -q '/proc/x/y: ' "$work/err" || die "which place" "$work/err"

# ---- mistakes
for bad in --time=soon --threads=0 --kernel='(' --size=Q=3 --records=none,a,b; do
  code=0
  "$NEOC" tune "$work/m.expr" "$bad" > "$work/out" 2> "$work/err" || code=$?
  [ "$code" = 2 ] || die "$bad: exit code $code" "$work/err"
done
echo ok

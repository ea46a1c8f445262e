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
  for k in $(seq 30); do [ -s "$work/$signal.trials" ] && break; sleep 1; done
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

# ---- a model of graphs: the tables of its levels are those of a run, kernels of its loops take part,
# and what is recorded is used; a first and a last candidate of each kernel are right elsewhere, too
cat > "$work/tree.expr" <<'EOF'
import nn, optim
graph G(children <= 2, vertices <= 512)
assert G.vertices % 5 == 0
input word[G.vertices] : -1 <= i32 < 50
input label[G.vertices] : i32 < 5
param T[50, 24] = normal(0, 0.1)
vertex cell(x[24]; D) over G {
  gather h[2, D] = 0
  param W[24, D] = glorot(24, D)
  param U[2, D, D] = glorot(2*D, D)
  h2[j] = tanh((sum[e] x[e] * W[e, j]) + (sum[k, l] h[k, l] * U[k, l, j]))
  scatter h = h2
  push h2
}
x[v, e] = (T[word[v], e] else 0)
loss = nn.cross_entropy(nn.linear(cell(x, D = 24), out = 5), label)
train loss using optim.adam()
EOF
for k in 1 2 3 4 5 6; do # of a busy machine a run may get little
  "$NEOC" tune "$work/tree.expr" --time=$((k * 5))s --records="$work/tree" --format=json > "$work/out" 2> "$work/err" ||
    grep -q 'the time was over before' "$work/out" || die "run $k of a model of graphs" "$work/err"
  grep -q '"failed"' "$work/out" && die "a default kernel is wrong, or could not be measured" "$work/out"
  cat "$work/out" >> "$work/runs"
  grep -q '"name": "slice[^"]*by_level' "$work/runs" && grep -q '"recorded": true' "$work/runs" && break
done
[ "$k" -lt 6 ] || die "nothing was recorded, or no kernel of a loop was measured" "$work/runs"
"$NEOC" explain "$work/tree.expr" --schedule --records="none,$work/tree" > "$work/out" 2> "$work/err" ||
  die "explain" "$work/err"
grep -q "by a record of $work/tree" "$work/out" || die "no record is used" "$work/out"
"$NEOC" verify "$work/tree.expr" --size G.vertices=40 --records="$work/tree" > "$work/verify" 2>&1 ||
  die "the tuned model of graphs is wrong" "$work/verify"
"$NEOC" tune "$work/tree.expr" --emit="$work/elsewhere" --candidates=1 --log=none -q > "$work/out" 2> "$work/err" ||
  die "emit" "$work/err"
"$NEO_BUILD_DIR/bin/neo-measure" "$work/elsewhere" > "$work/out" 2> "$work/err" || die "neo-measure" "$work/err"
grep -q 'mode=base ok=0\|mode=base .*ok=0' "$work/elsewhere/results" &&
  die "a default kernel is wrong on the inputs of a run" "$work/elsewhere/results"

# ---- where nothing could be tuned, that is a failure
code=0
"$NEOC" tune "$work/many.expr" --kernel='^z$' --time=3s --records="$work/none" > "$work/out" 2> "$work/err" || code=$?
[ "$code" = 1 ] || die "exit code $code where the only kernel cannot be measured" "$work/err"
grep -q 'no kernel could be tuned; z: not measured: its buffers have' "$work/err" || die "why" "$work/err"
code=0
"$NEOC" tune "$work/m.expr" --time=0s --records="$work/none" --format=json > "$work/out" 2> "$work/err" || code=$?
[ "$code" = 1 ] || die "exit code $code without time" "$work/err"
grep -q '"ok": false, "error": "the time was over before a kernel was measured' "$work/out" || die "why" "$work/out"

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

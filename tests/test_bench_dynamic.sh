#!/bin/sh
# tools/bench dynamic: lists its rows; a row without its data is skipped and says so; complete trees need none, are
# batched by level right, and give ratios, figures a second, what switches bring and the shares of a step; the
# classes of kernels are told apart by their loops.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3 cc
unset NEO_BENCH_TORCH # that of whoever runs the test
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || die "Debian's python3-numpy is missing: tools/setup installs it"
mkdir bin && ln -s "$python" bin/python3
bench() {
  PATH=$work/bin:$PATH NEO_DATA=$work/nothing NEO_BUILD_DIR=$NEO_BUILD_DIR \
    "$NEO_SOURCE_DIR/tools/bench" dynamic --peers "$work" --rounds 1 "$@"
}

# ---- the rows
bench --list --serial=--no-fuse=all --switch 'two at once=--no-fuse=cache --skip-pass=cse' >rows
[ "$(sort rows | uniq -d)" = "" ] || fail "two rows have one name"
for name in 'Tree-LSTM batch 1' 'child-sum Tree-LSTM batch 64' 'Tree-FC 256 leaves hidden 512' \
  'Var-LSTM hidden 256 of 10000 words' 'Fixed-LSTM hidden 512 of 256 words' 'levels: Tree-LSTM batch 16' \
  'two threads: Tree-LSTM batch 64' 'edges: attention by maximum' 'lists: beside 32 places' \
  'without two at once: Tree-FC hidden 64' 'shares: Tree-FC 1024 leaves'; do
  grep -qx "$name" rows || fail "no row '$name'"
done
bench --list >rows
grep -q '^levels: Tree-LSTM batch 1$' rows || fail "no vertices one by one"
expect 2 "no such row" bench --rows 'no such row'
expect 2 "a switch without options" bench --switch fusion --list
expect 2 "time of the processor for a GPU" bench --target nvptx:sm_90a --clock cpu

# ---- data that is not there
bench --rows '^(Tree-LSTM batch 16|Var-LSTM hidden 256 of 256 words)$' >out || fail "rows without data" out
[ "$(grep -c '^[TV].*skipped: .* is not there' out)" = 4 ] || fail "absent data is not told" out

# ---- a peer that computes nothing: two seconds for each pass
cat >torch <<'END'
#!/bin/sh
[ "$1" != -c ] || exit 0
echo 'ready {}'
while read -r command calls; do echo "us $((calls * 2000000)) $((calls * 2000000))"; done
END
chmod +x torch
NEO_BENCH_DYNET= NEO_BENCH_TORCH=$work/torch bench --json "$work/json" \
  --rows '^(Tree-FC 32 leaves hidden 64|shares: Tree-FC 32 leaves)$' >out || fail "complete trees" out
grep -q 'torch levels 64, torch arranging 64 trees/s' out || fail "no trees a second" out
cat >check.py <<'END'
import json
tree, shares = json.load(open("json"))
assert "NEO_BENCH_DYNET" in tree["missing"]["dynet"], tree
assert tree["peer"] == "torch levels" and "torch arranging" in tree["by_hand"], tree
assert abs(tree["ratio"] * tree["times"]["ours default"]["median_us"] / 2e6 - 1) < 1e-3, tree
shares = shares["shares"]
assert set(shares) == {"construction", "moves", "arithmetic", "between steps"}, shares
assert all(0 <= v <= 1 for v in shares.values()) and shares["arithmetic"] > 0, shares
assert abs(sum(shares.values()) - 1) < 0.05, shares
END
"$python" check.py || fail "the results are not as they should be" json

# ---- a switch is compared with the same without it
bench --rows '^without fusion: Tree-FC hidden 64$' --json "$work/json" >out || fail "a switch" out
grep -q '^without fusion: Tree-FC hidden 64 .* baseline;' out || fail "no ratio of a switch" out

# ---- classes of kernels
cat >kinds.py <<'END'
import sys
sys.path.insert(0, sys.argv[1] + "/tools/benchmarks")
sys.dont_write_bytecode = True
from measure.dynamic import kind_of
head = "neo-loop 2\nkernel k(a: i32 read align 4, b: %s write align 4) sizes n units 1\n"
whole = head % "i32" + "for i in 0..n\n  b[i] = max(a[i] + 1:i32, 0:i32)\n"
assert kind_of(whole) == "construction"
move = "for i in 0..n\n  b[i] = c[i64(a[2*i + 1])*4] if 0 <= a[i] - 1 else 0.0\n"
assert kind_of(head % "f32" + move) == "moves"
assert kind_of(head % "f32" + "for i in 0..n\n  b[i] = c[i] * 2.0\n") == "arithmetic"
assert kind_of(head % "f32" + "for i in 0..n\n  b[i] = tanh(c[i])\n") == "arithmetic"
END
"$python" kinds.py "$NEO_SOURCE_DIR" || fail "a kernel is of another class"
exit $status

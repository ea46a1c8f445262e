#!/bin/sh
# tools/bench cpu --baseline: the same build on both sides makes the same code, which is as quick;
# a compiler that has become slower is named, by its row, and the exit code is 1; --all measures
# rows of the same code too; results are JSON, and --resume leaves out rows that it has.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3 cc
bench() {
  NEO_BUILD_DIR=$ours "$NEO_SOURCE_DIR/tools/bench" cpu --baseline "$NEO_BUILD_DIR" --clock cpu \
    --compiles 3 --rounds 3 "$@"
}

# build FOLDER OPTION...: the build under test, whose `neoc compile` has these options too.
build() {
  mkdir -p "$1/bin"
  ln -s "$NEO_BUILD_DIR/lib" "$NEO_BUILD_DIR/include" "$1"
  cat >"$1/bin/neoc" <<-SCRIPT
	#!/bin/sh
	verb=\$1; shift
	exec "$NEOC" "\$verb" ${2:-} "\$@"
	SCRIPT
  chmod +x "$1/bin/neoc"
}

# ---- rows: each level has its own
ours=$NEO_BUILD_DIR
bench --list >rows
[ "$(sort rows | uniq -d)" = "" ] || fail "two rows have one name"
for name in 'gemm f32 64x64x64 threads 1, native' 'conv f32 n1 3x224x64 7x7/2 weights, x86-64-v3' \
  'mlp batch 1, native' 'sublstm_unrolled batch 1 forward, x86-64-v3'; do
  grep -qx "$name" rows || fail "no row '$name'"
done

# ---- the same build. On a busy machine, compiling may still look slower than it is.
row='^gemm f32 64x64x64 .*, native$'
bench --rows "$row" --json "$work/r.json" >out 2>err || grep -q '^short: .*compile time' out ||
  die "the same build falls short of itself" err
grep -q '^| gemm f32 64x64x64 threads 1, native *| 1.000 (same code) | ' out ||
  fail "the same code is not said" out
grep -q '^1 rows; geometric mean 1.000 of speed, ' out || fail "no geometric mean" out
grep -q '^smallest speed 1.000: gemm' out || fail "no smallest speed" out
grep -q '^largest compile time [0-9.]*: gemm' out || fail "no largest compile time" out
python3 - <<'END_OF_CHECK' || fail "the results are not as they should be" r.json
import json
r, = json.load(open("r.json"))
assert r["ratio"] == 1 and r["functions"] > 0 and r["differ"] == [], r
assert r["times"] == {} and not r["missing"], r
assert len(r["compile_s"]["ours"]) == len(r["compile_s"]["baseline"]) >= 3, r
END_OF_CHECK
cp r.json before
bench --rows "$row" --json "$work/r.json" --resume >out 2>err || true
cmp -s before r.json || fail "--resume measures a row again" r.json
bench --rows "$row" --mcpu native --all --json "$work/all.json" >out 2>err || true
grep -q '"us": \[.*"us": \[' all.json || fail "--all measures nothing" out

# ---- a slower one
ours=$work/slower
build "$ours" --no-fuse=all
expect 1 "a slower compiler" bench --rows '^softmax forward and backward, native$'
grep -q '^short: softmax forward and backward, native: speed 0\.' out ||
  fail "the slower row is not named" out
grep -q '^| softmax .* of [0-9]* functions differ) | ' out || fail "nothing differs" out

# ---- one that does not compile
ours=$work/broken
build "$ours" --no-such-option
expect 1 "a broken compiler" bench --rows "$row"
grep -q '^short: gemm.*, native: ours neoc compile: ' out || fail "a broken row is not named" out
expect 2 "a baseline without a compiler" env NEO_BUILD_DIR="$NEO_BUILD_DIR" \
  "$NEO_SOURCE_DIR/tools/bench" cpu --baseline "$work/nowhere" --rows "$row"
exit $status

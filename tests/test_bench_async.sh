#!/bin/sh
# tools/bench async: lists its rows; a row without its data, or without its peer, says so; deductions need no
# data, take less virtual time with more keys, and are charted; results are whole JSON.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3 cc
unset NEO_BENCH_TORCH # that of whoever runs the test
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || die "Debian's python3-numpy is missing: tools/setup installs it"
mkdir bin && ln -s "$python" bin/python3
bench() {
  PATH=$work/bin:$PATH NEO_DATA=$work/nothing NEO_BUILD_DIR=$NEO_BUILD_DIR \
    "$NEO_SOURCE_DIR/tools/bench" async --rounds 1 "$@"
}

# ---- the rows
bench --list >rows
[ "$(sort rows | uniq -d)" = "" ] || fail "two rows have one name"
for name in 'virtual: mnist 4 keys over 1' 'two threads over one: mnist batch 10' 'peer: gpipe batch 100' \
  'predicted: two threads of deduction' 'task: list reduction'; do
  grep -qx "$name" rows || fail "no row '$name'"
done
expect 2 "no such row" bench --rows 'no such row'

# ---- what is not there
bench --rows '^virtual: (mnist 4|sentiment 8)' >out || fail "rows without data" out
[ "$(grep -c '^virtual: .*skipped: .* is not there' out)" = 2 ] || fail "absent data is not told" out
bench --rows '^peer: gpipe batch 100$' >out || fail "a row without its peer" out
grep -q 'torch is not installed' out || fail "an absent peer is not told" out

# ---- deductions
bench --rows '^(choice|virtual): deduction' --json "$work/json" --gantt "$work/charts" --latency 1e-6 >out || fail "deductions" out
grep -q '^choice: deduction .*keys 1: [0-9]*/s, 2: [0-9]*/s' out || fail "no keys are chosen" out
cat >check.py <<'END'
import json
rows = {r["name"]: r for r in json.load(open("json"))}
keys = rows["virtual: deduction 16 keys over 1"]["per_second"]
assert set(keys) == {"1", "16"} and keys["16"] > keys["1"], keys
assert rows["choice: deduction"]["ratio"] in (1, 2, 4, 8, 16), rows
END
"$python" check.py || fail "the results are not as they should be" json
for keys in 1 16; do
  grep -q '<rect class="backward"' "charts/deduction-$keys.svg" || fail "no chart of $keys keys"
done
exit $status

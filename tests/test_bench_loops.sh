#!/bin/sh
# tools/bench loops: a row for each depth and each place of a loop that leaves early, with a value for each number of iterations.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized # libraries that are timed
needs "$NEOC"

NEO_BUILD_DIR=$NEO_BUILD_DIR expect 0 "the rows" sh "$NEO_SOURCE_DIR/tools/bench" loops --rounds 1 --json "$work/rows.json"
says out '^1M elements .*R = 5 .*R = 50 .*bound' "the head of memory"
says out '^three deep  *MiB ' "a depth"
says out '^copies of carries  *kernels ' "copies"
says out '^early exit .*limit 10 .*limit 500 .*bound' "the head of times"
python3 - "$work/rows.json" >checked 2>&1 <<'P' || fail "the rows" checked
import json, sys
rows = json.load(open(sys.argv[1]))
kinds = {(r["name"], r["unit"]) for r in rows}
assert {("alone", "us"), ("in scans", "MiB"), ("gradient", "us")} <= kinds, kinds
assert all(r["within"] == (max(r["values"]) <= r["bound"]) for r in rows)
assert all(len(r["values"]) == 3 and min(r["values"]) > 0 for r in rows if r["unit"] != "kernels"), rows
one = next(r["values"] for r in rows if r["name"] == "one deep")
assert one[0] == one[2], one  # a single loop keeps the same memory
P
exit $status

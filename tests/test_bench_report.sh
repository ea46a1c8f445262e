#!/bin/sh
# tools/bench report: docs/benchmarks.md and its figures are what it makes of the stored results; a ratio is the peer's median
# over ours, whatever a result says of it itself; where we lose, the page says so; peers by hand and copies of memory are no peers.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs python3
report() { NEO_BUILD_DIR=$NEO_BUILD_DIR "$NEO_SOURCE_DIR/tools/bench" report "$@"; }

# ---- the page of the tree
report --out "$work/docs" || die "no page"
diff -u "$NEO_SOURCE_DIR/docs/benchmarks.md" "$work/docs/benchmarks.md" >changes || fail "docs/benchmarks.md: tools/bench report" changes
diff -r "$NEO_SOURCE_DIR/docs/benchmarks" "$work/docs/benchmarks" >changes || fail "docs/benchmarks: tools/bench report" changes

# ---- results that were made up
mkdir forged
cat >forged.py <<'END'
import json

def row(name, group, ours, **peers):
    times = {"ours default": {"us": ours}, **{k: {"us": v} for k, v in peers.items()}}
    return dict(name=name, group=group, clock="wall", when="2020-02-02 10:00", ratio=99.0, peer="none", load=0.5,
                times=times, missing={"torch": "torch is not installed"}, versions={"ours": "neoc 1", "quick": "quick 2"})

rows = [row("gemm f32 one threads 1", "gemm f32", [2.0, 4.0, 6.0], quick=[8.0, 8.0, 12.0], slow=[40.0, 40.0, 40.0]),
        row("gemm f32 two threads 1", "gemm f32", [2.0, 4.0, 6.0], quick=[1.0, 1.0, 1.0]),
        row("gemm f32 three threads 1", "gemm f32", [2.0, 4.0, 6.0], quick=[4.0, 4.0, 4.0]),
        row("CTC", "CTC", [1e6], quick=[3e6], hand=[1e3])]
rows[3]["by_hand"] = {"hand": 0.001}
rows[3]["times"]["memory copy"] = {"us": [1.0]}
json.dump(rows, open("forged/cpu.json", "w"))
END
python3 forged.py
report --results "$work/forged" --out "$work/page" || die "no page of forged results"
page=page/benchmarks.md
says $page '^| gemm f32 one | 4 µs | 2.00 (1.60 to 3.33) | quick | slow 10.0 |$' "medians, and their quartiles"
says $page '^| \[gemm f32\](#gemm-f32) | 3 | 0.79 | 0.25 | 2.00 | 1 | 1 | 1 |$' "the geometric mean of 2, 1/4 and 1"
says $page '^Of 4 rows, 1 is slower than the fastest peer' "how often we lose"
says $page '^| gemm f32 two | 0.25 (0.20 to 0.33) | quick |$' "where we lose"
says $page '^Even, .*: gemm f32 three\.$' "what is even"
says $page '^| CTC | 1 s | 3.00 | quick |  |$' "a peer by hand and a copy of memory are no peers"
says $page '^- torch, in .*: torch is not installed$' "what is missing"
grep -q 99 $page && fail "a ratio is taken from the file"
[ "$(ls page/benchmarks)" = "$(printf 'ctc.svg\ngemm-f32.svg\ngroups.svg')" ] || fail "other figures"
for figure in page/benchmarks/*.svg; do python3 -c "import sys, xml.dom.minidom as x; x.parse(sys.argv[1])" "$figure" || fail "$figure"; done
says page/benchmarks/gemm-f32.svg 'prefers-color-scheme: dark' "colours for dark pages"

# ---- measuring: a peer that tells that each call takes a second; a row that is there is not measured again
if [ -x "$NEOC" ] && command -v cc >/dev/null; then
  cat >scipy <<'END'
#!/bin/sh
[ "$1" != -c ] || exit 0
echo 'ready {"version": "a stub"}'
while read -r command calls; do echo "us $((calls * 1000000)) $((calls * 1000000))"; done
END
  chmod +x scipy
  measure() {
    NEO_BENCH_SCIPY=$work/scipy report --measure --rows '^Cholesky 512$' --rounds 1 --peers "$work" --results "$work/stored" \
      --out "$work/measured"
  }
  measure >out 2>&1 || fail "no measurement" out
  says measured/benchmarks.md '^| Cholesky 512 | .* | scipy lapack |  |$' "a row that was measured"
  says measured/benchmarks.md '^| scipy | a stub |$' "the version of a peer"
  cp stored/cpu.json first
  measure >out 2>&1 || fail "a second measurement" out
  cmp -s first stored/cpu.json || fail "a row that is there is measured again"
fi

mkdir none
expect 1 "no results" report --results "$work/none" --out "$work/nothing"
says err 'no stored result has a ratio' "no results"
exit "$status"

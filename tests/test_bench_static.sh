#!/bin/sh
# tools/bench gpu --static: a disassembly is read as instructions, loops and registers; loop IR says how often a sum multiplies and
# what it reads; from both comes how often the hottest loop runs; rows have a line each, kept by what they come from.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3
not_sanitized
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$NEO_SOURCE_DIR/tools/benchmarks"

# A kernel of this compiler's, as nvdisasm printed it: y[256, 1024] of 512 steps, in tiles of 64 by 32 by 64, with boxes.
python3 - "$NEO_SOURCE_DIR/tests/gpu/warpgroup.sass" <<'END' || fail "a disassembly is read as something else"
import sys
from gpu import bounds, sass
lines = open(sys.argv[1]).read().splitlines()
kernel, = sass.read(lines).values()
assert kernel.name == "net_k0_y" and sass.registers(lines) == {"net_k0_y": 42}
loops = kernel.loops()
assert sum(x.waits for x in loops) == 7, [x for x in loops if x.waits] # for phases, and for a turn to ask for a box
hot = kernel.hot()
kinds = sass.kinds(kernel.body(hot))
assert kinds["wgmma"] == 4 and kinds["box"] == 2 and "fma" not in kinds and "spill" not in kinds, kinds
products = [i for i in kernel.body(hot) if i.kind == "wgmma"]
assert {(i.products(), i.type()) for i in products} == {(64 * 32 * 16, "BF16")}
# 128 blocks of 128 threads, 4 stages of 12 KB: 8 blocks of steps each.
x = bounds.Launch("y", 128, 128, 49216, 42, kernel, dict(stages=4, products=2), 256 * 1024 * 512, {"wgmma bf16": 256 * 1024 * 512},
                      128 * 98304, 128 * 98304 + (1 << 20), (256 + 1024) * 1024 + (1 << 20))
rounds, loops = bounds.trips(x)
assert rounds == 8 and hot in loops, rounds
assert bounds.resident(x) == 4 and 36000 < bounds.in_flight(x) < 37000
seconds, bound = bounds.expected(x)
assert seconds >= bounds.roof(x) and bound in bounds.REACHED, (seconds, bound)
assert bounds.bounds(x)["wgmma"] >= 2 * x.products / bounds.PEAK["bf16"]
END

# Loop IR: each way to multiply 512 x 384 by 384 x 256 does so many products (three times as many of 3xtf32), and reads each operand
# at least once.
cat >m.expr <<'END'
dim M = 512
dim N = 256
dim K = 384
input A[M, K]
input B[K, N]
C[i, j] = sum[k] A[i, k]*B[k, j]
output C
END
for way in "f32 1" "bf16 1" "tf32 1" "3xtf32 3"; do
  for level in sm_80 sm_90a; do
    "$NEOC" explain m.expr --target=nvptx:$level --math="${way% *}" --records=none --prefix=net --groups --schedule --kernels >text
    python3 - "${way#* }" <<'END' || fail "$level ${way% *}: other counts" text
import re, sys
from gpu import looptext
text = open("text").read()
units = {name: int(n) for name, n in re.findall(r"^# (\S+)\nneo-loop 2\nkernel .* units (\d+)$", text, re.M)}
found = looptext.read(text)
assert set(found) == set(units)
assert sum(units[k] * c.products() for k, c in found.items()) == 512 * 384 * 256 * int(sys.argv[1]), found
for name, size in (("A", 512 * 384), ("B", 384 * 256)):
    assert max(units[k] * c.read.get(name, 0) for k, c in found.items()) >= 4 * size, (name, found)
assert sum(units[k] * c.written.get("C", 0) for k, c in found.items()) == 4 * 512 * 256, found
END
  done
done
# Each element of a sum within a row is read once, however often it is named; a bound counts its variables' middles.
cat >m.expr <<'END'
input X[4096, 1024]
mx[i] = max[k] X[i, k]
y[i, j] = exp(X[i, j] - mx[i]) / (sum[k] exp(X[i, k] - mx[i]))
output y
END
"$NEOC" explain m.expr --target=nvptx:sm_90a --records=none --prefix=net --kernels >text
python3 - <<'END' || fail "a row's reads are counted twice" text
import re
from gpu import looptext
text = open("text").read()
(name, c), = looptext.read(text).items()
units = int(re.search(r" units (\d+)$", text, re.M)[1])
assert units * c.read["X"] == units * c.written["y"] == 4 * 4096 * 1024, c
assert looptext.value("min(u, 7) + stage[] * 4", {"u": 100}) == 7
END

nvdisasm=${NEO_NVDISASM:-$(command -v nvdisasm || :)}
[ -n "$nvdisasm" ] && command -v ptxas >/dev/null && command -v cc >/dev/null || {
  echo "no nvdisasm or no ptxas: no row was disassembled"
  "$NEO_SOURCE_DIR/tools/bench" gpu --static --check --rows 'gemm f32' >out 2>&1 && fail "what is missing is not said" out
  says out 'is not installed' "a machine without them"
  exit $status
}
mkdir build # what is kept lies here
for name in bin lib share include; do ln -s "$NEO_BUILD_DIR/$name" "build/$name"; done
export NEO_BUILD_DIR="$work/build"
static() { "$NEO_SOURCE_DIR/tools/bench" gpu --static "$work/table.md" --check --rows "$1" --json "$work/rows.json"; }
static 'gemm|softmax|milstm batch|conv 3x12' >out || fail "rows are not read" out
[ "$(grep -c '^| gemm\|^| softmax\|^| milstm\|^| conv' out)" -eq 9 ] || fail "other rows" out
for title in '## 2 products' '## 3 convolutions' '### 6 memory bound: '; do says table.md "^$title" "the table"; done
[ "$(grep -c '^| gemm' table.md)" -eq 8 ] || fail "a row has not two lines" table.md
python3 - <<'END' || fail "what is said of rows"
import json
rows = {r["name"]: r for r in json.load(open("rows.json"))}
assert rows["softmax forward and backward"]["launches"] == 1
for name, r in rows.items():
    assert 0 < r["roof_us"] <= r["expected_us"] and 0 < r["share"] <= 1 and r["registers"] > 8, r
    assert sum(r["kinds"].values()) > 10 and r["blocks"] >= 1 and r["resident"] >= 1, r
assert rows["gemm 3xtf32 40"]["kinds"]["mma"] > 0 and rows["gemm f32 40"]["kinds"]["fma"] > 0
END
start=$(ls -l --time-style=full-iso "$NEO_BUILD_DIR"/gpu-static/*/record.json | cksum)
static 'gemm' >again
grep '^| gemm' out | cmp -s - again || fail "a second run says something else" again
[ "$(ls -l --time-style=full-iso "$NEO_BUILD_DIR"/gpu-static/*/record.json | cksum)" = "$start" ] || fail "nothing is kept"
exit $status

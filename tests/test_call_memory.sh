#!/bin/sh
# The memory that describe and explain show: the peak at the largest sizes, and that of calls at others.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3
cat >calls.expr <<'END'
dim B <= 65536
dim 2 <= T <= 16
input X[B, T]
h[b, t] = tanh(X[b, t])
s[b] = sum[t] h[b, t]
y[b, t] = h[b, t]*s[b]
z = sum[b, t] y[b, t]*h[b, t]
output z
END

expect 0 "describe" "$NEOC" describe calls.expr
says out 'at the largest sizes$' "describe"
says out 'frame at the smallest sizes [0-9]* B$' "describe"
expect 0 "describe at sizes" "$NEOC" describe --size B=48 --size T=5 calls.expr
says out 'frame at the smallest sizes .*, at B = 48, T = 5: ' "describe at sizes"
says out 'in all, 1 thread: .* at the largest sizes, .* at B = 48, T = 5$' "describe at sizes"

expect 2 "an unknown size" "$NEOC" describe --size C=48 calls.expr
says err 'C is no run-time size of the model' "an unknown size"
expect 1 "a size out of its bounds" "$NEOC" describe --size T=1 calls.expr
says err 'T = 1 is not in \[2, 16\]' "a size out of its bounds"
expect 2 "sizes without a page" "$NEOC" explain --size B=48 calls.expr
says err '.--size tells the memory of --html' "sizes without a page"

# A library tells what its model does; what is told grows with the sizes, up to the plan.
"$NEOC" compile -q calls.expr -o .
told() { "$NEOC" describe --format=json --size B="$1" --size T="$2" "$3"; }
told 48 5 calls.expr >model.json
told 48 5 ./libcalls.so >library.json
told 1 2 calls.expr >least.json
told 65536 16 calls.expr >most.json
python3 - <<'END' || fail "the numbers disagree"
import json
model, library, least, most = (json.load(open(f + ".json")) for f in ("model", "library", "least", "most"))
assert model["memory"] == library["memory"], library["memory"]
assert model["memory"]["at"] == {"B": 48, "T": 5}, model["memory"]
e, lo, hi = (x["entries"][0] for x in (model, least, most))
assert e["least_frame_bytes"] == lo["frame_bytes_at"] > 0, (e, lo)
assert lo["frame_bytes_at"] <= e["frame_bytes_at"] < 40000 < e["frame_bytes"], e
assert hi["frame_bytes_at"] == e["frame_bytes"], hi
assert model["memory"]["ctx_bytes_at"] < 50000 < most["memory"]["ctx_bytes_at"], model
assert most["memory"]["ctx_bytes_at"] <= most["memory"]["arena_bytes"], most
END

expect 0 "a page" "$NEOC" explain --html=page.html --size B=48 calls.expr
says page.html 'memory at B = 48, T = 16' "a page"
expect 1 "a page of a bad size" "$NEOC" explain --html=page.html --size B=0 calls.expr
exit "$status"

#!/bin/sh
# compile --pure: parameters, states and settings are arguments of the entries, updates are results.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" /usr/bin/python3
cat >m.expr <<'EOF'
import optim
input x[4]
param w[4] = 1
state n = 0
update n = n + 1
loss = sum[i] (w[i]*x[i] - 1)^2
output loss
output count: loss update n
train loss using optim.momentum(lr = 0.1)
EOF
"$NEOC" compile m.expr --pure --emit=json >/dev/null || fail "compile --pure"
/usr/bin/python3 - <<'EOF' || fail "entries of a pure model"
import json
m = json.load(open("m.json"))
kinds = {t["name"]: t["role"] for t in m["tensors"]}
assert not {"param", "state", "setting"} & set(kinds.values()), kinds
entries = {e["name"]: e for e in m["entries"]}
assert "grad" not in entries, entries
step = entries["step"]
assert {"x", "w", "n", "lr"} <= set(step["inputs"]), step
assert step["outputs"][0] == "output:loss" or step["outputs"][0] == "loss", step
new = {name.split(":")[-1] for name in step["outputs"][1:]}
assert {"w", "n", "w.momentum.v"} <= new, step
assert [n.split(":")[-1] for n in entries["count"]["outputs"]] == ["loss", "n"], entries
assert entries["forward"]["inputs"] == ["x", "w"], entries
EOF
exit $status

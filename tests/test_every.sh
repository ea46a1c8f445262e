#!/bin/sh
# `train ... every N`: the optimizer runs once N rows have added to the gradient, which is their mean.
# Steps of 8 rows with `every 32` equal steps of 32 rows; rows are counted over the end of an epoch
# and in the checkpoint; `step` counts updates; `of` counts something else.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3

cat >data.expr <<'END'
input R[96, 5]
X[n, i] = R[n, i]
Y[n] = argmax[j < 3] R[n, j]
output X, Y
END
"$NEOC" run data.expr R=random:5 -o data.npz >/dev/null
data=X=data.npz:X,Y=data.npz:Y

model() { # NAME TRAIN
  cat >"$1.expr" <<END
import nn, optim
dim B <= 32
input X[B, 5]
input Y[B] : i32 < 3
h = nn.linear(X, out = 16)
r[b, j] = relu(h[b, j])
L = nn.linear(r, out = 3)
loss = nn.cross_entropy(L, Y)
output L
$2
END
}
model whole 'train loss using optim.adam(lr = 0.01*f32(step + 1), clip = 1)'
model every 'train loss using optim.adam(lr = 0.01*f32(step + 1), clip = 1) every 32'
model steps 'train loss using optim.adam(lr = 0.01*f32(step + 1), clip = 1) every 4 of 1'
model odd 'train loss using optim.adam(lr = 0.01) every 60'

cat >same.py <<'END'
import json, struct, sys

def tensors(path):
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        body = f.read()
    for name, x in head.items():
        if name != "__metadata__" and x["dtype"] == "F32":
            a, b = x["data_offsets"]
            yield name, struct.unpack(f"<{(b - a)//4}f", body[a:b])

a, b = (dict(tensors(p)) for p in sys.argv[1:3])
names = [n for n in a if n in b]
assert any(n.endswith(".W") for n in names), names
for n in names:
    size = max(max(map(abs, a[n])), 1e-3)
    off = max(abs(x - y) for x, y in zip(a[n], b[n]))
    assert off <= float(sys.argv[3])*size, (n, off, size)
END

train() { # MODEL FILE ARGUMENTS...
  model=$1 file=$2
  shift 2
  expect 0 "training $model" "$NEOC" train "$model.expr" --data $data --seed 3 --save "$file" -q "$@"
}
train whole a.st --batch 32 --epochs 4
train every b.st --batch 8 --epochs 4
train steps c.st --batch 8 --epochs 4
python3 same.py a.st b.st 2e-5 || fail "four steps of 8 rows differ from one of 32"
python3 same.py b.st c.st 0 || fail "counting steps differs from counting rows"

# 96 rows are one update of 60 and 36 left, with which the second epoch begins
train odd d.st --batch 12 --epochs 5
train odd e.st --batch 12 --epochs 1
cp e.st f.st
train odd f.st --batch 12 --epochs 5 --resume
cmp -s d.st f.st || fail "rows that were counted are not in the checkpoint"
python3 same.py d.st e.st 1e-3 2>/dev/null && fail "four epochs change nothing"

expect 0 "compiled and interpreted" "$NEOC" verify every.expr -q
expect 0 "gradients" "$NEOC" grad-check every.expr -q
exit "$status"

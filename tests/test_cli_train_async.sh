#!/bin/sh
# `neoc train --async`: with one key and an update after each message the losses and weights are those
# of synchronous training; more keys learn too; checkpoints go both ways; an interrupted training has
# a checkpoint that loads; what asynchronous training cannot do is refused.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3

cat >data.expr <<'END'
input R[310, 4]
X[n, i] = R[n, i]
Y[n] = argmax[j < 3] R[n, j]
output X, Y
END
"$NEOC" run data.expr R=random:5 -o data.npz >/dev/null
"$NEOC" run data.expr R=random:6 -o test.npz >/dev/null
cat >model.expr <<'END'
import nn, optim
dim B <= 62
input X[B, 4]
input Y[B] : i32 < 3
h = nn.linear(X, out = 64)
d = nn.dropout(h, p = 0.1)
r[b, j] = relu(d[b, j])
k = nn.linear(r, out = 32)
g[b, j] = tanh(k[b, j])
L = nn.linear(g, out = 3)
loss = nn.cross_entropy(L, Y)
accuracy = mean[b] f32(argmax[c] L[b, c] == Y[b])
output L
output test: loss, accuracy
train loss using optim.adam(lr = 1e-2)
END
sed 's/p = 0.1/p = 0/' model.expr >plain.expr
data="--data X=data.npz:X,Y=data.npz:Y"
test="--test X=test.npz:X,Y=test.npz:Y"

train() { # FILE ARGUMENTS...
  file=$1
  shift
  rm -f "$file"
  expect 0 "training $*" "$NEOC" train model.expr $data --seed 3 --batch 31 --save "$file" --format=json "$@"
  grep '"epoch"' out >lines || true
}

# same.py A B TOLERANCE: tensors of two checkpoints; with lines, the losses of two runs.
cat >same.py <<'END'
import json, struct, sys

def tensors(path):
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        body = f.read()
    for name, x in head.items():
        if name != "__metadata__":
            a, b = x["data_offsets"]
            yield name, (struct.unpack(f"<{(b - a)//4}f", body[a:b]) if x["dtype"] == "F32" else body[a:b])

def losses(path):
    return [json.loads(line)["loss"] for line in open(path)]

one, other, tolerance = sys.argv[1], sys.argv[2], float(sys.argv[3])
if one.endswith(".st"):
    a, b = dict(tensors(one)), dict(tensors(other))
    assert set(a) == set(b), set(a) ^ set(b)
    for name in a:
        if isinstance(a[name], bytes):
            assert a[name] == b[name], name
            continue
        size = max(max(map(abs, a[name]), default=0), 1e-3)
        off = max((abs(x - y) for x, y in zip(a[name], b[name])), default=0)
        assert off <= tolerance*size, (name, off, size)
else:
    for x, y in zip(losses(one), losses(other)):
        assert abs(x - y) <= tolerance*abs(x), (x, y)
END

# ten steps of 31 rows; then an odd last batch
train a.st
cp lines a.lines
train b.st --async=keys:1,every:1
cp lines b.lines
python3 same.py a.st b.st 1e-6 || fail "one key: the weights of ten steps differ"
python3 same.py a.lines b.lines 1e-6 || fail "one key: the losses differ"
train c.st --batch 62 --epochs 3 $test
cp lines c.lines
train d.st --batch 62 --epochs 3 $test --async=keys:1
python3 same.py c.lines lines 1e-4 || fail "one key, a smaller last batch: the losses differ"
train e.st --async=keys:1,workers:1
python3 same.py a.st e.st 1e-6 || fail "one key and a worker: the weights differ"

# messages of a part of the batch add up to its gradient
plain() { # FILE ARGUMENTS...
  file=$1
  shift
  expect 0 "plain $*" "$NEOC" train plain.expr $data --seed 3 --batch 62 --save "$file" -q "$@"
}
plain f.st --epochs 2
plain g.st --epochs 2 --async=rows:20
python3 same.py f.st g.st 1e-4 || fail "messages of 20 rows differ from batches of 62"

# layers of `repeat`, whose stacked parameters are of several actors
cat >deep.expr <<'END'
import nn, optim
dim B <= 62
input X[B, 4]
input Y[B] : i32 < 3
h = repeat l < 3 from h[n < B, j < 4] = X[n, j] {
  a = nn.linear(h, out = 4)
  next h[n, j] = h[n, j] + relu(a[n, j])
}
L = nn.linear(h, out = 3)
loss = nn.cross_entropy(L, Y)
output L
train loss using optim.adam(lr = 1e-2)
END
deep() { # FILE ARGUMENTS...
  file=$1
  shift
  expect 0 "deep $*" "$NEOC" train deep.expr $data --seed 3 --batch 31 --save "$file" -q "$@"
}
deep deep.st
deep slices.st --async=keys:1
python3 same.py deep.st slices.st 1e-5 || fail "stacked parameters differ"
cp deep.st more.st
deep deep.st --epochs 2 --resume
deep more.st --epochs 2 --resume --async=keys:1
python3 same.py deep.st more.st 1e-4 || fail "stacked parameters of a checkpoint differ"

# a model that accumulates gradients by itself
sed 's/lr = 1e-2)/lr = 1e-2) every 62/' plain.expr >every.expr
for keys in 0 1 4; do
  async=--async=keys:$keys
  [ "$keys" -gt 0 ] || async=-q
  expect 0 "every, $keys keys" "$NEOC" train every.expr $data --seed 3 --batch 31 --epochs 2 --save every$keys.st $async
done
python3 same.py every0.st every1.st 1e-5 || fail "one key, every: the weights differ"

# more keys and workers learn
train h.st --epochs 30 $test --async=keys:4,workers:2
last=$(tail -n 1 lines)
case $last in
  *'"epoch": 30'*'"accuracy": 0.9'*'"async": {"keys": 4'*'"nodes": ['*) ;;
  *) fail "four keys and two workers: $last" ;;
esac
printf '%s' "$last" | python3 -c '
import json, sys
x = json.load(sys.stdin)["async"]
assert len(x["workers"]) == 2 and all(0 <= u <= 1.01 for u in x["workers"]), x
assert any(n["backward"] == 10 and n["updates"] == 10 for n in x["nodes"]), x
assert 0 <= x["staleness"] <= x["most_stale"] < 4*len(x["nodes"]), x' || fail "counts of the network: $last"
expect 0 "the text" "$NEOC" train model.expr $data $test --batch 31 --async=keys:4
says out '^epoch 1/1: loss .*, test loss .* samples/s, staleness .* (at most .*), busy .* %$' "the epoch's line"
says err '^node, in the last epoch .* staleness' "the table of nodes"

# the order of messages: by a seed, by a log
train i.st --epochs 2 --async=keys:4,order:7
train j.st --epochs 2 --async=keys:4,order:7
cmp -s i.st j.st || fail "one seed gives two orders"
train k.st --epochs 2 --async=keys:4,workers:2,log:order.log
train l.st --epochs 2 --async=keys:4,replay:order.log
cmp -s k.st l.st || fail "a log that is repeated gives other weights"

# checkpoints both ways
train m.st --epochs 2
cp m.st n.st
expect 0 "asynchronous after synchronous" "$NEOC" train model.expr $data --seed 3 --batch 31 --save n.st \
  --epochs 4 --resume --async=keys:1 -q
expect 0 "synchronous after asynchronous" "$NEOC" train model.expr $data --seed 3 --batch 31 --save n.st \
  --epochs 6 --resume -q
train o.st --epochs 6
python3 same.py o.st n.st 1e-3 || fail "a training that changed its kind twice differs"
expect 0 "--load" "$NEOC" train model.expr $data --batch 31 --load h.st --async=keys:2 -q
train p.st --epochs 3 --save-every 4 --async=keys:4
expect 0 "a forward pass" "$NEOC" run model.expr X=ones:[1,4] --load p.st

# interrupted: what is on its way comes back, and the checkpoint is one to go on from
rm -f q.st out
env --default-signal=INT "$NEOC" train model.expr $data --seed 3 --batch 31 --save q.st --epochs 100000 \
  --async=keys:4,workers:2 >out 2>err &
pid=$!
waited=0
while [ ! -s out ] && [ "$waited" -lt 300 ]; do
  waited=$((waited + 1))
  sleep 0.1
done
kill -INT "$pid" 2>/dev/null || true
code=0
wait "$pid" || code=$?
[ "$code" = 130 ] || fail "interrupted: exit code $code" err
says err 'interrupted in epoch .* go on with --resume' "an interrupted training"
epoch=$(LC_ALL=C grep -a -o -m 1 '"epoch":"[0-9]*"' q.st | tr -dc 0-9)
expect 0 "going on" "$NEOC" train model.expr $data --seed 3 --batch 31 --save q.st --epochs $((epoch + 2)) \
  --async=keys:4,workers:2 --resume -q

# a trace has the messages of each node
rm -f trace.json
expect 0 "--trace" "$NEOC" train model.expr $data --batch 31 --async=keys:2,workers:2,every:2 --trace=trace.json -q
python3 -c '
import json
events = json.load(open("trace.json"))["traceEvents"]
names = {e["name"] for e in events if e.get("ph") == "X"}
assert any("forward" in n for n in names) and any("update" in n for n in names), names
rows = {e["args"]["name"] for e in events if e.get("ph") == "M"}
assert {"worker 0", "worker 1"} <= rows, rows' || fail "the trace"

# a loss that is NaN
expect 1 "NaN" "$NEOC" train model.expr $data --batch 31 --epochs 50 --set lr=1e38 --async=keys:4,workers:2
says err 'the loss of instance .* is nan; nothing was saved (--allow-nan goes on)' "a loss that is NaN"
expect 0 "--allow-nan" "$NEOC" train model.expr $data --batch 31 --epochs 2 --set lr=1e38 --async=keys:4 --allow-nan

refused() { # PATTERN ARGUMENTS...
  pattern=$1
  shift
  expect 2 "refused $*" "$NEOC" train model.expr $data "$@"
  says err "$pattern" "$*"
}
refused "takes keys:N, .*; 'key:4' is none of these" --async=key:4
refused "whole number from 1 to .*, not '0'" --async=keys:0
refused "actors|pinned, not 'fast'" --async=workers:2,place:fast
refused "add workers:N" --async=place:pinned
refused "leave out workers, or order" --async=workers:2,order:1
refused "keys has no value: write keys:N" --async=keys
refused "has keys twice" --async=keys:1,keys:2
refused "a batch has 62 rows" --async=rows:63
refused "leave out --target=nvptx:sm_90" --async=keys:1 --target=nvptx:sm_90
expect 2 "two intervals" "$NEOC" train every.expr $data --async=every:2
says err "the model's .every. decides" "two intervals"
expect 2 "parts of batches with every" "$NEOC" train every.expr $data --batch 31 --async=rows:10,every:2
refused "choose one by --entry" --async=keys:1 --entries=step
grep -v '^train' model.expr >nothing.expr
expect 2 "a model that trains nothing" "$NEOC" train nothing.expr $data --async=keys:1
says err 'trains nothing' "a model that trains nothing"
exit "$status"

#!/bin/sh
# The logs of `neoc train`: --history, --curve and --tensorboard have a row for each epoch or for so many steps, also
# after a kill and --resume; --early-stop and --best keep the best epoch; without a terminal there are lines; a learning rate may be
# an expression of the step.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3

cat >data.expr <<'EOF'
input R[310, 4]
X[n, i] = R[n, i]
Y[n] = argmax[j < 3] R[n, j]
output X, Y
EOF
"$NEOC" run data.expr R=random:5 -o data.npz >/dev/null
"$NEOC" run data.expr R=random:6 -o test.npz >/dev/null
cat >model.expr <<'EOF'
import nn, optim
dim B <= 32
input X[B, 4]
input Y[B] : i32 < 3
L = nn.linear(nn.linear(X, out = 64), out = 3)
loss = nn.cross_entropy(L, Y)
accuracy = mean[b] f32(argmax[c] L[b, c] == Y[b])
output test: loss, accuracy
train loss using optim.adam(lr = 1e-2)
EOF
data="--data X=data.npz:X,Y=data.npz:Y --test X=test.npz:X,Y=test.npz:Y"
train="$NEOC train model.expr $data --seed 3 --format=json"

# An independent reader of TensorFlow's records and of the wire format, with checksums by a table.
cat >events.py <<'EOF'
import glob, json, struct, sys
table = []
for n in range(256):
  for _ in range(8): n = n >> 1 ^ (0x82f63b78 if n & 1 else 0)
  table.append(n)
def masked(data):
  crc = 0xffffffff
  for b in data: crc = table[(crc ^ b) & 255] ^ crc >> 8
  crc ^= 0xffffffff
  return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff
assert masked(b'123456789') == ((0xe3069283 >> 15 | 0xe3069283 << 17) + 0xa282ead8) & 0xffffffff
def fields(b):
  at = 0
  def varint():
    nonlocal at
    x = shift = 0
    while True:
      c = b[at]; at += 1
      x |= (c & 127) << shift; shift += 7
      if c < 128: return x
  while at < len(b):
    key = varint()
    n = {0: None, 1: 8, 5: 4, 2: -1}[key & 7]
    if n is None: yield key >> 3, varint()
    else:
      if n < 0: n = varint()
      yield key >> 3, b[at:at + n]; at += n
def read(path):
  data, at, rows = open(path, 'rb').read(), 0, []
  while at < len(data):
    n, crc = struct.unpack('<QI', data[at:at + 12])
    assert masked(data[at:at + 8]) == crc
    event = data[at + 12:at + 12 + n]
    assert masked(event) == struct.unpack('<I', data[at + 12 + n:at + 16 + n])[0]
    at += n + 16
    f = dict(fields(event))
    assert 1.5e9 < struct.unpack('<d', f[1])[0] < 1e10
    if 3 in f: assert f[3] == b'brain.Event:2' and not rows
    if 5 in f:
      values = [dict(fields(v)) for k, v in fields(f[5]) if k == 1]
      rows.append((f[2], {v[1].decode(): struct.unpack('<f', v[2])[0] for v in values}))
  return rows
def folder(name):
  files = glob.glob(name + '/events.out.tfevents.*')
  assert len(files) == 1, files
  return read(files[0])
EOF

# ---- a row for each epoch, with the numbers that are printed
expect 0 "a history" $train --epochs 4 --history=run.csv --curve=run.svg --tensorboard=tb
cat >same.py <<'EOF'
import csv, json, math, sys, xml.etree.ElementTree as xml
from events import folder
rows = list(csv.DictReader(open('run.csv')))
told = [json.loads(l) for l in open('out')]
assert list(rows[0]) == ['step', 'epoch', 'loss', 'test.loss', 'test.accuracy', 'lr', 'seconds'], rows[0]
assert [int(r['step']) for r in rows] == [10, 20, 30, 40] and [int(r['epoch']) for r in rows] == [1, 2, 3, 4]
for r, t in zip(rows, told):
  assert float(r['loss']) == t['loss'] and float(r['test.accuracy']) == t['test']['accuracy'], (r, t)
  assert abs(float(r['lr']) - 0.01) < 1e-8
close = lambda a, b: abs(a - b) <= 1e-6*abs(b)
for r, (step, values) in zip(rows, folder('tb')):
  assert step == int(r['step']) and set(values) == {'loss', 'test/loss', 'test/accuracy', 'lr'}, values
  assert all(close(values[k.replace('.', '/')], float(r[k])) for k in ('loss', 'test.loss', 'test.accuracy', 'lr'))
svg = xml.parse('run.svg').getroot()
space = '{http://www.w3.org/2000/svg}'
texts = [t.text for t in svg.iter(space + 'text')]
assert {'step', 'loss', 'accuracy', 'test.loss', 'test.accuracy', 'model'} <= set(t.replace(' (log scale)', '') for t in texts), texts
lines = [p for p in svg.iter(space + 'path')]
assert len(lines) == 3 and all(p.get('d').count('L') == 3 for p in lines), [p.get('d') for p in lines]
assert list(csv.DictReader(svg.find(space + 'metadata').text.split())) == rows
EOF
python3 same.py || fail "a history" run.csv

# ---- every 4 steps: the mean since the row before; the same rows wherever a training is stopped
steps="--epochs 6 --history-every=4"
expect 0 "rows of steps" $train $steps --history=whole.csv --tensorboard=whole --curve=whole.svg --save whole.st
python3 - <<'EOF' || fail "rows of steps" whole.csv
import csv
rows = list(csv.DictReader(open('whole.csv')))
steps = [int(r['step']) for r in rows]
assert steps == [4, 8, 10, 12, 16, 20, 24, 28, 30, 32, 36, 40, 44, 48, 50, 52, 56, 60], steps
assert all((r['test.loss'] != '') == (int(r['step']) % 10 == 0) for r in rows)
first = [float(r['loss']) for r in rows[:3]]
mean = (4*32*first[0] + 4*32*first[1] + 54*first[2])/310
want = float(next(csv.DictReader(open('run.csv')))['loss'])
assert abs(mean - want) < 1e-6, (mean, want)
EOF
log="--history=cut.csv --tensorboard=cut --curve=cut.svg --save cut.st"
expect 0 "the first epochs" $train --epochs 3 --history-every=4 $log
cp cut.st before.st
expect 0 "more of them" $train --epochs 5 --history-every=4 $log --resume
cp before.st cut.st                 # as if the process had ended before it wrote the second checkpoint
printf '51,6,0.1' >>cut.csv          # in the middle of a row
printf 'abc' >>"$(ls cut/events*)"
expect 0 "the rest" $train $steps $log --resume
cmp -s whole.st cut.st || fail "a history changes what is trained"
python3 - <<'EOF' || fail "a training that goes on has other rows" cut.csv
import csv
from events import folder
strip = lambda path: [l.rsplit(',', 1)[0] for l in open(path)]
assert strip('whole.csv') == strip('cut.csv')
assert folder('whole') == folder('cut')
picture = lambda p: [l.rsplit(',', 1)[0] for l in open(p).read().split('<metadata')[1].split('</metadata>')[0].split('\n')]
assert picture('whole.svg') == picture('cut.svg')
seconds = [float(r['seconds']) for r in csv.DictReader(open('cut.csv'))]
assert seconds == sorted(seconds)
EOF
# killed in the middle of an epoch, with a checkpoint at its last step
for stop in 1 2 3; do
  rm -rf kill.csv kill.st kill
  log="--history=kill.csv --tensorboard=kill --save kill.st --save-every 5"
  "$NEOC" train model.expr $data --seed 3 --epochs 2000 --history-every=4 $log >out 2>err &
  pid=$!
  waited=0
  while [ ! -s kill.st ] && [ "$waited" -lt 300 ]; do
    waited=$((waited + 1))
    sleep 0.1
  done
  sleep 0.1$stop
  kill -KILL "$(cat /proc/$pid/task/$pid/children)" "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  epoch=$(LC_ALL=C grep -a -o -m 1 '"epoch":"[0-9]*"' kill.st | tr -dc 0-9)
  expect 0 "going on after a kill" $train --epochs $((epoch + 2)) --history-every=4 $log --resume
  python3 - <<'EOF' || fail "rows after a kill" kill.csv
from events import folder
import csv
steps = [int(r['step']) for r in csv.DictReader(open('kill.csv'))]
last = steps[-1]
assert steps == sorted(set(list(range(4, last + 1, 4)) + list(range(10, last + 1, 10))))
assert [s for s, _ in folder('kill')] == steps
EOF
done
expect 1 "other columns" "$NEOC" train model.expr --data X=data.npz:X,Y=data.npz:Y --save cut.st --resume --history=cut.csv --epochs 7
says err 'cut.csv: has other columns than step,epoch,loss,lr,seconds' "other columns"
expect 3 "a folder that is not there" $train --history=nothere/run.csv
says err 'nothere/run.csv: No such file' "a folder that is not there"
expect 2 "rows for no file" $train --history-every=3

# ---- the best epoch: with a learning rate that is far too high from the third epoch on, it is one of the first
sed 's/lr = 1e-2/lr = select(step < 20, 1e-2, 3.0)/' model.expr >worse.expr
worse="$NEOC train worse.expr $data --epochs 30 --format=json"
expect 0 "ending early" $worse --early-stop=3 --save w.safetensors
python3 - <<'EOF' || fail "ending early" out
import json
loss = [json.loads(l)['test']['loss'] for l in open('out')]
best = loss.index(min(loss))
assert len(loss) == best + 4 < 30, loss
text = open('err').read()
assert 'stopped early: loss has not got better for 3 epochs' in text
assert 'of epoch %d: w.best.safetensors' % (best + 1) in text, text
open('best', 'w').write(str(best + 1))
EOF
expect 0 "as many epochs" "$NEOC" train worse.expr $data --epochs "$(cat best)" --save upto.st
cat >tensors.py <<'EOF'
import json, struct, sys
def tensors(path):
  b = open(path, 'rb').read()
  n = struct.unpack('<Q', b[:8])[0]
  return {k: b[8 + n + v['data_offsets'][0]:8 + n + v['data_offsets'][1]] for k, v in json.loads(b[8:8 + n]).items() if k != '__metadata__'}
assert tensors(sys.argv[1]) == tensors(sys.argv[2])
EOF
python3 tensors.py w.best.safetensors upto.st || fail "the best checkpoint is not that of the best epoch"
expect 0 "going on after the end" $worse --early-stop=3 --save w.safetensors --resume
says err 'stopped early' "going on after the end"
[ ! -s out ] || fail "a training that ended early goes on"
expect 0 "in pieces" "$NEOC" train worse.expr $data --epochs 2 --format=json --early-stop=3 --save p.safetensors
expect 0 "in pieces" $worse --early-stop=3 --save p.safetensors --resume
cmp -s p.safetensors w.safetensors || fail "a training in pieces ends at another epoch"
expect 0 "the highest" $worse --best=max:accuracy --epochs 5 --save h.st
says err 'the best accuracy is .* of epoch [0-9]: h.best.st' "the highest"
expect 2 "the best of nothing" $worse --best=max:nope
says err "no scalar 'nope': --best=min:NAME or max:NAME .* (it has: loss, accuracy)" "the best of nothing"
expect 2 "the best without a direction" $worse --best=accuracy
expect 2 "ending early without a test" "$NEOC" train model.expr --data X=data.npz:X,Y=data.npz:Y --early-stop=3

# ---- schedules of the learning rate are expressions of the step
cat >cosine.expr <<'EOF'
import optim
dim STEPS = 40
dim WARM = 10
dim B <= 10
input X[B]
param w = 0
loss = (mean[b] X[b]) - w
fn cosine(top : f32, at : i64) -> lr {
  lr = top*min(1, f32(at + 1)/f32(WARM))*0.5*(1 + cos(3.14159265*min(1, f32(at)/f32(STEPS))))
}
output w
train loss using optim.sgd(lr = cosine(0.5, step))
EOF
printf 'x\n%s\n' "$(seq 1 100)" >x.csv
expect 0 "a schedule" "$NEOC" train cosine.expr --data X=x.csv --epochs 4 --save c.st
"$NEOC" run cosine.expr --entry=forward --load c.st --format=json >out
python3 - <<'EOF' || fail "a schedule by an expression of the step" out
import json, math
got = json.load(open('out'))['outputs']['w']['values'][0]
want = sum(0.5*min(1, (s + 1)/10)*0.5*(1 + math.cos(math.pi*s/40)) for s in range(40))
assert abs(got - want) < 1e-4*want, (got, want)
EOF

# ---- lines where there is no terminal
expect 0 "lines" "$NEOC" train model.expr $data --epochs 200 --progress=0.00001
says err '^[0-9][0-9]:[0-9][0-9]:[0-9][0-9] epoch [0-9]*/200, step [0-9]*, loss [0-9.e-]*, [0-9.e+]* steps/s, [0-9:]* left$' "lines"
expect 0 "no lines" "$NEOC" train model.expr $data --epochs 2
[ ! -s err ] || fail "a short training prints lines" err
expect 0 "quiet" "$NEOC" train model.expr $data --epochs 200 --progress=0.00001 -q
[ ! -s err ] || fail "-q prints lines" err
exit $status

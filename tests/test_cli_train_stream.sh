#!/bin/sh
# Data that stay in their files (--data-memory) train as those in memory do, whatever format and type; the memory does not grow with
# them; a file that gets shorter meanwhile is an error, and so is a wrong checksum.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3

cat >make.py <<'EOF'
import json, random, struct, zipfile, io
random.seed(1)
def npy(code, shape, values):
  head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (code, ''.join('%d, ' % n for n in shape))
  head += ' ' * (-(len(head) + 11) % 64) + '\n'
  pack = {'f4': 'f', 'f8': 'd', 'i8': 'q', 'i2': 'h', 'u1': 'B'}[code[1:]]
  return b'\x93NUMPY\1\0' + struct.pack('<H', len(head)) + head.encode() + struct.pack('%s%d%s' % (code[0].replace('|', '<'), len(values), pack), *values)
x = [random.gauss(0, 1) for _ in range(400)]
y = [int(x[4*n] > 0) for n in range(100)]
files = {'x': npy('<f4', [100, 4], x), 'wide': npy('>f8', [100, 2, 2], x), 'y': npy('<i8', [100], y), 'y2': npy('>i2', [100], y),
  'u': npy('|u1', [100, 4], [random.randrange(256) for _ in range(400)]), 'ids': npy('<i8', [401], [n % 2 for n in range(401)]),
  'bad': npy('<i8', [100], [1 if n != 57 else 9 for n in range(100)])}
for name, data in files.items(): open(name + '.npy', 'wb').write(data)
with zipfile.ZipFile('all.npz', 'w', zipfile.ZIP_STORED) as z:
  for name, data in files.items(): z.writestr(name + '.npy', data)
with zipfile.ZipFile('deflated.npz', 'w', zipfile.ZIP_DEFLATED) as z:
  for name, data in files.items(): z.writestr(name + '.npy', data)
b = bytearray(open('all.npz', 'rb').read())
b[b.index(files['x']) + len(files['x']) - 1] ^= 1
open('damaged.npz', 'wb').write(b)
xs, ys = struct.pack('<400f', *x), struct.pack('<100q', *y)
head = json.dumps({'y': {'dtype': 'I64', 'shape': [100], 'data_offsets': [0, 800]}, 'x': {'dtype': 'F32', 'shape': [100, 4], 'data_offsets': [800, 2400]}})
head += ' ' * (-len(head) % 8)
open('all.safetensors', 'wb').write(struct.pack('<Q', len(head)) + head.encode() + ys + xs)
open('big.npy', 'wb').write(npy('<f4', [2500000, 64], [])[:128])
open('big.npy', 'r+b').truncate(128 + 2500000*64*4)
EOF
python3 make.py

cat >model.expr <<'EOF'
import nn, optim
dim B <= 16
input X[B, 4]
input Y[B] : i32 < 2
L = nn.linear(X, out = 2)
loss = nn.cross_entropy(L, Y)
output test: loss
train loss using optim.adam(lr = 1e-2)
EOF
for pair in x.npy,y.npy wide.npy,y2.npy all.npz:x,all.npz:y all.npz:wide,all.npz:y2 u.npy,y.npy all.npz:u,all.npz:y deflated.npz:x,y.npy \
  all.safetensors:x,all.safetensors:y; do
  data="--data X=${pair%,*},Y=${pair#*,}"
  both="$data --test ${data#--data } --epochs 3 --seed 5"
  expect 0 "$pair in memory" "$NEOC" train model.expr $both --save whole.st --data-memory=1G --format=json
  sed 's/"samples_per_s": [0-9.]*//' out >whole.out
  expect 0 "$pair from the file" "$NEOC" train model.expr $both --save parts.st --data-memory=0 --format=json
  sed 's/"samples_per_s": [0-9.]*//' out >parts.out
  cmp -s whole.st parts.st || fail "$pair from the file trains otherwise"
  cmp -s whole.out parts.out || fail "$pair from the file tests otherwise"
done
cmp -s whole.st parts.st
"$NEOC" train model.expr --data X=x.npy,Y=y.npy --test X=x.npy,Y=y.npy --epochs 3 --seed 5 --save x.st >/dev/null
"$NEOC" train model.expr --data X=all.safetensors:x,Y=all.safetensors:y --test X=x.npy,Y=y.npy --epochs 3 --seed 5 --save s.st >/dev/null
cmp -s x.st s.st || fail "tensors of .safetensors are other data than those of .npy"
expect 0 "a training in parts" "$NEOC" train model.expr --data X=x.npy,Y=y.npy --save c.st --data-memory=0
expect 0 "a training in parts" "$NEOC" train model.expr --data X=x.npy,Y=y.npy --save c.st --data-memory=0 --resume --epochs 3
expect 0 "a training in one" "$NEOC" train model.expr --data X=x.npy,Y=y.npy --save d.st --epochs 3
cmp -s c.st d.st || fail "a training from files cannot go on"

# windows of a sequence
cat >next.expr <<'EOF'
import optim
dim B <= 8
input X[B, 5] : i32 < 2
input Y[B] : i32 < 2
param w[5] = 0.1
loss = mean[b] (f32(Y[b]) - sum[i] w[i]*f32(X[b, i]))^2
train loss using optim.sgd(lr = 0.01)
EOF
expect 0 "windows" "$NEOC" train next.expr --data X=ids.npy:crop,Y=ids.npy:crop+5 --save w1.st --epochs 2
expect 0 "windows from the file" "$NEOC" train next.expr --data X=ids.npy:crop,Y=ids.npy:crop+5 --save w2.st --epochs 2 --data-memory=0
cmp -s w1.st w2.st || fail "windows from the file are others"

# what is wrong is told as it is of data in memory
expect 1 "a class that is too large" "$NEOC" train model.expr --data X=x.npy,Y=bad.npy --data-memory=0
says err 'Y: row 57 of bad.npy: value 9 is not in \[0, 2) (model.expr:4:7)' "a class that is too large"
expect 1 "a wrong checksum" "$NEOC" train model.expr --data X=damaged.npz:x,Y=y.npy --data-memory=0
says err 'X: damaged.npz:x: bad .npz (zip): the checksum does not match' "a wrong checksum"
head -c 1000 x.npy >cut.npy
expect 1 "a truncated file" "$NEOC" train model.expr --data X=cut.npy,Y=y.npy --data-memory=0
says err 'cut.npy: .npy has' "a truncated file"
expect 2 "bytes that are none" "$NEOC" train model.expr --data X=x.npy,Y=y.npy --data-memory=lots

# a file that gets shorter while it is read: no signal
cp x.npy shrinks.npy
"$NEOC" train model.expr --data X=shrinks.npy,Y=y.npy --data-memory=0 --epochs 100000000 >out 2>err &
pid=$!
waited=0
while [ ! -s out ] && [ "$waited" -lt 300 ]; do
  waited=$((waited + 1))
  sleep 0.1
done
truncate -s 500 shrinks.npy
code=0
wait "$pid" || code=$?
[ "$code" = 3 ] || fail "a file that gets shorter: exit code $code" err
says err 'X: shrinks.npy: the file is shorter than it was when it was opened' "a file that gets shorter"

# 640 MB of data in less than half of it
cat >big.expr <<'EOF'
import optim
dim B <= 4096
input X[B, 64]
param w = 0
loss = (mean[b, i] X[b, i]) - w
train loss using optim.sgd(lr = 1)
EOF
if [ -z "${NEO_SANITIZE:-}" ]; then
  python3 - "$NEOC" <<'EOF' || fail "data in a file fill the memory"
import resource, subprocess, sys
subprocess.run([sys.argv[1], 'train', 'big.expr', '--data', 'X=big.npy', '--data-memory=64M', '-q'], check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert peak < 320*1024, peak
EOF
fi
exit $status

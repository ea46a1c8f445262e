#!/bin/sh
# `neoc train` and its data: every row of --test counts, the rest of an epoch is said, a loss that is not finite stops the training,
# a wrong value is told by the file's row, entries take turns, windows of a sequence.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3

cat >make.py <<'EOF'
import random, struct
def npy(path, code, shape, values):
  head = "{'descr': '<%s', 'fortran_order': False, 'shape': (%s), }" % (code, ''.join('%d, ' % n for n in shape))
  head += ' ' * (-(len(head) + 11) % 64) + '\n'
  pack = {'f4': 'f', 'i4': 'i', 'i8': 'q'}[code]
  open(path, 'wb').write(b'\x93NUMPY\1\0' + struct.pack('<H', len(head)) + head.encode() + struct.pack('<%d%s' % (len(values), pack), *values))
random.seed(1)
x = [random.gauss(0, 1) for _ in range(300)]
npy('x.npy', 'f4', [100, 3], x)
npy('y.npy', 'i4', [100], [int(x[3*n] > 0) for n in range(100)])
npy('wide.npy', 'i8', [100], [2**32 if n == 71 else 0 for n in range(100)])
npy('bad.npy', 'i4', [100], [4 if n == 57 else 1 for n in range(100)])
npy('nan.npy', 'f4', [100, 3], [float('nan') if n == 230 else v for n, v in enumerate(x)])
npy('ids.npy', 'i4', [401], [n % 400 for n in range(401)])
open('text.txt', 'w').write('abcd' * 60 + 'a')
EOF
python3 make.py

# ---- every test row counts: 100 rows in batches of exactly 64, as in batches of up to 64
cat >fixed.expr <<'EOF'
import nn, optim
dim H = 64
dim B = 64
input X[B, 3]
input Y[B] : i32 < 2
L = nn.linear(nn.linear(X, out = H), out = 2)
loss = nn.cross_entropy(L, Y)
best = mean[b] f32(argmax[c] L[b, c] == Y[b])
output test: loss, best
train loss using optim.adam(lr = 1e-2)
EOF
sed 's/dim B = 64/dim B <= 64/' fixed.expr >upto.expr
data="--data X=x.npy,Y=y.npy --test X=x.npy,Y=y.npy --format=json"
test_of() { sed -n 's/.*"test": //p' out; }
expect 0 "an exact batch" "$NEOC" train fixed.expr $data --save w.st
says err 'each epoch leaves out 36 of 100 rows.* a step takes exactly 64' "an exact batch"
fixed=$(test_of)
expect 0 "a batch of up to 64" "$NEOC" train upto.expr $data --load w.st --set lr=0
[ "$fixed" = "$(test_of)" ] || fail "a constant batch tests on other rows: $fixed, $(test_of)"
expect 0 "a batch that an option fixes" "$NEOC" train upto.expr $data --load w.st --set lr=0 -D B=64
[ "$fixed" = "$(test_of)" ] || fail "a batch that an option fixes tests on other rows: $fixed, $(test_of)"
expect 0 "a trace beside it" "$NEOC" train fixed.expr $data --trace t.json
python3 -c 'import json; assert any(e.get("name") == "step" for e in json.load(open("t.json"))["traceEvents"])' ||
  fail "the model for the last test rows writes the trace"
expect 0 "--last=pad" "$NEOC" train fixed.expr $data --last=pad --set lr=0 --save p.st
says err 'ends with 28 of its first rows again' "--last=pad"
expect 0 "--last=drop" "$NEOC" train upto.expr $data --last=drop --save d.st
says err 'leaves out 36 of 100 rows' "--last=drop"
expect 1 "resuming with other last rows" "$NEOC" train fixed.expr $data --save p.st --resume
says err 'was made with --last=pad, not drop' "resuming with other last rows"
sed 's/\[B/[64/' fixed.expr >literal.expr
expect 1 "a batch that no dim says" "$NEOC" train literal.expr $data
says err 'the last 36 of the test rows cannot be counted: write `dim B = 64`' "a batch that no dim says"

# ---- a loss that is not finite: the checkpoint stays, and the first cause is said
cat >root.expr <<'EOF'
import optim
dim B <= 10
input X[B, 3]
param w[3] = 1
loss = mean[b] sum[i] w[i]*abs(X[b, i])
output test: loss
train loss using optim.sgd(lr = 0.1)
EOF
root="$NEOC train root.expr --save r.st"
expect 0 "a good epoch" $root --data X=x.npy
cp r.st before.st
expect 1 "NaN in the data" $root --data X=nan.npy --resume --epochs 2
says err 'epoch 2: loss is -*nan, X is -*nan in row 76 of nan.npy; r.st is of step 10' "NaN in the data"
expect 1 "an infinite parameter" $root --data X=x.npy --epochs 2 --set lr=3e38
says err 'loss is -*nan, after it w\[0\] is -*[a-z]* (root.expr:4:7)\|loss is -*inf, after it w\[0\] is -*[a-z]* (root.expr:4:7)' "an infinite parameter"
cmp -s before.st r.st || fail "a training that went wrong overwrites its checkpoint"
expect 0 "--allow-nan" $root --data X=nan.npy --allow-nan --format=json
says out '"loss": null' "--allow-nan"

# ---- a wrong value is told by the row of its file, before anything runs
expect 1 "a class that is too large" "$NEOC" train upto.expr --data X=x.npy,Y=bad.npy
says err 'Y: row 57 of bad.npy: value 4 is not in \[0, 2) (upto.expr:5:7)' "a class that is too large"
expect 1 "a value that its type lacks" "$NEOC" train upto.expr --data X=x.npy,Y=wide.npy
says err 'Y: row 71 of wide.npy: value 4294967296 is not in' "a value that its type lacks"

# ---- entries in turns: each counts its own steps, so both are as if each were trained alone
cat >two.expr <<'EOF'
import optim
dim B <= 8
input X[B, 3]
param W[3] = 1
param V[3] = 2
w_loss = mean[b] (sum[i] X[b, i]*W[i])^2
v_loss = mean[b] (sum[i] X[b, i]*V[i] - 1)^2
output W, V
train w: w_loss over W using optim.adam(lr = 1e-2*min(1, f32(step + 1)/10))
train v: v_loss over V using optim.adam(lr = 1e-2)
EOF
grep -v '^train v' two.expr >only_w.expr
grep -v '^train w' two.expr >only_v.expr
two="$NEOC train two.expr --data X=x.npy --seed 5"
expect 0 "entries in turns" $two --entries w,v --epochs 6 --save both.st
says out 'epoch 6/6: w 0.*, v 5.*samples/s' "entries in turns"
expect 0 "the first entry alone" "$NEOC" train only_w.expr --data X=x.npy --seed 5 --epochs 6 --save w.st
expect 0 "the second entry alone" "$NEOC" train only_v.expr --data X=x.npy --seed 5 --epochs 6 --save v.st
cat >same.py <<'EOF'
import json, struct, sys
def tensors(path):
  b = open(path, 'rb').read()
  n, = struct.unpack('<Q', b[:8])
  h = json.loads(b[8:8 + n])
  h.pop('__metadata__')
  return {k: b[8 + n + v['data_offsets'][0]:8 + n + v['data_offsets'][1]] for k, v in h.items()}
a, b = tensors(sys.argv[1]), tensors(sys.argv[2])
for name in sys.argv[3:]:
  assert a[name] == b[name], name
EOF
python3 same.py both.st w.st W W.adam.m W.adam.v || fail "an entry that takes turns counts the other's steps"
python3 same.py both.st v.st V V.adam.m V.adam.v || fail "an entry that takes turns counts the other's steps"
for more in "--entries w,v" "--entries w:3,v"; do
  expect 0 "$more" $two $more --epochs 7 --save whole.st --threads 1
  expect 0 "$more, first part" $two $more --epochs 2 --save part.st
  expect 0 "$more, resumed" $two $more --epochs 7 --save part.st --resume --threads 2
  cmp -s whole.st part.st || fail "$more: resumed, the parameters differ"
done
expect 1 "resuming with other entries" $two --entries v,w --save part.st --resume
says err 'was made with --entries=w:3,v, not v,w' "resuming with other entries"
expect 2 "an entry twice" $two --entries w,w
expect 2 "no number of turns" $two --entries w:x
expect 1 "an entry that is not there" $two --entries w,q
# 91 steps of w, 30 of v (13 a batch, turns of three)
python3 - <<'EOF' || fail "--entries w:3,v does not take three steps of w for one of v"
import json, struct
b = open('whole.st', 'rb').read()
n, = struct.unpack('<Q', b[:8])
h = json.loads(b[8:8 + n])
def count(k): return struct.unpack('<q', b[8 + n + h[k]['data_offsets'][0]:][:8])[0]
assert (count('w.step'), count('v.step')) == (91, 30), (count('w.step'), count('v.step'))
EOF

# an entry without inputs, as a generator that draws its noise, takes turns too
cat >gan.expr <<'EOF'
import optim
dim B <= 8
input X[B, 3]
param D[3] = 1
param G[3] = 0.1
real = mean[b] (sum[i] X[b, i]*D[i] - 1)^2
Z[b < B, i] = rand() * G[i]
fake = mean[b] (sum[i] Z[b, i]*D[i])^2
d_loss = real + fake
g_loss = 0 - fake
output G
train g: g_loss over G using optim.sgd(lr = 0.01)
train d: d_loss over D using optim.adam(lr = 1e-2)
EOF
expect 0 "a generator" "$NEOC" train gan.expr --data X=x.npy --entries g,d --epochs 2
says out 'epoch 2/2: g -.*, d ' "a generator"
expect 1 "no rows" "$NEOC" train gan.expr --data X=x.npy --entry g
says err 'entry g has no inputs' "no rows"

# ---- windows of a sequence: the target is one further on, wherever they begin
cat >next.expr <<'EOF'
import optim
dim B <= 7
dim T = 4
input X[B, T] : i32 < 400
input Y[B, T] : i32 < 400
param w = 0
wrong = mean[b, t] f32(Y[b, t] != (X[b, t] + 1) % 400)
place = mean[b] f32(X[b, 0])
loss = wrong + 0*w + 0*place
output test: wrong, place
train loss using optim.sgd(lr = 0.1)
EOF
crop="$NEOC train next.expr --data X=ids.npy:crop,Y=ids.npy:crop+1 --test X=ids.npy:crop,Y=ids.npy:crop+1 --format=json"
expect 0 "windows" $crop
says out '"loss": 0,.*"wrong": 0, "place": 198}' "windows: a hundred of four lie side by side"
cat >letters.expr <<'EOF'
import nn, optim
dim B <= 7
input X[B, 4] : i32 < 8
input Y[B] : i32 < 8
param W[8, 4, 8] = 0
L[b, c] = sum[t] W[X[b, t], t, c]
loss = nn.cross_entropy(L, Y)
output test: loss
train loss using optim.adam(lr = 0.1)
EOF
letters="$NEOC train letters.expr --data X=text.txt:crop,Y=text.txt:crop+4 --test X=text.txt:crop,Y=text.txt:crop+4 --seed 2"
expect 0 "a text" $letters --epochs 4 --save whole.st --format=json
tail -n 1 out | grep -q '"test": {"loss": 0.0[0-9]*}' || fail "what follows four letters is not learnt" out
expect 0 "a text, first part" $letters --epochs 1 --save part.st
expect 0 "a text, resumed" $letters --epochs 4 --save part.st --resume
cmp -s whole.st part.st || fail "windows: resumed, the parameters differ"
expect 1 "a window that is too long" "$NEOC" train next.expr --data X=ids.npy:crop,Y=ids.npy:crop+399
says err 'too few for a window of 403' "a window that is too long"
expect 1 "windows and rows" "$NEOC" train letters.expr --data X=text.txt:crop,Y=y.npy
says err 'either all inputs are crops or none is' "windows and rows"

# ---- what depends on the batch: rows of a file are all as long; memory is enough at any size; bounds are those of the call
cat >shapes.py <<'EOF'
import struct, sys
def npy(path, code, shape, values):
  header = "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }" % (code, shape)
  header += ' ' * (63 - (10 + len(header)) % 64) + '\n'
  kind = {'f4': 'f', 'i4': 'i', 'i8': 'q'}[code]
  open(path, 'wb').write(b'\x93NUMPY\1\0' + struct.pack('<H', len(header)) + header.encode() + struct.pack('<%d%s' % (len(values), kind), *values))
npy('square.npy', 'f4', (4, 4), range(16))
npy('three.npy', 'f4', (3,), [1, 2, 3])
npy('below.npy', 'i4', (3,), [6, 6, 5])
npy('large.npy', 'i8', (2,), [5000000000, 6000000000])
npy('whole.npy', 'f4', (60,), range(60))
open('torn.npy', 'wb').write(open('whole.npy', 'rb').read()[:-7])
EOF
python3 shapes.py
model() { # NAME MOST LINE...
  name=$1 most=$2
  shift 2
  printf '%s\n' 'import optim' "dim 1 <= B <= $most" 'param w = 0' "$@" 'train loss using optim.sgd(lr = 0)' >"$name.expr"
}
model square 8 'input X[B, B]' 'loss = w + (sum[i, j] X[i, j])'
expect 1 "rows as long as the batch" "$NEOC" train square.expr --data X=square.npy --batch 2
says err 'B counts rows, and is a dimension of rows' "rows as long as the batch"

# ---- a run-time size that is a dimension of rows is what the file has
cat >told.py <<'EOF'
import struct
def npy(name, shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head = head + ' ' * (63 - (len(head) + 10) % 64) + '\n'
    with open(name, 'wb') as f:
        f.write(b'\x93NUMPY\x01\0' + struct.pack('<H', len(head)) + head.encode() + struct.pack('<%df' % len(values), *values))
npy('long.npy', (6, 5, 2), [k % 7 for k in range(60)])
npy('other.npy', (6, 5), [k % 3 for k in range(30)])
npy('test.npy', (4, 3, 2), [k % 5 for k in range(24)])
npy('short.npy', (4, 3), [k % 2 for k in range(12)])
npy('flat.npy', (6, 10), range(60))
npy('many.npy', (6, 9, 2), range(108))
npy('six.npy', (6, 6), range(36))
EOF
python3 told.py
cat >told.expr <<'END'
import optim
dim 1 <= B <= 4
dim 0 <= T <= 8
input X[B, T, 2]
input Z[B, T]
param w[2] = 0.5
loss = mean[b, t, k] (X[b, t, k]*w[k] - Z[b, t])^2
output test: loss
train loss using optim.sgd(lr = 0.01)
END
losses() { sed 's/, [0-9]* samples.*//; s/, test loss.*//' out; }
expect 0 "a size that files tell" "$NEOC" train told.expr --data X=long.npy,Z=other.npy --test X=test.npy,Z=short.npy --epochs 2
losses >told
says out 'test loss [0-9]' "a test of another size"
expect 0 "the same, fixed" "$NEOC" train told.expr -D T=5 --data X=long.npy,Z=other.npy --epochs 2
losses | diff - told >&2 || fail "a size that files tell: other losses"
expect 0 "a size that files tell, streamed" "$NEOC" train told.expr --data X=long.npy,Z=other.npy --epochs 2 --data-memory 16
losses | diff - told >&2 || fail "a size that files tell, streamed: other losses"
expect 1 "rows without the size's dimension" "$NEOC" train told.expr --data X=flat.npy,Z=other.npy
says err 'flat.npy has 2 dimensions, expected 3, of which dim 1 tells T' "rows without the size's dimension"
expect 1 "a size beyond its bound" "$NEOC" train told.expr --data X=many.npy,Z=other.npy
says err 'rows of many.npy have T = 9, expected 0 to 8' "a size beyond its bound"
expect 1 "files that tell other sizes" "$NEOC" train told.expr --data X=long.npy,Z=six.npy
says err 'rows of six.npy have T = 6, those of long.npy have 5' "files that tell other sizes"
expect 3 "a device in place of a file" "$NEOC" train told.expr --data X=/dev/zero,Z=other.npy
says err '/dev/zero is a device' "a device in place of a file"
expect 2 "an option of other commands" "$NEOC" train told.expr --data X=long.npy,Z=other.npy --size T=5
says err 'train has no option --size; it is one of run' "an option of other commands"
cat >ends.expr <<'END'
import optim
dim N <= 9
dim M <= 99
input x[N]
input e[M] : i32 < N
param w = 0.5
loss = mean[m] (x[e[m]]*w)^2
train loss using optim.sgd(lr = 0.01)
END
printf '1\n2\n3\n' >x.csv
printf '0\n1\n2\n0\n' >e.csv
printf '0\n3\n' >n.csv
printf '0\n4\n' >m.csv
expect 1 "a graph without offsets" "$NEOC" train ends.expr --data x=x.csv:1,e=e.csv:1
says err 'give offsets too, --data N=FILE,M=FILE (of one graph they are \[0, 3\] and \[0, 4\])' "a graph without offsets"
expect 0 "one graph is a step" "$NEOC" train ends.expr --data x=x.csv:1,e=e.csv:1,N=n.csv:1,M=m.csv:1

model double 8 'input Z[B]' 'input X[2*B]' 'loss = w + (sum[i] X[i]) + (sum[i] Z[i])'
expect 1 "two rows for each of the batch" "$NEOC" train double.expr --data X=three.npy,Z=three.npy
says err 'X: dim 0 counts rows, so it is a number or a size' "two rows for each of the batch"
model shrinks 8000000 'input X[B]' 'y[i < 8000001 - B] = w + f32(i) + X[0]' 'ym = y[0]' 'loss = w + (mean[b] X[b])' 'output test: ym, y'
expect 0 "outputs that shrink as the batch grows" "$NEOC" train shrinks.expr --data X=three.npy --test X=three.npy --format=json
says out '"ym": 1}' "outputs that shrink as the batch grows"
model bounded 8 'input X[B]' 'input Y[B] : i32 < 10 - B' 'loss = w + (mean[b] X[b]) + (sum[b] f32(Y[b]))'
expect 0 "a bound that falls as the batch grows" "$NEOC" train bounded.expr --data X=three.npy,Y=below.npy
says out 'loss 19' "a bound that falls as the batch grows"
sed 's/10 - B/9 - B/' bounded.expr >tighter.expr
expect 1 "values beyond a bound that falls" "$NEOC" train tighter.expr --data X=three.npy,Y=below.npy
says err 'not in [[]0, 6)' "values beyond a bound that falls"
model scaled 8 'input X[B] : i32' 'loss = w + (sum[b] f32(X[b]))'
expect 2 "integers that are scaled" "$NEOC" train scaled.expr --data X=large.npy --scale X=0.1
says err 'only floats are scaled' "integers that are scaled"
model torn 8 'input X[B, 3]' 'loss = w + (sum[b, i] X[b, i])'
expect 1 "windows of a damaged array" "$NEOC" train torn.expr --data X=torn.npy:crop
says err 'its shape asks for' "windows of a damaged array"

# ---- random numbers of --test go on where they were
cat >noise.expr <<'EOF'
import optim
dim B <= 8
input X[B]
param w = 0
state noise[3] = 0
loss = (mean[b] X[b])*w + (sum[c] noise[c])*w
q = (sum[c] noise[c]) + (mean[b] X[b])
update noise[c] = noise[c] + rand()
output test: q update noise
train loss using optim.sgd(lr = 0.1)
EOF
noise="$NEOC train noise.expr --data X=three.npy --seed 3 --test X=three.npy"
expect 0 "random tests" $noise --epochs 4 --save whole2.st
expect 0 "random tests, first part" $noise --epochs 1 --save part2.st
expect 0 "random tests, resumed" $noise --epochs 4 --save part2.st --resume
cmp -s whole2.st part2.st || fail "random tests: resumed, the states differ"

# ---- two entries that train one parameter with one optimizer have states of their own
cat >entries.expr <<'EOF'
dim B <= 8
input X[B]
param W = 1
fn avg(g[..]) -> y {
  state m[..] = 0
  update m[..] = 0.5*m[..] + g[..]
  y[..] = g[..]
}
optimizer o(w[..], g[..]; lr = 0.1) {
  s = avg(g)
  update w[..] = w[..] - lr*s.m[..]
}
l = W*(mean[b] X[b])
l2 = 10*l
train a: l over W using o(lr = 1)
train b: l2 over W using o(lr = 1)
EOF
python3 -c "exec(open('shapes.py').read()); npy('ones.npy', 'f4', (6,), [1]*6)"
expect 0 "two entries of one parameter" "$NEOC" train entries.expr --data X=ones.npy --batch 1 --entries a,b --save o.st
expect 0 "two entries of one parameter, after" "$NEOC" run entries.expr X=[1] --entry=a --load o.st
says out '^-87.6875' "two entries of one parameter"

# ---- the constant that counts rows is replaced for the last ones of --test, none that has its value
cat >constant.expr <<'EOF'
dim D = 8
dim B = D
input X[B]
param w = 0
c = f32(D)
loss = w + mean[b] X[b]
t = mean[b] X[b]*c
output test: t
train loss using sgd(lr = 0)
optimizer sgd(w[..], g[..]; input lr = 0.1) { update w[..] = w[..] - lr*g[..] }
EOF
python3 -c "exec(open('shapes.py').read()); npy('twelve.npy', 'f4', (12,), range(12)); npy('one.npy', 'f4', (12,), [1]*12)
import struct
header = \"{'descr': '<f8', 'fortran_order': False, 'shape': (8,), }\"
header += ' ' * (63 - (10 + len(header)) % 64) + chr(10)
open('beyond.npy', 'wb').write(bytes([0x93]) + b'NUMPY' + bytes([1, 0]) + struct.pack('<H', len(header)) + header.encode() + struct.pack('<8d', 1e39, *[0]*7))"
expect 0 "a constant of rows" "$NEOC" train constant.expr --data X=twelve.npy --test X=twelve.npy
says out 'test t 44' "a constant of rows"

# ---- numbers that the input's type lacks
expect 1 "a number beyond f32" "$NEOC" train constant.expr --data X=beyond.npy
says err 'row 0 of beyond.npy: value .* is no f32' "a number beyond f32"
expect 0 "a number beyond f32, scaled" "$NEOC" train constant.expr --data X=beyond.npy --scale X=1e-39
says out 'loss 0.125' "a number beyond f32, scaled"

# ---- a batch of no rows, in training and in a test
cat >empty.expr <<'EOF'
dim B = 1
dim T = 1
input X[B]
input V[T]
param w = 0
loss = w*(sum[b] X[b])
t = w*(sum[b] V[b])
output test: t
train loss using sgd(lr = 0)
optimizer sgd(w[..], g[..]; input lr = 0.1) { update w[..] = w[..] - lr*g[..] }
EOF
expect 1 "no rows to train on" "$NEOC" train empty.expr -D B=0 --data X=twelve.npy
says err 'entry step takes no rows' "no rows to train on"
expect 1 "no rows to test" "$NEOC" train empty.expr -D T=0 --data X=twelve.npy --test V=twelve.npy
says err 'entry test takes no rows' "no rows to test"
exit "$status"

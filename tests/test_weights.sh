#!/bin/sh
# Weights that another program wrote: --load, --only and --rename for compiled code and the interpreter; a training that begins with
# them; the file that it saves has the bytes that the format asks for.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3

cat >model.expr <<'EOF'
import nn, optim
dim B <= 8
input X[B, 3]
input Y[B] : i32 < 2
param W[3, 2] = glorot(3, 2)
param b[2] = 0
param K[2, 1, 2] = 1
state seen : i64 = 0
state avg[2] = 1
h[n, c] = sum[i] X[n, i]*W[i, c] + b[c]
r = repeat l < 2 from r = h { next r = nn.linear(r, out = 2) }
L[n, c] = sum[i] r[n, i]*K[i, 0, c] - avg[c]
loss = nn.cross_entropy(L, Y)
update seen = seen + 1
output L
train loss using optim.adam(lr = 1e-2)
EOF

# As PyTorch's safetensors writes them: metadata, spaces behind the header, any order, types of its own.
cat >write.py <<'EOF'
import json, struct
def f(code, *x): return struct.pack('<%d%s' % (len(x), code), *x)
def bf16(*x): return b''.join(struct.pack('<f', v)[2:] for v in x)
tensors = {
  'layers.1.weight': ('F16', [2, 2], f('e', 1, 2, 3, 4)),
  'fc.weight': ('F64', [2, 3], f('d', 1, 2, 3, 4, 5, 6)),
  'fc.bias': ('BF16', [2], bf16(0.5, -2)),
  'empty': ('F32', [0, 3], b''),
  'bn.num_batches_tracked': ('I16', [], f('h', -7)),
  'layers.0.weight': ('F32', [2, 2], f('f', 5, 6, 7, 8)),
  'layers.0.bias': ('F32', [2], f('f', 0, 1)),
  'bn.running_mean': ('F32', [2], f('f', 2, 3)),
  'layers.1.bias': ('F32', [2], f('f', 2, 3)),
  'conv': ('F32', [2, 2, 1], f('f', 1, 2, 3, 4)),
  'mask': ('BOOL', [2], b'\0\1'), 'u': ('U8', [1], b'a'), 'i': ('I8', [1], b'b'), 'l': ('I32', [1], f('i', 9)),
}
header, at = {'__metadata__': {'format': 'pt'}}, 0
for name, (dtype, shape, data) in tensors.items():
  header[name] = {'dtype': dtype, 'shape': shape, 'data_offsets': [at, at + len(data)]}
  at += len(data)
text = json.dumps(header).encode()
text += b' ' * (-len(text) % 8 + 8)
open('theirs.st', 'wb').write(struct.pack('<Q', len(text)) + text + b''.join(t[2] for t in tensors.values()))
EOF
python3 write.py
cat >table.txt <<'EOF'
# theirs              = ours
fc.weight             = W transpose
fc.bias               = b
layers.*.weight       = r.linear.W[*] transpose
layers.*.bias         = r.linear.b[*]
conv                  = K permute 1,2,0   # K[i, 0, c] is conv[c, i, 0]
bn.num_batches_tracked = seen
bn.running_mean       = avg
EOF

# h = [6.5, 13], then two layers, then K, less the mean
for how in "" --interp; do
  expect 0 "run $how" "$NEOC" run model.expr X=ones:[1,3] --load theirs.st --rename table.txt $how --format=json
  says out '2284.5, 4983.5' "run $how: weights that were renamed, turned and converted"
done
"$NEOC" run model.expr X=ones:[1,3] --load theirs.st --rename table.txt -o a.npz >/dev/null 2>&1
"$NEOC" run model.expr X=ones:[1,3] --load theirs.st --rename table.txt --interp -o b.npz >/dev/null 2>&1
cmp -s a.npz b.npz || fail "the interpreter loads other weights than compiled code"

# what is missing is named, what is asked for is enough
run="$NEOC run model.expr X=ones:[1,3] --load theirs.st"
expect 1 "names of another program" $run
says err 'W, b, K, seen, avg, r.linear.W, r.linear.b: are missing from the file' "names of another program"
expect 0 "some of them" $run --only W,b --rename table.txt
says err '2 parameters are loaded, 5 stay as they are' "some of them"
expect 1 "a pattern of nothing" $run --only 'Q.*' --rename table.txt
echo 'fc.weight = W' >flat.txt
expect 1 "another shape" $run --only W --rename flat.txt
says err 'a line of a table transposes it: fc.weight = W transpose' "another shape"
expect 2 "a table without a file" "$NEOC" run model.expr X=ones:[1,3] --rename table.txt
expect 3 "a table that is not there" $run --rename nothere.txt

# training begins with them, its optimizer afresh; what it saves is whole again
cat >data.expr <<'EOF'
input R[16, 3]
X[n, i] = R[n, i]
Y[n] = i32(R[n, 0] > 0)
output X, Y
EOF
sed -i 's/Y\[n\] = /Y[n] : i32 = /' data.expr
"$NEOC" run data.expr R=random:1 -o data.npz >/dev/null
train="$NEOC train model.expr --data X=data.npz:X,Y=data.npz:Y --save w.st"
expect 0 "train --load" $train --set lr=0 --load theirs.st --rename table.txt
says err "theirs.st: 5 parameters and 2 states are loaded; the optimizer's state starts afresh" "train --load"
"$NEOC" run model.expr X=ones:[1,3] --load w.st -o c.npz >/dev/null
cmp -s a.npz c.npz || fail "weights that were loaded and saved are others"
expect 0 "its own checkpoint" $train --load w.st
says err '5 parameters and 2 states are loaded' "its own checkpoint"
expect 2 "--resume with --load" $train --load w.st --resume
sed 's/adam(lr = 1e-2)/sgd(lr = 1e-2)/' model.expr >sgd.expr
expect 0 "the checkpoint of another optimizer" "$NEOC" run sgd.expr X=ones:[1,3] --load w.st
expect 1 "resuming with another optimizer" "$NEOC" train sgd.expr --data X=data.npz:X,Y=data.npz:Y --save w.st --resume
says err '--load takes parameters alone' "resuming with another optimizer"

# the file as the format's own reader checks it: known types, aligned data without holes, as long as the file
python3 - <<'EOF' || fail "the saved file is not what the format asks for"
import json, struct
b = open('w.st', 'rb').read()
n, = struct.unpack('<Q', b[:8])
h = json.loads(b[8:8 + n])
assert n % 8 == 0 and all(isinstance(v, str) for v in h.pop('__metadata__').values())
size = {'F32': 4, 'I64': 8}
at = 0
for t in sorted(h.values(), key=lambda t: t['data_offsets']):
  elements = 1
  for x in t['shape']: elements *= x
  assert t['data_offsets'] == [at, at + elements * size[t['dtype']]] and at % size[t['dtype']] == 0
  at = t['data_offsets'][1]
assert 8 + n + at == len(b)
assert h['W']['shape'] == [3, 2] and 'W.adam.m' in h and h['seen']['dtype'] == 'I64'
EOF

# a state whose first value is a parameter follows the one that is loaded, unless the file has it
cat >target.expr <<'EOF'
import optim
param W[3] = uniform(0, 1)
state T[i < 3] = 2*W[i]
state n[3] = 0
d[i] = T[i] - 2*W[i]
loss = sum[i] (W[i] + T[i])^2
update T[i] = 0.5*T[i] + 0.5*W[i]
output d, T
train loss using optim.sgd(lr = 0.1)
EOF
cat >parts.py <<'EOF'
import json, struct, sys
def write(path, tensors):
  header, data = {}, b''
  for name, values in tensors.items():
    header[name] = {'dtype': 'F32', 'shape': [3], 'data_offsets': [len(data), len(data) + 12]}
    data += struct.pack('<3f', *values)
  text = json.dumps(header).encode()
  open(path, 'wb').write(struct.pack('<Q', len(text)) + text + data)
write('params.st', {'W': [1, 2, 3], 'n': [0, 0, 0]})
write('both.st', {'T': [7, 8, 9], 'W': [1, 2, 3], 'n': [0, 0, 0]})
EOF
python3 parts.py
for how in "" --interp; do
  expect 0 "a first value $how" "$NEOC" run target.expr $how --seed 4
  says out '\[0, 0, 0\]' "a first value $how: that of the parameter"
  expect 0 "a loaded parameter $how" "$NEOC" run target.expr $how --load params.st
  says out '\[2, 4, 6\]' "a loaded parameter $how: the state follows"
  expect 0 "a loaded state $how" "$NEOC" run target.expr $how --load both.st
  says out '\[7, 8, 9\]' "a loaded state $how"
done

# in a context that has trained, what is not asked for stays as it is; whose a state is does not depend on its name (layer_norm's
# parameter is y.g, the function g owns y.g.mu; d.step is a function's, d.step2 the entry's own count)
cat >owned.expr <<'EOF'
import nn
input x[3, 4]
optimizer s(w[..], g[..]; input lr = 0.01) {
  state slow[..] = w[..]
  update w[..] = w[..] - lr*g[..]/f32(step + 1), slow[..] = 0.5*slow[..] + 0.5*w[..]
}
fn g(x[B, D]) -> y {
  state mu[D] = 0
  m[d] = mean[b] x[b, d]
  update mu[d] = 0.5*mu[d] + 0.5*m[d]
  y[b, d] = x[b, d] - mu[d]
}
fn f(x[B, D]) -> y {
  state step : i64 = 7
  update step = step + 2
  y = (sum[b, d] x[b, d])*f32(step)
}
param V[4] = normal(0, 1)
state A[i < 4] = V[i]
y = nn.layer_norm(g(x))
l = sum[b, d] y[b, d]*V[d]*A[d]
d = f(y)

update A[i] = 0.5*A[i] + 1
output y, d
train e: l using s()
train d: l using s()
EOF
cat >keep.c <<'EOF'
/* Each line: the state's values before something was loaded, those in the file, and those afterwards. */
#include "neo/neo_rt.h"
#include "owned.h"
#include <stdio.h>
#include <string.h>

static const float x[12] = {1, 2, 3, 4, 2, 3, 4, 6, 3, 5, 5, 5};
static float y[12], d;

static void steps(owned_ctx *c, int n) {
  float loss;
  for (int k = 0; k < n; k++)
    if (owned_d(c, x, &loss) || owned_e(c, x, &loss))
      puts(owned_error(c));
}

static float first(owned_ctx *c, int t) {
  float f[4] = {0};
  int64_t i = 0;
  int whole = t == OWNED_T_d_step || t == OWNED_T_d_step2 || t == OWNED_T_e_step;
  if (owned_get(c, t, whole ? (void *)&i : f, whole ? sizeof i : sizeof f))
    puts(owned_error(c));
  return whole ? (float)i : f[0];
}

static const int shown[] = {OWNED_T_V,          OWNED_T_A,      OWNED_T_y_g,     OWNED_T_y_g_mu,
                            OWNED_T_V_s_slow,   OWNED_T_y_g_s_slow, OWNED_T_d_step,
                            OWNED_T_d_step2,    OWNED_T_e_step};
static const char *const name[] = {"V",          "A",      "y.g",     "y.g.mu",
                                   "V.s.slow",   "y.g.s.slow", "d.step",
                                   "d.step2",    "e.step"};

static const char *like(float after, float had, float file, float v) {
  if (after == had)
    return "kept";
  return after == file ? "loaded" : after == v ? "made" : "other";
}

static void load(const char *only) {
  owned_ctx *c;
  float had[9], file[9];
  owned_create(NULL, &c);
  steps(c, 2);
  for (int k = 0; k < 9; k++)
    file[k] = first(c, shown[k]);
  owned_save(c, "a.st", NULL, 0);
  steps(c, 3);
  for (int k = 0; k < 9; k++)
    had[k] = first(c, shown[k]);
  neo_rt_weights o = {.struct_size = sizeof o, .only = only};
  printf("%s:", only ? only : "all");
  if (owned_load_weights(c, "a.st", &o))
    puts(owned_error(c));
  for (int k = 0; k < 9; k++)
    printf(" %s %s", name[k], like(first(c, shown[k]), had[k], file[k], first(c, k == 5 ? OWNED_T_y_g : OWNED_T_V)));
  puts("");
  owned_destroy(c);
}

int main(void) {
  load(NULL);
  load("V");
  load("A");
  load("y.g.mu,d.step");
  return 0;
}
EOF
if [ -e "$NEO_BUILD_DIR/lib/libneort.so.0" ]; then
  "$NEOC" compile -q owned.expr -o lib
  cc -I lib -I "$NEO_BUILD_DIR/include" keep.c -o keep -L lib -lowned -L "$NEO_BUILD_DIR/lib" -lneort
  LD_LIBRARY_PATH=lib:$NEO_BUILD_DIR/lib ./keep >kept.txt
  cat >want.txt <<'EOF'
all: V loaded A loaded y.g loaded y.g.mu loaded V.s.slow made y.g.s.slow made d.step loaded d.step2 kept e.step kept
V: V loaded A kept y.g kept y.g.mu kept V.s.slow made y.g.s.slow kept d.step kept d.step2 kept e.step kept
A: V kept A loaded y.g kept y.g.mu kept V.s.slow kept y.g.s.slow kept d.step kept d.step2 kept e.step kept
y.g.mu,d.step: V kept A kept y.g kept y.g.mu loaded V.s.slow kept y.g.s.slow kept d.step loaded d.step2 kept e.step kept
EOF
  diff want.txt kept.txt || fail "loading weights into a context that has trained"
fi

# a number that the model's type lacks; a line that has nothing left; first values are those of step 0
python3 - <<'EOF'
import json, struct
def write(path, tensors):
  header, data = {}, b''
  for name, values in tensors.items():
    header[name] = {'dtype': 'F64', 'shape': [3], 'data_offsets': [len(data), len(data) + 24]}
    data += struct.pack('<3d', *values)
  text = json.dumps(header).encode()
  open(path, 'wb').write(struct.pack('<Q', len(text)) + text + data)
write('beyond.st', {'W': [1e39, 2, 3], 'n': [0, 0, 0]})
EOF
for how in "" --interp; do
  expect 1 "a weight beyond f32 $how" "$NEOC" run target.expr $how --load beyond.st
  says err 'W: a value is not in the range of f32' "a weight beyond f32 $how"
done
printf 'W = W\nW = W\n' >late.txt
expect 1 "a line that has nothing left" "$NEOC" run target.expr --load params.st --rename late.txt
says err "line 2 of the table: an earlier line takes every 'W'" "a line that has nothing left"
exit "$status"

#!/bin/sh
# `neoc train --map`: a second model changes batches; entries see the batch as it was read and the same random numbers; a training that
# goes on has the same batches; what does not fit is told.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3

python3 - <<'EOF'
import random
random.seed(2)
open('x.csv', 'w').write('a,b,y\n' + ''.join('%r,%r,0\n' % (random.random() + 0.1, random.random() + 0.1) for _ in range(50)))
EOF
cat >model.expr <<'EOF'
import optim
dim B <= 16
input X[B, 2]
input Y[B] : i32 < 2
param w[2] = 0.5
param c = 0
loss = mean[b] (Y[b] + sum[i] w[i]*X[b, i])^2 + 0*c
wrong = mean[b] abs(f32(X[b, 0] < 0) - f32(Y[b]))
loss2 = wrong + c
sd = mean[b] f32(Y[b]) + c
output test: loss
train step: loss over w using optim.adam(lr = 1e-2)
train same: loss2 over c using optim.sgd(lr = 0)
EOF
sed -i 's/^loss = .*/loss = (mean[b] (f32(Y[b]) + sum[i] w[i]*X[b, i])^2) + 0*c/; /^sd/d' model.expr
data="--data X=x.csv:a+b,Y=x.csv:y"
cat >tensors.py <<'EOF'
import json, struct, sys
def tensors(path):
  b = open(path, 'rb').read()
  n = struct.unpack('<Q', b[:8])[0]
  return {k: b[8 + n + v['data_offsets'][0]:8 + n + v['data_offsets'][1]] for k, v in json.loads(b[8:8 + n]).items() if k != '__metadata__'}
sys.exit(tensors(sys.argv[1]) != tensors(sys.argv[2]))
EOF

# ---- without chance it is another way to prepare data
printf 'dim B <= 16\ninput X[B, 2]\nZ[b, i] = 2*X[b, i]\noutput X: Z\n' >twice.expr
expect 0 "twice" "$NEOC" train model.expr --entry step $data --map twice.expr --epochs 3 --save a.st
expect 0 "scaled" "$NEOC" train model.expr --entry step $data --scale X=2 --epochs 3 --save b.st
python3 tensors.py a.st b.st || fail "what the map returns is not what is trained on"

# ---- two entries, one choice; another one in each step
cat >flip.expr <<'EOF'
dim B <= 16
input X[B, 2]
input Y[B] : i32 < 2
flip[b < B] = rand() < 0.5
Z[b, i] = select(flip[b], -X[b, i], X[b, i])
N[b] : i32 < 2 = select(flip[b], 1, Y[b])
output X: Z
output Y: N
EOF
expect 0 "the same choice" "$NEOC" train model.expr --entry same $data --map flip.expr --epochs 3 --format=json
[ "$(grep -c '"loss": 0,' out)" = 3 ] || fail "two entries of a map choose otherwise" out
printf 'dim B <= 16\ninput Y[B] : i32 < 2\nN[b] : i32 < 2 = select(rand() < 0.5, 1, Y[b])\noutput Y: N\n' >labels.expr
expect 0 "another choice in each step" "$NEOC" train model.expr --entry step $data --map labels.expr --epochs 5 --set step.lr=0 --format=json
[ "$(sed 's/.*"loss": \([^,]*\),.*/\1/' out | sort -u | wc -l)" = 5 ] || fail "each epoch has the same choices" out

# ---- the same wherever it is stopped, on any number of threads; another seed gives others
expect 0 "whole" "$NEOC" train model.expr --entry step $data --map flip.expr --epochs 4 --threads 1 --save w.st
expect 0 "part" "$NEOC" train model.expr --entry step $data --map flip.expr --epochs 2 --save p.st
expect 0 "part" "$NEOC" train model.expr --entry step $data --map flip.expr --epochs 4 --threads 2 --save p.st --resume
cmp -s w.st p.st || fail "a training with a map does not go on as it would have"
expect 0 "with a test" "$NEOC" train model.expr --entry step $data --map flip.expr --epochs 4 --test X=x.csv:a+b,Y=x.csv:y --save t.st
python3 tensors.py w.st t.st || fail "a test changes what the map does"
expect 0 "another seed" "$NEOC" train model.expr --entry step $data --map flip.expr --epochs 4 --seed 9 --save s.st
python3 tensors.py w.st s.st && fail "another seed maps the same"
expect 1 "going on without it" "$NEOC" train model.expr --entry step $data --save p.st --resume --epochs 5
says err 'p.st: was made with --map=flip, not $' "going on without it"

# ---- what does not fit
bad() { # PATTERN MODEL...
  pattern=$1
  shift
  printf '%s\n' "$@" >bad.expr
  expect 1 "$pattern" "$NEOC" train model.expr --entry step $data --map bad.expr
  says err "$pattern" "a map that does not fit"
}
bad "entry Q: the training has no input 'Q'" 'dim B <= 16' 'input X[B, 2]' 'Z[b, i] = X[b, i]' 'output Q: Z'
bad "entry X: Z has not the type and row of X (model.expr:3:7)" 'dim B <= 16' 'input X[B, 2]' 'Z[b, i < 1] = X[b, i]' 'output X: Z'
bad "entry X: R has not the type and row of R\|the training has no input 'R'" 'dim B <= 16' 'input R[B, 2]' 'Z[b, i] = R[b, i]' 'output X: Z'
bad "entry X: gives one tensor" 'dim B <= 16' 'input X[B, 2]' 'Z[b, i] = X[b, i]' 'W[b, i] = X[b, i]' 'output X: Z, W'
bad "entry X: X has 2 rows in this batch, not 16 (write .dim B <= 16.)" 'dim B = 16' 'input X[B, 2]' 'Z[b, i] = X[b, i]' 'output X: Z'
expect 1 "an error in the map" "$NEOC" train model.expr --entry step $data --map x.csv
expect 3 "a map that is not there" "$NEOC" train model.expr --entry step $data --map nothere.expr
exit $status

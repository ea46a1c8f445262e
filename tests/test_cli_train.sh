#!/bin/sh
# `neoc train`: learns; the numbers do not depend on the number of threads, nor on whether the
# training was interrupted; what does not fit is said before anything runs.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

# 310 points in four dimensions; the class is the largest of the first three.
cat >data.expr <<'END'
input R[310, 4]
X[n, i] = R[n, i]
Y[n] = argmax[j < 3] R[n, j]
P[n, i, j] : u8 = u8(i32(127*(R[n, 2*i + j] + 1)))
output X, Y, P
END
sed -i 's/P\[n, i, j\]/P[n, i < 2, j < 2]/' data.expr
"$NEOC" run data.expr R=random:5 -o data.npz >/dev/null
"$NEOC" run data.expr R=random:6 -o test.npz >/dev/null

cat >model.expr <<'END'
import nn, optim
dim B <= 32
input X[B, 4]
input Y[B] : i32 < 3
h = nn.linear(X, out = 320)
d = nn.dropout(h, p = 0.1)
r[b, j] = relu(d[b, j])
L = nn.linear(r, out = 3)
loss = nn.cross_entropy(L, Y)
accuracy = mean[b] f32(argmax[c] L[b, c] == Y[b])
output L
output test: loss, accuracy
train loss using optim.adam(lr = 1e-2)
END
data=X=data.npz:X,Y=data.npz:Y

train() { # FILE ARGUMENTS...
  file=$1
  shift
  "$NEOC" train model.expr --data $data --seed 3 --save "$file" "$@" >out 2>err
}

expect 0 "training" "$NEOC" train model.expr --data $data --test X=test.npz:X,Y=test.npz:Y \
  --epochs 20 --format=json
last=$(tail -n 1 out)
case $last in
  *'"epoch": 20'*'"accuracy": 0.9'*) ;;
  *) fail "no accuracy of 0.9 after 20 epochs: $last" ;;
esac
expect 0 "the summary" "$NEOC" train model.expr --data $data --test X=test.npz:X,Y=test.npz:Y
says out '^epoch 1/1: loss .*, test loss .* accuracy .* samples/s' "the summary"

# 10 steps an epoch, the last one of 22 rows
train a.st --epochs 50 --threads 1
train b.st --epochs 50 --threads 1
train c.st --epochs 50 --threads 2
cmp -s a.st b.st || fail "500 steps twice: the parameters differ"
cmp -s a.st c.st || fail "500 steps with 1 and 2 threads: the parameters differ"
train d.st --epochs 50 --seed 4
cmp -s a.st d.st && fail "another seed gives the same parameters"

# in pieces: after an epoch, and with a changed setting that the checkpoint remembers
train e.st --epochs 20
train e.st --epochs 50 --resume
cmp -s a.st e.st || fail "resumed after 20 epochs: the parameters differ"

# interrupted wherever the signal finds it, more than once
long=300
train long.st --epochs $long --threads 1
interruptions=0
rm -f f.st
for pause in 0.3 0.35 0.4 0.3; do
  resume=""
  [ ! -e f.st ] || resume=--resume
  rm -f out
  env --default-signal=INT "$NEOC" train model.expr --data $data --seed 3 --save f.st \
    --epochs $long --threads 2 $resume >out 2>err &
  pid=$!
  waited=0 # the pause counts from the first epoch's line on
  while [ ! -s out ] && [ "$waited" -lt 300 ]; do
    waited=$((waited + 1))
    sleep 0.1
  done
  sleep "$pause"
  kill -INT "$pid" 2>/dev/null || true
  code=0
  wait "$pid" || code=$?
  [ "$code" = 130 ] && interruptions=$((interruptions + 1))
  [ "$code" = 130 ] || [ "$code" = 0 ] || fail "interrupted training: exit code $code"
  [ -e f.st ] || fail "an interrupted training keeps nothing"
done
[ "$interruptions" -gt 0 ] || echo "note: no training was slow enough to be interrupted"
train f.st --epochs $long --threads 1 --resume
cmp -s long.st f.st || fail "interrupted $interruptions times: the parameters differ"

# A bug in the compiler ends in a signal: the user gets a message, a program that shows it, and 70.
rm -f out
"$NEOC" train model.expr --data $data --epochs 1000000 >out 2>err &
pid=$!
waited=0
while [ ! -s out ] && [ "$waited" -lt 300 ]; do
  waited=$((waited + 1))
  sleep 0.1
done
kill -ABRT "$(cat /proc/$pid/task/$pid/children)"
code=0
wait "$pid" || code=$?
[ "$code" = 70 ] || fail "a crash exits with $code"
says err 'internal error: Aborted' "a crash"
reproducer=$(sed -n 's/^The program .* is in \(.*\)/\1/p' err)
[ -n "$reproducer" ] && "$NEOC" check -q "$reproducer" || fail "the reproducer cannot be read"
grep -q '^# passes: wrapping' "$reproducer" || fail "the reproducer does not tell the passes"
rm -f "$reproducer"

# a checkpoint every few steps is one that can be gone on from
train g.st --epochs 50 --save-every 7
cmp -s a.st g.st || fail "checkpoints on the way change the result"

# settings
train h.st --epochs 2 --set lr=0
train i.st --epochs 1 --set lr=0
"$NEOC" run model.expr X=ones:[1,4] --load h.st --format=json >h.out
"$NEOC" run model.expr X=ones:[1,4] --load i.st --format=json >i.out
cmp -s h.out i.out || fail "a learning rate of 0 changes the parameters"

# pictures: u8 becomes 0 to 1, [2, 2] becomes [4]
cat >sum.expr <<'END'
import optim
dim B <= 310
input X[B, 4]
param w = 0
s = mean[b, i] X[b, i] + w
output test: s
train s using optim.sgd(lr = 0)
END
pictures="$NEOC train sum.expr --data X=data.npz:P --test X=data.npz:P --format=json"
expect 0 "pictures" $pictures
mean=$(sed 's/.*"s": \([0-9.e-]*\).*/\1/' out)
awk -v m="$mean" 'BEGIN { exit !(m > 0.4 && m < 0.6) }' || fail "pictures are not scaled: $mean"
expect 0 "pictures as they are" $pictures --scale X=1
mean=$(sed 's/.*"s": \([0-9.e-]*\).*/\1/' out)
awk -v m="$mean" 'BEGIN { exit !(m > 110 && m < 140) }' || fail "--scale X=1 scales: $mean"

cat >rows.expr <<'END'
import optim
dim B <= 310
input X[B, 4]
input n : i64 = 1
param w = 0
r[b] = (sum[i] X[b, i]) + w
s = mean[b] r[b]
far = n
output test: s, r
output far: far
train s using optim.sgd(lr = 0)
END

# what does not fit
run="$NEOC train model.expr"
expect 2 "no data" $run
expect 2 "data of one input only" $run --data X=data.npz:X
says err 'lacks Y' "data of one input only"
expect 2 "data of an unknown input" $run --data $data,Z=data.npz:X
expect 3 "data that is not there" $run --data X=nothere.npy,Y=data.npz:Y
expect 1 "rows of a wrong shape" $run --data X=data.npz:Y,Y=data.npz:Y
says err 'X: a row of data.npz:Y has shape \[\], expected \[4\]' "rows of a wrong shape"
expect 1 "a batch that is too large" $run --data $data --batch 33
expect 1 "an entry that is not there" $run --data $data --entry nope
expect 2 "resume without a file" $run --data $data --resume
expect 3 "resume from nothing" $run --data $data --save nothere.st --resume
expect 1 "resume with another batch" $run --data $data --save a.st --resume --batch 16
says err 'was made with --batch 32' "resume with another batch"
expect 1 "an unknown setting" $run --data $data --set nope=1
expect 2 "a factor of an unknown name" $run --data $data --scale Q=2
says err "there are no data of 'Q'" "a factor of an unknown name"
expect 2 "a factor without a name" $run --data $data --scale 2
expect 2 "two factors" $run --data $data --scale X=2,X=3
expect 2 "data twice" $run --data $data,X=data.npz:X
says err "X is given twice" "data twice"
expect 1 "a setting beyond its type" $run --data $data --set lr=1e39
says err 'lr: .* is no f32' "a setting beyond its type"
expect 2 "a setting twice" $run --data $data --set lr=1 --set lr=2
expect 2 "an entry for no test" $run --data $data --test-entry test
expect 2 "a mean over no test" $run --data $data --mean-over loss=B
expect 2 "a mean over calls of what is no scalar" "$NEOC" train rows.expr --data X=data.npz:X --test X=data.npz:X --mean-over r=B
says err 'r is no scalar' "a mean over calls of what is no scalar"
expect 1 "an unknown entry for the test" $run --data $data --test $data --test-entry nope
expect 2 "steps between checkpoints of no file" $run --data $data --save-every 3
expect 0 "a setting beyond 2^53" "$NEOC" train rows.expr --data X=data.npz:X --set n=9007199254740993 --save n.st
"$NEOC" run rows.expr --entry=far --load n.st >far.out
says far.out '^9007199254740993$' "a setting beyond 2^53"
expect 2 "a fraction for an integer setting" "$NEOC" train rows.expr --data X=data.npz:X --set n=2.5

# ---- a checkpoint from which no training can go on
cp model.expr another.expr
expect 1 "a checkpoint of another model" "$NEOC" train another.expr --data $data --save a.st --resume
says err 'a.st: was made by the model model, not another' "a checkpoint of another model"
damaged() { # WHAT FROM TO: of the same length
  LC_ALL=C sed "1s/$2/$3/" a.st >damaged.st
  cmp -s a.st damaged.st && fail "no $2 in a.st"
  cp damaged.st before.st
  expect 1 "$1" $run --data $data --save damaged.st --resume --epochs 99
  says err 'damaged.st: ' "$1"
  cmp -s damaged.st before.st || fail "$1: the file has changed"
}
damaged "an epoch that is too late" '"epoch":"50"' '"epoch":"51"'
says err 'row 0 of epoch 52 is not where step' "an epoch that is too late"
damaged "an epoch below zero" '"epoch":"50"' '"epoch":"-5"'
damaged "an epoch that is no number" '"epoch":"50"' '"epoch":"5x"'
damaged "a row within a step" '"position":"0"' '"position":"7"'
damaged "a step that was never made" '"step":"500"' '"step":"600"'
head -c 1000 a.st >cut.st
expect 1 "a truncated checkpoint" $run --data $data --save cut.st --resume
says err 'cut.st' "a truncated checkpoint"
expect 3 "a folder that is not there" $run --data $data --save nothere/w.st
exit "$status"

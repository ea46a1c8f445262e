#!/bin/sh
# A compilation that takes more than a few seconds says on a terminal what it is at, and leaves nothing of that; without a terminal,
# or with -q, it says nothing. What a killed training left is removed by the next one, and a checkpoint keeps its mode and its link.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3

cat >terminal.py <<'EOF'
import os, pty, sys, time
begin, text = time.time(), b''
pid, fd = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
while True:
  try: more = os.read(fd, 65536)
  except OSError: break
  if not more: break
  text += more
assert os.waitpid(pid, 0)[1] == 0, text
open('text', 'wb').write(text)
open('seconds', 'w').write(str(int(time.time() - begin)))
EOF
model=$NEO_SOURCE_DIR/models/zoo/resnet50.expr
python3 terminal.py "$NEOC" compile "$model" -o out.d
if [ "$(cat seconds)" -ge 5 ]; then
  python3 - <<'EOF' || fail "a long compilation says nothing" text
import re
text = open('text', newline='').read()
lines = re.findall(r'\r(\d+) s  (schedules and kernels|machine code)( \d+ of \d+| and files done)', text)
assert lines and int(lines[0][0]) >= 3, text
assert text[:text.index('forward: memory')].endswith('\r\x1b[K'), text
EOF
else
  echo "note: the compilation takes no time to speak of"
fi
python3 terminal.py "$NEOC" compile "$model" -o out.d -q
[ ! -s text ] || fail "-q shows progress" text
expect 0 "without a terminal" "$NEOC" compile "$model" -o out.d
[ ! -s err ] || fail "progress without a terminal" err

cat >model.expr <<'EOF'
import optim
dim B <= 10
input X[B, 3]
param w[3] = 1
loss = mean[b] sum[i] w[i]*abs(X[b, i])
train loss using optim.sgd(lr = 0.1)
EOF
printf 'a,b,c\n1,2,3\n4,5,6\n' >x.csv
mkdir runs
(umask 077; expect 0 "a training" "$NEOC" train model.expr --data X=x.csv --save runs/1.st)
chmod 640 runs/1.st
ln -s 1.st runs/latest.st
expect 0 "through a link" "$NEOC" train model.expr --data X=x.csv --save runs/latest.st --epochs 2
[ -h runs/latest.st ] || fail "a link becomes a file"
[ "$(stat -c %a runs/1.st)" = 640 ] || fail "a checkpoint loses its mode: $(stat -c %a runs/1.st)"
expect 0 "the link's target" "$NEOC" train model.expr --data X=x.csv --save runs/1.st --epochs 3 --resume
says out 'epoch 3/3' "the link's target"

# A file and a folder as a process makes them, by the name of one that has ended.
"$NEOC" train model.expr --data X=x.csv --save runs/1.st --epochs 1000000000 -q >out 2>err &
pid=$!
sleep 2
name=""
waited=0
while [ -z "$name" ] && [ "$waited" -lt 3000 ]; do
  waited=$((waited + 1))
  name=$(ls -A runs | grep '^\.neo-' || true)
done
kill -KILL "$(cat /proc/$pid/task/$pid/children)" "$pid" 2>/dev/null || true
wait "$pid" 2>/dev/null || true
if [ -n "$name" ]; then
  mkdir "runs/${name%-*}-7.tmp"
  echo x >"runs/${name%-*}-7.tmp/a.o"
  : >"runs/$name"
  expect 0 "the next training" "$NEOC" train model.expr --data X=x.csv --save runs/1.st
  [ -z "$(ls -A runs | grep '^\.neo-')" ] || fail "what a killed training left stays: $(ls -A runs)"
else
  echo "note: no temporary was seen"
fi
exit $status

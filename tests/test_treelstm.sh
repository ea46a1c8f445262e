#!/bin/sh
# models/treelstm, a plain C program that links the generated library: it learns a treebank, goes on from a checkpoint bit for bit as
# if it had never stopped, and computes what `neoc train` computes. The treebank is made here; with the Stanford sentiment treebank
# ($NEO_DATA/sst, by default ../shared/data/sst beside the project) a short training is run too.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized # a plain program links the libraries
needs "$NEOC" python3

# build FOLDER OPTION...
build() {
  out=$1
  shift
  "$NEOC" compile -q "$NEO_SOURCE_DIR/models/treelstm/treelstm.expr" -o "$work/$out" "$@"
  ${CC:-cc} -O2 -Wall -Wextra -Werror -o "$work/$out/treelstm" "$NEO_SOURCE_DIR/models/treelstm/main.c" \
    "$NEO_SOURCE_DIR/models/treelstm/data.c" -I"$work/$out" -I"$NEO_SOURCE_DIR/include" -L"$work/$out" -ltreelstm -L"$NEO_BUILD_DIR/lib" -Wl,--no-as-needed -lneort -lm "-Wl,-rpath,$work/$out" "-Wl,-rpath,$NEO_BUILD_DIR/lib"
}
bank() { python3 "$NEO_SOURCE_DIR/tests/treebank.py" "$@"; }
bank train.txt 400 1 50
bank dev.txt 100 2 100
bank test.txt 100 3 100

small="-D V=40 -D E=16 -D D=16"
# shellcheck disable=SC2086
build small $small
run() { expect "$@" train.txt dev.txt test.txt; }
app=small/treelstm

# ---- it learns what a branch means, not only words
run 0 "training" $app --epochs 12 --batch 10 --lr 0.01 --threads 2
says out '^400 trees to train on, .* vertices, 39 words$' "the words of training, the rarest left out"
awk '/^test/ { seen = 1; if ($4 < 90 || $9 < 85) bad = 1 } END { exit !seen || bad }' out || fail "too little is learnt" out

# ---- stopped within an epoch and resumed, the same bits; threads change nothing
run 0 "whole" $app --epochs 3 --decay 0.5 --save whole.st --threads 1
grep -o '^test.*\|^epoch.*loss [0-9.]*' out | tail -n 2 >whole.txt
run 0 "stopped" $app --steps 20 --decay 0.5 --save part.st --threads 2
says out '^stopped after step 20$' "stopped"
run 0 "resumed" $app --epochs 2 --save part.st --resume --seed 9
run 0 "resumed once more" $app --epochs 3 --save part.st --resume --threads 2
grep -o '^test.*\|^epoch.*loss [0-9.]*' out | tail -n 2 >part.txt
cmp -s whole.st part.st || fail "resumed, the checkpoint differs"
cmp -s whole.txt part.txt || fail "resumed, losses differ" part.txt
expect 0 "three epochs of the same rate" $app --epochs 3 --decay 1 --save whole.st --threads 1 train.txt dev.txt test.txt
grep -o '^test.*\|^epoch.*loss [0-9.]*' out | tail -n 2 >whole.txt
run 0 "evaluation alone" $app --epochs 0 --save whole.st --resume
tail -n 1 out | cmp -s - part.txt && fail "the epoch's line is expected, too"
[ "$(tail -n 1 out)" = "$(tail -n 1 whole.txt)" ] || fail "--epochs 0 --resume tells other figures" out

# ---- `neoc train` does the same: order, batches, ids of words
# shellcheck disable=SC2086
expect 0 "neoc train" "$NEOC" train "$NEO_SOURCE_DIR/models/treelstm/treelstm.expr" $small --data G=train.txt --test G=test.txt \
  --batch 25 --epochs 3 --seed 1 --save neoc.st --mean-over loss=G.vertices,all=G.vertices
sed -n 's/^test: loss \([0-9.]*\), \([0-9.]*\) .*, \([0-9.]*\) % of .* roots/\1 \2 \3/p' whole.txt >figures
sed -n 's/.*test loss \([0-9.]*\) all \([0-9.]*\) at_root \([0-9.]*\),.*/\1 \2 \3/p' out | tail -n 1 >>figures
awk 'NR == 1 { l = $1; a = $2; r = $3 } NR == 2 { d = (l - $1)^2 + (a - 100*$2)^2 + (r - 100*$3)^2; n = 1 }
  END { exit !n || d > 1e-3 }' figures || fail "the program and neoc train evaluate differently" figures
python3 - <<'EOF' || fail "the program and neoc train learn different weights"
import json, struct
def tensors(path):
  b = open(path, 'rb').read()
  n, = struct.unpack('<Q', b[:8])
  h = json.loads(b[8:8 + n])
  h.pop('__metadata__')
  return {k: b[8 + n + v['data_offsets'][0]:8 + n + v['data_offsets'][1]] for k, v in h.items()}
assert tensors('whole.st') == tensors('neoc.st')
EOF

# ---- compiled code is the interpreter's, and gradients are differences
tiny="-D V=50 -D E=8 -D D=8 --size G.vertices=20 --size B=3"
for command in verify grad-check; do
  # shellcheck disable=SC2086
  expect 0 "neoc $command" "$NEOC" $command "$NEO_SOURCE_DIR/models/treelstm/treelstm.expr" $tiny
done

# ---- what is wrong is told
expect 2 "no files" $app
says err '^usage: treelstm' "no files"
run 2 "an option that is not there" $app --epoch 3
run 2 "--resume of nothing" $app --resume
run 3 "a file of weights that is not there" $app --save none.st --resume
says err 'none.st: cannot be read' "a file of weights that is not there"
run 3 "another batch" $app --save whole.st --resume --batch 24
says err 'whole.st: was made with another --batch' "another batch"
expect 3 "other words" $app --save whole.st --resume dev.txt dev.txt test.txt
says err 'whole.st: was made with the words of another file' "other words"
run 3 "a batch that may be too large" $app --batch 300
says err 'batch: trees of up to [0-9]* vertices: the model takes [0-9]* of them at once' "a batch that may be too large"
printf '(2 a)\n(2 (2 b) (2 c)' >open.txt
expect 3 "a bracket that is not closed" $app train.txt open.txt test.txt
says err 'open.txt:2:1: the bracket is not closed' "a bracket that is not closed"
printf '(2 a)\n(2 (2 b) (7 c))' >label.txt
expect 3 "a label without class" $app train.txt dev.txt label.txt
says err 'label.txt:2:10: the model has no class for this label' "a label without class"
printf '(2 (2 a) (2 b) (2 c))' >three.txt
expect 3 "three children" $app train.txt dev.txt three.txt
says err 'three.txt:1:1: more children' "three children"

# ---- real trees
data=${NEO_DATA:-$NEO_SOURCE_DIR/../shared/data}/sst
if [ ! -d "$data" ]; then
  echo "the Stanford sentiment treebank is not in $data: without it"
  exit "$status"
fi
sst() { expect 0 "$@" "$data/train.txt" "$data/dev.txt" "$data/test.txt"; }
build real -D E=32 -D D=32
sst "three hundred real trees" real/treelstm --limit 300 --epochs 3
says out '^300 trees to train on, 11956 vertices, 18280 words$' "three hundred real trees"
awk '/^epoch/ { l = $4 + 0; if (seen++ && l >= before) bad = 1; before = l } END { exit seen != 3 || bad }' out ||
  fail "the loss does not fall" out
sst "all real trees" real/treelstm --epochs 0
says out '^test: .* of 82600 vertices, .* of 2210 roots$' "all real trees"
if [ -n "${NEO_TEST_LONG:-}" ]; then # the whole training: some minutes
  build whole
  sst "the whole treebank" whole/treelstm
  cat out
  awk '/^test/ { seen = 1; if ($4 < 79 || $9 < 45) bad = 1 } END { exit !seen || bad }' out || fail "below 79 % or 45 %" out
fi
exit "$status"

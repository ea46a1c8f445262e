#!/bin/sh
# `neoc train --data G=trees.txt`: what a graph's inputs get of a batch of trees, ids of words, checkpoints, and what is told before
# anything runs.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3
bank() { python3 "$NEO_SOURCE_DIR/tests/treebank.py" "$@"; }
bank train.txt 60 1 30
bank test.txt 41 2 60

# ---- inputs: sums over a file are what it says, whatever the batches are
cat >count.expr <<'EOF'
import optim
dim B <= 64
graph G(children <= 2, vertices <= 4096)
input word[G.vertices] : -1 <= i32 < 1000
input label[G.vertices] : i32 < 5
input root[B] : i32 < G.vertices
param w = 1
dim V = G.vertices
vertices = f32(V)/f32(B)
leaves = (sum[v] f32(word[v] >= 0))/f32(B)
unknown = (sum[v] f32(word[v] == 0))/f32(B)
ids = (sum[v] f32(word[v]*i32(word[v] > 0)))/f32(B)
labels = (sum[v] f32(label[v]))/f32(B)
of_leaves = (sum[v where word[v] >= 0] f32(label[v]))/f32(B)
below[v, k] = (label[G.child[v, k]] else 0)
of_children = (sum[v, k] f32(below[v, k]))/f32(B)
of_roots = mean[b] f32(label[root[b]])
mean_label = mean[v] f32(label[v])
loss = w*of_roots + 0*mean_label
output test: vertices, leaves, unknown, ids, labels, of_leaves, of_children, of_roots, mean_label
train loss using optim.sgd(lr = 0)
EOF
cat >expected.py <<'EOF'
import collections, json, re, sys
def read(path):
  trees = []
  for line in open(path):
    trees.append([(int(l), w) for l, w in re.findall(r'\((\d+) ([^\s()]*)', line)]) # the root first, branches without word
  return trees
train, test = read('train.txt'), read('test.txt')
count, first = collections.Counter(), {}
def closing(line): # words in the order in which they occur
  return re.findall(r' ([^\s()]+)\)', line)
for line in open('train.txt'):
  for w in closing(line):
    count[w] += 1
    first.setdefault(w, len(first))
id = {w: k + 1 for k, w in enumerate(sorted(count, key=lambda w: (-count[w], first[w])))}
most = int(sys.argv[1])
id = {w: k for w, k in id.items() if k < most}
n = len(test)
every = [v for t in test for v in t]
leaves = [v for v in every if v[1]]
want = {
  'vertices': len(every)/n, 'leaves': len(leaves)/n, 'unknown': sum(w not in id for _, w in leaves)/n,
  'ids': sum(id.get(w, 0) for _, w in leaves)/n, 'labels': sum(l for l, _ in every)/n,
  'of_leaves': sum(l for l, _ in leaves)/n, 'of_children': sum(l for t in test for l, _ in t[1:])/n,
  'of_roots': sum(t[0][0] for t in test)/n, 'mean_label': sum(l for l, _ in every)/len(every)}
have = json.loads(sys.stdin.read().splitlines()[-1])['test']
for k, x in want.items():
  assert abs(have[k] - x) < 1e-4*(1 + x), (k, have[k], x)
EOF
count() { "$NEOC" train "$@" --data G=train.txt --test G=test.txt --mean-over mean_label=G.vertices --format=json; }
for batch in 1 7 60; do
  expect 0 "batches of $batch" count count.expr --batch $batch
  python3 expected.py 1000 <out || fail "batches of $batch: the inputs are others" out
done
sed 's/vertices <= 4096/vertices <= 200/' count.expr >few.expr
expect 0 "tests in several calls" count few.expr --batch 1
python3 expected.py 1000 <out || fail "several calls of few trees give other means" out
sed 's/< 1000/< 12/; s/0\*mean_label/0*mean_label + 0*ids/' count.expr >rare.expr
expect 0 "few ids" count rare.expr --batch 7
says err 'train.txt has [0-9]* words, word takes the 11 most frequent ones (rare.expr:4:7)' "few ids"
python3 expected.py 12 <out || fail "rare words are not unknown" out
sed 's/children <= 2/edges <= 4096/; /^below/d
s/^of_children.*/of_children = (sum[e] f32(label[G.child[e]]))\/f32(B)/' count.expr >lists.expr
for batch in 7 60; do
  expect 0 "children in lists, batches of $batch" count lists.expr --batch $batch
  python3 expected.py 1000 <out || fail "children in lists, batches of $batch: the inputs are others" out
done
# other names, a constant batch, the last trees of which are counted too
sed 's/label/y/g; s/dim B <= 64/dim B = 8/; s/mean_y/mean_label/g; s/ys /labels /; s/ys,/labels,/' count.expr >named.expr
expect 0 "inputs of other names, batches of just 8" "$NEOC" train named.expr --data G=train.txt,y=G:label \
  --test G=test.txt,y=G:label --mean-over mean_label=G.vertices --format=json
says err 'leaves out 4 of 60 rows' "batches of just 8"
python3 expected.py 1000 <out || fail "inputs of other names, batches of just 8" out
# a step of more trees than there are: each comes several times
head -n 3 train.txt >short.txt
expect 0 "a step of eight trees from three" "$NEOC" train named.expr --data G=short.txt,y=G:label --last=pad --save short.st
sed 's/vertices <= 4096/vertices <= 12/' named.expr >full.expr
expect 1 "eight trees from three, too many vertices" "$NEOC" train full.expr --data G=short.txt,y=G:label --last=pad
says err 'short.txt: a batch of 8 trees may have [0-9]* vertices, but G has vertices <= 12' "eight trees from three"
# without -1 in the bound a branch has the id 0
sed 's/-1 <= i32 < 1000/i32 < 1000/' count.expr >zero.expr
expect 0 "words of branches" count zero.expr --batch 7
python3 - <<'EOF' || fail "a branch has not the id 0 where -1 is out of bounds" out
import json
have = json.loads(open('out').read().splitlines()[-1])['test']
assert have['leaves'] == have['vertices'] and have['unknown'] > 0.4*have['vertices'], have
EOF

# ---- training: other orders in each epoch, and resumed as if it had never stopped
cat >bag.expr <<'EOF'
import nn, optim
dim V = 100
graph G(children <= 2, vertices <= 1024)
input word[G.vertices] : -1 <= i32 < V
input label[G.vertices] : i32 < 5
param table[V, 8] = normal(0, 0.1)
vertex up(x[E]) over G {
  gather h[2, E] = 0
  param U[2, E, E] = glorot(2*E, E)
  y[e] = tanh(x[e] + sum[k, l] h[k, l]*U[k, l, e])
  scatter h = y
  push y
}
x[v, e] = (table[word[v], e] else 0)
loss = nn.cross_entropy(nn.linear(up(x), out = 5), label)
touched[w < V] = any[v] word[v] == w
output test: loss
train loss except table using optim.adam(lr = 0.01)
train loss over table using optim.adam_rows(touched, lr = 0.01)
EOF
bag="$NEOC train bag.expr --data G=train.txt --test G=test.txt --batch 8 --seed 3"
expect 0 "six epochs" $bag --epochs 6 --save whole.st --threads 1
tail -n 1 out | sed 's/,[^,]*$//' >whole.txt
expect 0 "two epochs" $bag --epochs 2 --save part.st
expect 0 "resumed" $bag --epochs 6 --save part.st --resume --threads 2
tail -n 1 out | sed 's/,[^,]*$//' | cmp -s - whole.txt || fail "resumed, the losses differ" out
cmp -s whole.st part.st || fail "resumed, the parameters differ"
sed 's/film/movie/g' train.txt >other.txt
expect 1 "resumed with other words" "$NEOC" train bag.expr --data G=other.txt --batch 8 --save part.st --resume
says err 'part.st: was made with the words of another file' "resumed with other words"

# ---- what is wrong is told before anything runs
expect 2 "no number of trees" "$NEOC" train bag.expr --data G=train.txt
says err '--batch is missing: how many trees are a step of entry step?' "no number of trees"
expect 2 "no graph" "$NEOC" train bag.expr --data word=train.txt --batch 8
says err '--data lacks G: entry step needs --data G=TREES' "no graph"
expect 2 "an input that trees do not give" "$NEOC" train named.expr --data G=train.txt
says err '--data lacks y: entry step needs --data y=FILE, or G:word, G:label or G:root' "an input that trees do not give"
expect 2 "no such input" "$NEOC" train bag.expr --data G=train.txt,Z=train.txt --batch 8
says err "entry step has no input 'Z'" "no such input"
expect 1 "trees of another shape" "$NEOC" train named.expr --data G=train.txt,y=G:root
says err 'y: the roots of train.txt need `input y\[B\] : i32 < … `\|y: the roots of train.txt need `input y\[B\] : i32 < …`' "trees of another shape"
printf 'graph G(edges <= 9, vertices <= 9)\ninput word[G.vertices] : -1 <= i32 < 9\nparam T[9, 3] = 1\nvertex f(x[J]) over G {
  gather h[G.edges, J]\n  s[j] = x[j] + sum[e] h[e, j]\n  scatter h = s\n  push s\n}\nimport optim\nx[v, j] = (T[word[v], j] else 0)\ny = f(x)
loss = sum[v, j] y[v, j]\ntrain loss using optim.sgd(lr = 0.1)\n' >lists.expr
expect 1 "more edges than the graph has" "$NEOC" train lists.expr --data G=train.txt --batch 1
says err 'a tree of [0-9]* vertices, but G has vertices <= 9\|may have [0-9]* edges, but G has edges <= 9' "more edges than the graph has"
expect 1 "too many trees" "$NEOC" train few.expr --data G=train.txt --batch 60
says err 'train.txt: a batch of 60 trees may have [0-9]* vertices, but G has vertices <= 200 (few.expr:3:7); [0-9]* trees always fit' "too many trees"
expect 3 "a file that is not there" "$NEOC" train bag.expr --data G=three.txt --batch 1
says err 'G: three.txt: No such file' "a file that is not there"
printf '(2 a)\n(2 (2 b)(2 c)\n (2 d))' >three.txt
expect 1 "three children" "$NEOC" train bag.expr --data G=three.txt --batch 1
says err 'three.txt:2:1: 3 children, but G has children <= 2 (bag.expr:3:7)' "three children"
printf '(2 a)\n(2 (2 b)(5 c))' >label.txt
expect 1 "a label out of its bound" "$NEOC" train bag.expr --data G=label.txt --batch 1
says err 'label.txt:2:9: label 5 is not in \[0, 5) (bag.expr:5:7)' "a label out of its bound"
sed 's/vertices <= 1024/vertices <= 4/' bag.expr >tiny.expr
expect 1 "a tree that is too large" "$NEOC" train tiny.expr --data G=train.txt --batch 1
says err 'train.txt:[0-9]*:1: a tree of [0-9]* vertices, but G has vertices <= 4 (tiny.expr:3:7)' "a tree that is too large"
printf '(2 a)\n(2 (2 b) c)' >bad.txt
expect 1 "no tree" "$NEOC" train bag.expr --data G=bad.txt --batch 1
says err 'G: bad.txt:2:10: a word after children' "no tree"
expect 2 "no such output" $bag --mean-over best=G.vertices
says err "entry test has no output 'best'" "no such output"
expect 2 "no such size" $bag --mean-over loss=B
says err "entry test has no run-time size 'B'" "no such size"
exit "$status"

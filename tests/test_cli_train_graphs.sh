#!/bin/sh
# Graphs as data of `neoc train`: offsets, counts and compressed rows, edges counted within a graph or through the file, pairs; a batch
# is the disjoint union of its graphs. NumPy computes what an epoch's losses and gradients are; what is damaged is told.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || exit 77

cat >make.py <<'EOF'
import numpy as np
rng = np.random.default_rng(3)
sizes = [0, 1, 5, 3, 0, 8, 2, 4, 1, 6, 7]
edges = [0, 0, 9, 4, 0, 20, 1, 0, 2, 11, 5]
n = len(sizes)
vs = np.concatenate([[0], np.cumsum(sizes)]); es = np.concatenate([[0], np.cumsum(edges)])
src = np.concatenate([rng.integers(0, v, m) for v, m in zip(sizes, edges) if v] + [np.zeros(0, int)])
dst = np.concatenate([np.sort(rng.integers(0, v, m)) for v, m in zip(sizes, edges) if v] + [np.zeros(0, int)])
x = rng.normal(size=(vs[-1], 2)).astype('f4'); w = rng.normal(size=es[-1]).astype('f4'); y = rng.normal(size=n).astype('f4')
row = np.repeat(np.arange(n), edges)
indptr = np.zeros(vs[-1] + 1, int)
np.add.at(indptr, 1 + dst + vs[row], 1)
indptr = np.cumsum(indptr)
local = np.concatenate([indptr[vs[k]:vs[k + 1] + 1] - es[k] for k in range(n)])
assert all(indptr[vs[k]] == es[k] for k in range(n + 1))
common = dict(vs=vs, es=es, src=src, dst=dst, x=x, w=w, y=y, nv=sizes, ne=edges, indptr=indptr, local=local,
  gsrc=src + vs[row], gdst=dst + vs[row], pairs=np.stack([src, dst]), columns=np.stack([src, dst], 1))
np.savez('g.npz', **common)
def bad(name, **new): np.savez(name, **{**common, **new})
v = vs.copy(); v[3] = 1; v[2] = 2; bad('down.npz', vs=v)
bad('begin.npz', vs=vs + 1)
bad('short.npz', vs=vs[:-1])
s = src.copy(); s[4] = 5; bad('range.npz', src=s)
s = src.copy(); s[4] = -1; bad('minus.npz', src=s)
bad('float.npz', vs=vs.astype('f4'))
bad('few.npz', x=x[:-1])
bad('indptr.npz', indptr=indptr[:-1])
i = indptr.copy(); i[2] = 5; i[3] = 1; bad('csr.npz', indptr=i)
bad('counts.npz', nv=[-1] + sizes[1:])
EOF
"$python" make.py

cat >graph.expr <<'EOF'
import optim
dim B <= 16
dim 0 <= V <= 64
dim 0 <= M <= 64
input X[V, 2]
input from[M] : i32 < V
input to[M] : i32 < V
input W[M]
input graph_of[V] : i32 < B
input Y[B]
param p[2] = 1
h[v] = sum[k] p[k]*X[v, k]
a[v < V] = h[v] + sum[e where to[e] == v] W[e]*h[from[e]]
s[b < B] = sum[v where graph_of[v] == b] a[v]*a[v]
loss = mean[b] (s[b] - Y[b])^2
output test: loss
train loss using optim.sgd(lr = 1e-5)
EOF
common=V=g.npz:vs,X=g.npz:x,W=g.npz:w,Y=g.npz:y
lists=M=g.npz:es,from=g.npz:src,to=g.npz:dst
train="$NEOC train graph.expr --batch 4 --epochs 3 --format=json"
told() { sed 's/, "samples_per_s": [0-9.]*//' out; }
expect 0 "graphs" $train --data $common,$lists --test $common,$lists --save a.st
first=$(told)

# The parameters and losses of one step with all graphs, by a formula in NumPy: the square of a sum is differentiated by hand.
expect 0 "all graphs at once" "$NEOC" train graph.expr --data $common,$lists --test $common,$lists --set lr=0 --format=json
cp out whole.out
expect 0 "one step" "$NEOC" train graph.expr --data $common,$lists --save one.st
cat >check.py <<'EOF'
import json, struct, numpy as np
g = np.load('g.npz')
n = len(g['y']); of = np.repeat(np.arange(n), g['nv']); row = np.repeat(np.arange(n), g['ne'])
A = np.eye(len(of))
np.add.at(A, (g['dst'] + g['vs'][row], g['src'] + g['vs'][row]), g['w'].astype('f8'))
z = A @ g['x'].astype('f8')                   # a = z @ p
p = np.ones(2)
a = z @ p
s = np.zeros(n); np.add.at(s, of, a*a)
loss = np.mean((s - g['y'])**2)
grad = (2*(s - g['y'])[of]/n * 2*a) @ z
told = json.loads(open('whole.out').read())
assert abs(told['loss'] - loss) < 1e-4*loss and abs(told['test']['loss'] - loss) < 1e-4*loss, (told, loss)
b = open('one.st', 'rb').read(); m = struct.unpack('<Q', b[:8])[0]; head = json.loads(b[8:8 + m])
o = head['p']['data_offsets']; got = np.frombuffer(b[8 + m + o[0]:8 + m + o[1]], 'f4')
assert np.allclose(got, p - 1e-5*grad, rtol=1e-5), (got, p - 1e-5*grad)
EOF
"$python" check.py || fail "a batch is not the disjoint union of its graphs" whole.out

# ---- the same graphs told in other ways
same() { # WHAT DATA
  expect 0 "$1" $train --data "$2" --test $common,$lists
  [ "$first" = "$(told)" ] || fail "$1 are other graphs" out
}
same "counts" V=g.npz:nv:counts,X=g.npz:x,W=g.npz:w,Y=g.npz:y,M=g.npz:ne:counts,from=g.npz:src,to=g.npz:dst
same "vertices counted through the file" $common,M=g.npz:es,from=g.npz:gsrc:global,to=g.npz:gdst:global
same "pairs" $common,M=g.npz:es,from=g.npz:pairs:from,to=g.npz:pairs:to
same "columns of pairs" $common,M=g.npz:es,from=g.npz:columns:from,to=g.npz:columns:to
same "compressed rows" $common,M=g.npz:indptr:csr,from=g.npz:src,to=M:vertex
same "compressed rows of each graph" $common,M=g.npz:local:csr,from=g.npz:src,to=M:vertex
expect 0 "in one piece" "$NEOC" train graph.expr --batch 4 --data $common,$lists --save a.st --epochs 3
expect 0 "going on" "$NEOC" train graph.expr --batch 4 --data $common,$lists --save b.st
expect 0 "going on" "$NEOC" train graph.expr --batch 4 --data $common,$lists --save b.st --resume --epochs 3
cmp -s a.st b.st || fail "graphs in pieces give other parameters"
expect 0 "a batch of one graph" "$NEOC" train graph.expr --batch 1 --data $common,$lists

# ---- what is damaged
bad() { # FILE PATTERN
  data=$(echo "$common,$lists" | sed "s/g.npz/$1/g")
  expect 1 "$1" $train --data "$data"
  says err "$2" "$1"
}
bad down.npz 'V: offset 3 of down.npz:vs is 1, less than 2 before it'
bad begin.npz 'V: offsets in begin.npz:vs do not begin with 0'
bad short.npz 'short.npz:es tells 11 rows, but short.npz:vs tells 10'
bad range.npz 'from: element 4 of row 2 of range.npz:src is 5, but the row has 5 of V'
bad minus.npz 'from: element 4 of row 2 of minus.npz:src is -1, but the row has 5 of V'
bad float.npz 'V: float.npz:vs is no list of integers'
bad few.npz 'X: few.npz:x has 36 rows, but few.npz:vs ends at 37'
expect 1 "compressed rows of another length" $train --data $common,M=indptr.npz:indptr:csr,from=g.npz:src,to=M:vertex
says err 'M: indptr.npz:indptr has 37 numbers, but 37 vertices need 38, or 48 where each graph begins with 0' "compressed rows of another length"
expect 1 "compressed rows that go down" $train --data $common,M=csr.npz:indptr:csr,from=g.npz:src,to=M:vertex
says err 'M: of row 2 in csr.npz:indptr offset [12] is 1, less than 5 before it\|offsets of row 2 in csr.npz' "compressed rows that go down"
expect 1 "a count below zero" $train --data V=counts.npz:nv:counts,X=g.npz:x,W=g.npz:w,Y=g.npz:y,$lists
says err 'V: count 0 of counts.npz:nv is -1' "a count below zero"
expect 2 "edges without vertices" $train --data X=g.npz:x,M=g.npz:indptr:csr,from=g.npz:src
expect 1 "no offsets" $train --data X=g.npz:x,W=g.npz:w,Y=g.npz:y,$lists
expect 2 "no features" $train --data V=g.npz:vs,W=g.npz:w,Y=g.npz:y,$lists
says err '--data lacks X' "no features"
sed 's/V <= 64/V <= 20/' graph.expr >small.expr
expect 1 "a batch that is too large" "$NEOC" train small.expr --batch 4 --data $common,$lists
says err 'a batch of 4 rows may have V = 26, but the model has V <= 20; 2 rows always fit' "a batch that is too large"
sed 's/dim 0 <= M/dim M/' graph.expr >some.expr
expect 1 "a batch without edges" "$NEOC" train some.expr --batch 1 --data $common,$lists
says err 'a batch of 1 rows may have M = 0, but the model has it at least 1: write .dim 0 <= M' "a batch without edges"

# ---- graphs whose children are in lists: the children of a vertex come before it
cat >make_lists.py <<'EOF'
import numpy as np
rng = np.random.default_rng(5)
sizes = [0, 1, 5, 3, 0, 8, 2, 4, 1, 6, 7]
vs = np.concatenate([[0], np.cumsum(sizes)]); n = len(sizes)
begin, child, local = [0], [], []
for k, size in enumerate(sizes):
  local.append(0)
  for v in range(size):
    child += list(rng.integers(0, v, rng.integers(0, 4)) if v else [])
    begin.append(len(child)); local.append(len(child) - begin[vs[k]])
child = np.array(child, int); w = rng.normal(size=len(child)).astype('f4')
owner = np.repeat(np.arange(vs[-1]), np.diff(begin)); row = np.repeat(np.arange(n), sizes)[owner]
x = rng.normal(size=(vs[-1], 2)).astype('f4'); y = rng.normal(size=n).astype('f4')
common = dict(vs=vs, begin=np.array(begin), local=np.array(local), child=child, gchild=child + vs[row], w=w, x=x, y=y)
np.savez('l.npz', **common)
late = child.copy(); late[np.flatnonzero(row == 2)[0]] = 4; np.savez('late.npz', **{**common, 'child': late})
h = x.astype('f8')
for e, v in enumerate(owner):
  h[v] += w[e]*h[child[e] + vs[row[e]]]
s = np.zeros(n); np.add.at(s, np.repeat(np.arange(n), sizes), h.sum(1)**2)
print(np.mean((s - y)**2))
EOF
"$python" make_lists.py >loss
cat >lists.expr <<'EOF'
import optim
dim B <= 16
graph G(edges <= 128, vertices <= 64)
input X[G.vertices, 2]
input W[G.edges]
input graph_of[G.vertices] : i32 < B
input Y[B]
param p[2] = 1
vertex sums(x[J]) over G {
  gather h[G.edges, J]
  h2[j] = x[j] + sum[e] W[e]*h[e, j]
  scatter h = h2
  push h2
}
h = sums(X)
a[v] = sum[k] p[k]*h[v, k]
s[b < B] = sum[v where graph_of[v] == b] a[v]*a[v]
loss = mean[b] (s[b] - Y[b])^2
output test: loss
train loss using optim.sgd(lr = 1e-5)
EOF
common=G.vertices=l.npz:vs,X=l.npz:x,W=l.npz:w,Y=l.npz:y
own=G.edges=l.npz:begin:csr,G.child=l.npz:child
expect 0 "lists, all at once" "$NEOC" train lists.expr --data $common,$own --set lr=0 --format=json
"$python" -c 'import json
want = float(open("loss").read()); have = json.loads(open("out").read())["loss"]
assert abs(want - have) < 1e-4*want, (want, have)' || fail "lists of a batch are not those of its graphs" out
of_lists="$NEOC train lists.expr --batch 4 --epochs 3 --format=json"
expect 0 "lists" $of_lists --data $common,$own
first=$(told)
for other in G.edges=l.npz:local:csr,G.child=l.npz:child G.edges=l.npz:begin:csr,G.child=l.npz:gchild:global; do
  expect 0 "lists told as $other" $of_lists --data $common,$other
  [ "$first" = "$(told)" ] || fail "lists told as $other are other graphs" out
done
expect 1 "a child that comes late" $of_lists --data $common,G.edges=l.npz:begin:csr,G.child=late.npz:child
says err 'G.child: element [0-9]* of row 2 of late.npz:child is 4, which is not before vertex [0-9], whose child it is' "a child that comes late"
expect 2 "lists without rows" $of_lists --data $common,G.edges=l.npz:vs,G.child=l.npz:child
says err 'G.begin: l.npz:vs is no compressed list of rows (G.edges=FILE:csr)' "lists without rows"
common=V=g.npz:vs,X=g.npz:x,W=g.npz:w,Y=g.npz:y

# ---- the mean of nothing is told once, by the entry and the size that is 0
sed 's/^loss = .*/loss = mean[e] W[e]*h[from[e]]/; /^input Y/d; /^s\[b/d; /^a\[v/d; /^input to/d; /^input graph_of/d; /^dim B/d' graph.expr >mean.expr
mean="V=g.npz:vs,X=g.npz:x,W=g.npz:w,M=g.npz:es,from=g.npz:src"
expect 1 "a mean over no edges" "$NEOC" train mean.expr --batch 1 --data $mean
says err 'loss of entry step is nan, and [VM] is 0 in this batch' "a mean over no edges"
expect 0 "a mean over no edges, allowed" "$NEOC" train mean.expr --batch 1 --allow-nan --epochs 2 --data $mean
[ "$(grep -c 'is nan, and' err)" = 1 ] || fail "a mean over no edges is told more than once" err
cat >none.expr <<'EOF'
dim 0 <= M <= 64
input W[M]
output test: loss
loss = mean[e] W[e]
EOF
expect 0 "a call without edges" "$NEOC" run none.expr --entry=test W=zeros:[0]
says err 'loss of entry test is nan, and M is 0 in this call' "a call without edges"
expect 0 "a call with edges" "$NEOC" run none.expr --entry=test W=zeros:[3]
[ ! -s err ] || fail "a call with edges is told" err
exit $status

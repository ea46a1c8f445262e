#!/bin/sh
# `neoc run`: compiled code and the interpreter give the same numbers, values can be given in every
# way, and what is wrong with them is said with the tensor's name.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

cat >m.expr <<'END'
import nn, optim
dim B <= 8
input X[B, 4]
input Y[B] : i32 < 3
input gain = 1.0
param W[4, 3] = glorot(4, 3)
param b[3] = 0
L[n, j] = gain*sum[i] X[n, i] * W[i, j] + b[j]
loss = nn.cross_entropy(L, Y)
best[n] = argmax[j] L[n, j]
high[n] = L[n, 0] > 0
output L
output test: loss, best, high
train loss using optim.sgd(lr = 0.1)
END

# Numbers of two files agree to 1e-5, words exactly.
near() {
  awk -v other="$2" 'BEGIN { bad = 0 }
    { if ((getline line < other) <= 0) bad = 1
      gsub(/[][,]/, " "); gsub(/[][,]/, " ", line)
      n = split($0, a, " "); m = split(line, b, " ")
      if (n != m) bad = 1
      for (k = 1; k <= n; k++) {
        d = a[k] - b[k]
        if (a[k] + 0 == 0 && b[k] + 0 == 0 ? a[k] != b[k] && a[k] ~ /[a-z]/ : d*d > 1e-10) bad = 1
      } }
    END { if ((getline line < other) > 0) bad = 1; exit bad }' "$1"
}
both() { # WHAT ARGUMENTS...
  what=$1
  shift
  expect 0 "$what" "$NEOC" run m.expr "$@"
  cp out compiled
  expect 0 "$what, interpreted" "$NEOC" run --interp m.expr "$@"
  near compiled out || { fail "$what: the interpreter differs"; diff compiled out >&2 || true; }
}

both "forward" X=random:1:[3,4]
says out '^L f32 \[3, 3\]' "forward"
both "another seed" X=random:1:[3,4] --seed 7
cmp -s out compiled || true
both "one row" X=random:1:[1,4]
both "all rows" X=random:1:[8,4]
both "sizes from --size" X=random:1 --size B=5
says out '\[5, 3\]' "sizes from --size"
both "test entry" --entry=test X=random:1:[3,4] Y=[0,1,2]
says out '^high bool' "test entry"
both "gradients" X=random:1:[3,4] Y=random:2 --grad=W,b
says out '^grad:W f32 \[4, 3\]' "gradients"
both "a nested list" X='[[1,2,3,4],[4,3,2,1]]' W=ones:[4,3]
says out '^L f32 \[2, 3\]' "a nested list"
says out '^\[\[10, 10, 10\],' "a nested list"
both "a nested list without commas" X='[[1 2 3 4] [4 3 2 1]]' W=ones:[4,3]
both "parameters given" X=ones:[2,4] W=full:0.25:[4,3] b=[1,2,3] gain=2
says out '3, 4, 5' "parameters given"
both "a setting" X=ones:[2,4] --set gain=0
both "zeros" X=zeros:[2,4]

# files: what is written can be read, and gives the same
expect 0 "write .npz" "$NEOC" run m.expr X=random:1:[3,4] --set gain=1 -o first.npz
cp out before
cat >copy.expr <<'END'
dim B <= 8
input L[B, 3]
M[b, j] = L[b, j] * 1
output L: M
END
expect 0 "read .npz" "$NEOC" run copy.expr --entry=L L=@first.npz:L
tail -n +2 before >values
tail -n +2 out | cmp -s - values || fail "values change on the way through a file"

expect 0 JSON "$NEOC" run --format=json m.expr X=ones:[1,4]
says out '"outputs": {"L": {"type": "f32", "shape": \[1, 3\], "values": \[' JSON
expect 0 "textual IR runs" sh -c "'$NEOC' explain m.expr --after=front >m.ir && '$NEOC' run m.ir X=random:1:[3,4]"
tail -n +2 out | cmp -s - values || fail "the IR's text gives other values"

# what is wrong is said
expect 1 "a wrong shape" "$NEOC" run m.expr X=ones:[3,5]
says err 'X: shape is \[3, 5\], expected \[3, 4\]' "a wrong shape"
expect 1 "a wrong rank" "$NEOC" run m.expr X=ones:[3]
says err 'X: rank is 1, expected 2' "a wrong rank"
expect 1 "too many rows" "$NEOC" run m.expr X=ones:[9,4]
says err 'X: dim 0 is 9, but B must be in \[1, 8\]' "too many rows"
expect 1 "an index out of range" "$NEOC" run m.expr --entry=test X=ones:[2,4] Y=[0,3]
says err 'Y\[1\]: value 3 is not in \[0, 3)' "an index out of range"
cat >tree.expr <<'END'
dim V <= 8
input child[v < V, 2] : -1 <= i32 < v
input skip[v < V] : 1 <= i32
h[v < V] = 1 + sum[k] (h[child[v, k]] else 0)*f32(skip[v])
output h
END
expect 0 "children before their vertex" "$NEOC" run tree.expr 'child=[[-1,-1],[0,-1],[1,0]]' 'skip=[1,1,2]'
says out '\[1, 2, 7\]' "children before their vertex"
expect 1 "a vertex that is its own child" "$NEOC" run tree.expr 'child=[[-1,-1],[0,1],[1,0]]' 'skip=[1,1,2]'
says err 'child\[1, 1\]: value 1 is not in \[-1, 1)' "a vertex that is its own child"
expect 1 "a child that comes later" "$NEOC" run tree.expr 'child=[[-1,-1],[0,0],[1,1],[1,3]]' 'skip=[1,1,1,1]'
says err 'child\[3, 1\]: value 3 is not in \[-1, 3)' "a child that comes later"
expect 1 "less than none" "$NEOC" run tree.expr 'child=[[-1,-2]]' 'skip=[1]'
says err 'child\[0, 1\]: value -2 is not in \[-1, 0)' "less than none"
expect 1 "a lower end alone" "$NEOC" run tree.expr 'child=[[-1,-1]]' 'skip=[0]'
says err 'skip\[0\]: value 0 is less than 1' "a lower end alone"
expect 0 "random children" "$NEOC" run tree.expr child=random:3:[8,2] skip=random:1
expect 1 "interpreted, its own child" "$NEOC" run --interp tree.expr 'child=[[-1,-1],[0,1]]' 'skip=[1,1]'
says err 'child: element 3 is 1, not in \[-1, 1)' "interpreted, its own child"
expect 1 "sizes that disagree" "$NEOC" run m.expr --entry=test X=ones:[2,4] Y=[0,1,2]
expect 2 "an input that is missing" "$NEOC" run m.expr
says err 'needs X' "an input that is missing"
expect 2 "an input that is not there" "$NEOC" run m.expr X=ones:[2,4] Q=1
says err "no input 'Q'" "an input that is not there"
expect 2 "a word without =" "$NEOC" run m.expr X
expect 2 "a value that is none" "$NEOC" run m.expr X=nonsense
expect 2 "a list with rows of different lengths" "$NEOC" run m.expr X='[[1,2],[3]]'
says err 'X: lists of 2 and of 1 elements stand side by side' "rows of different lengths"
expect 2 "a list with numbers beside lists" "$NEOC" run m.expr X='[[1,2],3]'
says err 'X: numbers stand in 2 brackets and in 1' "numbers beside lists"
printf 'input k[2] : i32\ninput b : u8\ny[i] = k[i] + i32(b)\noutput y\n' >ints.expr
expect 2 "a fraction for an integer" "$NEOC" run ints.expr k=[1,2.5] b=1
says err "k: 2.5 is no i32" "a fraction for an integer"
expect 2 "a number that a type does not have" "$NEOC" run ints.expr k=[1,2] b=300
says err "b: 300 is no u8" "a number that a type does not have"
expect 2 "NaN for an integer" "$NEOC" run ints.expr k=full:nan:[2] b=3
# ---- every number is all of its text, exactly, and one that the type has
cat >wide.expr <<'END'
input k[2] : i64
input f[2]
input set : i64 = 0
state s : i64 = 0
y[i] = k[i] + s + set
output y, f
END
wide() { expect "$1" "$2" "$NEOC" run wide.expr f=[1,2] $3; }
for how in "" --interp; do
  wide 0 "integers beyond 2^53" "k=[9007199254740993,-9007199254740993] --format=json $how"
  says out '\[9007199254740993, -9007199254740993\]' "integers beyond 2^53"
  wide 0 "integers beyond 2^53, filled" "k=full:9007199254740993 --format=json $how"
  says out '\[9007199254740993, 9007199254740993\]' "integers beyond 2^53, filled"
  wide 0 "a state and a setting beyond 2^53" "k=[0,-1] s=9007199254740993 --set set=9007199254740993 $how"
  says out '\[18014398509481986, 18014398509481985\]' "a state and a setting beyond 2^53"
  wide 0 "the least and the largest" "k=[9223372036854775807,-9223372036854775808] $how"
  says out '\[9223372036854775807, -9223372036854775808\]' "the least and the largest"
done
wide 2 "an integer that i64 lacks" k=[9223372036854775808,0]
says err 'k: .* is no i64' "an integer that i64 lacks"
wide 2 "an integer that f64 rounds" k=[9007199254740993.0,0]
says err 'may be rounded: write the digits' "an integer that f64 rounds"
wide 2 "an integer with an exponent" k=[1e18,0]
says err '1e+18 may be rounded: write the digits' "an integer with an exponent"
for value in full:abc:[2] full:: full:1: full:1x:[2] full random random:abc:[2] random:-1:[2] random:1.5 \
  random:18446744073709551616 zeros:abc zeros: ones:[2]x zeros:[18446744073709551618] [1-2,3] [1.5.5,3] [1e999,0] 1/0 ''; do
  wide 2 "k=$value" "k=$value"
  says err 'k: ' "k=$value"
done
expect 2 "an infinite f32" "$NEOC" run wide.expr k=[1,2] f=[1e39,0]
{ # two numbers of f64, the first of which f32 lacks: 2^1000 and 1
  printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"
  printf '\000\000\000\000\000\000\160\176\000\000\000\000\000\000\360\077'
} >far.npy
expect 1 "an infinite f32 of a file" "$NEOC" run wide.expr k=[1,2] f=@far.npy
says err 'f: element 0, 1.0715086071862673e+301, is no f32' "an infinite f32 of a file"
says err 'f: .* is no f32' "an infinite f32"
expect 0 "what is not finite" "$NEOC" run wide.expr k=[1,2] f=[inf,nan]
says out 'inf, nan' "what is not finite"
wide 2 "an input twice" "k=[1,2] k=[3,4]"
says err "k is given twice: 'k=\[1,2\]' and 'k=\[3,4\]'" "an input twice"
wide 2 "a setting twice" "k=[1,2] set=1 --set set=2"
wide 2 "an input as a setting" "--set k=[1,2]"
says err 'k is an input' "an input as a setting"
expect 2 "a size twice" "$NEOC" run m.expr X=random:1 --size B=1 --size B=2
expect 2 "a constant twice" "$NEOC" compile m.expr -D H=1 -D H=2
wide 2 "threads that i32 lacks" "k=[1,2] --threads 4294967297"
wide 0 "a value as a file" "k=[4294967298,1] -o wide.npz"
printf 'input k[2] : i32\noutput k\n' >narrow.expr
expect 1 "a file's integers that the type lacks" "$NEOC" run narrow.expr k=@wide.npz:y
says err 'k: element 0, 4294967298, is no i32' "a file's integers that the type lacks"
"$NEOC" run wide.expr k=[1,2] f=[1,2.5] -o half.npz >out
expect 1 "a file's fractions for integers" "$NEOC" run narrow.expr k=@half.npz:f
expect 2 "a list that goes on" "$NEOC" run m.expr X='[[1,2]]x'
says err 'X: at x: a list is written' "a list that goes on"
expect 2 "a list that is not closed" "$NEOC" run m.expr X='[[1,2]'
says err 'X: at its end: a list is written' "a list that is not closed"
expect 3 "a file that is not there" "$NEOC" run m.expr X=@nothere.npy
says err 'X: .*nothere.npy' "a file that is not there"
expect 1 "an entry that is not there" "$NEOC" run m.expr --entry=nope
says err 'it has: forward, test' "an entry that is not there"
expect 2 "a gradient that is not there" "$NEOC" run m.expr X=ones:[2,4] Y=[0,1] --grad=Q
expect 3 "weights that are not there" "$NEOC" run m.expr X=ones:[2,4] --load w.safetensors

# what a model asserts of its sizes is checked when it is called
cat >patches.expr <<'END'
dim 4 <= T <= 65
dim K <= 8
assert T % 4 == 0
assert T % K == 0
input x[T, 2]
input w[K]
y[q < T/4, p < 4, c] = x[q*4 + p, c]
z[t < T, c] = y[t/4, t % 4, c] * w[t % K]
output z
END
for mode in "" --interp; do
  expect 0 "sizes that obey $mode" "$NEOC" run patches.expr x=ones:[12,2] w=[1,2,3] $mode
  expect 1 "a size that does not divide $mode" "$NEOC" run patches.expr x=ones:[12,2] w=ones:[5] $mode
  says err 'the sizes do not obey: T % K == 0 (patches.expr:4:8)' "a size that does not divide $mode"
  expect 1 "a size of no whole patches $mode" "$NEOC" run patches.expr x=ones:[10,2] w=[1,2] $mode
  says err 'the sizes do not obey: T % 4 == 0 (patches.expr:3:8)' "a size of no whole patches $mode"
done
expect 0 "verify at sizes that obey" "$NEOC" verify patches.expr
says out 'T=64 K=8: ok' "verify at sizes that obey"
expect 0 "grad-check at sizes that obey" "$NEOC" grad-check patches.expr

# a condition on what an earlier reduction of the same kernel gives is one for each lane
cat >second.expr <<'END'
dim B <= 19
input x[B, 5]
m[b] = argmax[d] x[b, d]
n[b] = argmax[d where d != m[b]] x[b, d]
s[b] = sum[d < m[b]] x[b, d]
output n, s
END
expect 0 "a condition on an argmax" "$NEOC" verify second.expr

# what has places: ranks, and where the largest are
cat >order.expr <<'END'
import nn
input X[2, 5]
r = nn.rank(X)
s, i = nn.sort(X)
t, j = nn.top(X, k = 3)
w[b, d] = X[b, i[b, d]]
output r, i, j, w
END
expect 0 "places" "$NEOC" run order.expr X='[[3,1,2,5,4],[1,1,0,2,2]]'
tr -d '\n' <out >line
says line 'r i32 .2, 5..\[2, 0, 1, 4, 3\], \[1, 2, 0, 3, 4\]' "ranks"
says line 'i i32 .2, 5..\[1, 2, 0, 4, 3\], \[2, 0, 1, 3, 4\]' "where sorted elements were"
says line 'j i32 .2, 3..\[3, 4, 0\], \[3, 4, 0\]' "where the largest are"
says line 'w f32 .2, 5..\[1, 2, 3, 4, 5\], \[0, 1, 1, 2, 2\]' "what was found by place"

# the checks that compare: they pass on good code, and can fail
expect 0 verify "$NEOC" verify m.expr
says out '^step *B=8: ok' verify
expect 0 "verify in full" "$NEOC" verify --full --entry=test m.expr
# Terms that cancel: what is left is rounding, and no two ways to sum agree about it.
cat >cancels.expr <<'END'
dim B <= 40
input X[B, 24]
param W[24, 16] = normal(0, 1)
param c[16] = normal(0, 3)
h[b, j] = sum[i] X[b, i]*W[i, j] + c[j]
m[j] = mean[b] h[b, j]
v[j] = mean[b] (h[b, j] - m[j])^2
n[b, j] = (h[b, j] - m[j])*rsqrt(v[j] + 1e-5)
loss = mean[b, j] sin(n[b, j])
z[b] = sum[j] (n[b, j]*3 + 5) - (sum[j] (5 + n[b, j]*3))
t = sum[b] (sum[j] n[b, j])
g = grad(loss, c)
output z, t, g, loss
END
for seed in 0 2 3 7 11; do
  expect 0 "verify of terms that cancel, seed $seed" "$NEOC" verify cancels.expr --seed $seed
done

# ---- verify: one weight goes either way by a gradient that is rounding; all others depend on it in the next step
cat >either.expr <<'END'
import optim
input x[64]
param W[300] = 0.5
u[i < 300] = select(i == 7, (sum[k] exp(x[k])) - (sum[j < 8] (sum[k < 8] exp(x[8*k + j]))), 1)
loss = (sum[i] W[i]*u[i]) + 1000*stop(W[7])*(sum[i where i != 7] W[i])
train loss using optim.adam(lr = 1e-3)
END
for seed in 1 2 3 4 5 6; do
  expect 0 "verify of a gradient that is rounding, seed $seed" "$NEOC" verify either.expr --seed $seed
done
expect 0 grad-check "$NEOC" grad-check m.expr
says out ' 0 failed' grad-check
expect 0 "grad-check, interpreted" "$NEOC" grad-check --interp m.expr
cat >wrong.expr <<'END'
fn twice(x[..]) -> y { y[..] = 2*x[..] } grad(dy) -> dx { dx[..] = 3*dy[..] }
input x[4]
y = twice(x)
output y
END
expect 0 "grad-check of an own gradient" "$NEOC" grad-check wrong.expr
says out 'd y/d x: own gradient, not compared' "grad-check of an own gradient"
expect 1 "grad-check of a wrong own gradient" "$NEOC" grad-check --own wrong.expr
says err 'd y/d x\[.*\]: the gradient is .*, the difference' "grad-check of a wrong own gradient"
cat >slope.expr <<'END'
import optim
input x[4]
param w[4] = 0.5
l = sum[i] (w[i]*x[i])^2
output l
train l using optim.sgd(lr = 0.1)
END
"$NEOC" explain slope.expr --after=autodiff | sed 's/= 2.0 \* (w/= 3.0 * (w/; /^#/d' >wrong.ir
expect 1 "grad-check of a wrong gradient" "$NEOC" grad-check wrong.ir
says err 'd l/d w\[.*\]: the gradient is .*, the difference' "grad-check of a wrong gradient"

: >empty.expr
expect 1 "grad-check of a model without outputs" "$NEOC" grad-check empty.expr
says err 'the model has no outputs' "grad-check of a model without outputs"

# ---- gradients are those at the weights that the entry begins with
cat >gr.expr <<'END'
import optim
input x
param w = 1
l = (w*x)^2
output l
train l using optim.sgd(lr = 0.1)
END
for how in "" --interp; do
  expect 0 "a gradient beside a step" "$NEOC" run gr.expr x=1 --entry=step --grad=w --format=json $how
  says out '"l": {[^}]*"values": \[1\]}.*"values": \[2\]}' "a gradient beside a step"
done
expect 0 "gradients of an entry that gives them" "$NEOC" run gr.expr x=1 --entry=grad --grad=w --format=json
[ "$(grep -o '"grad:w"' out | wc -l)" = 1 ] || fail "a gradient is given twice" out

# ---- whose W it is: a module's file has the name of a call's result; two calls of f beside one of f2; an option has the made name
# of another
cat >helper.expr <<'END'
param W = 5
fn z(x) -> y { y = x*W }
END
cat >owners.expr <<'END'
import helper as hh
input x
input lr = 5
fn f(x; v = 1) -> y {
  param W = v
  y = x*W
}
fn f2(x) -> y {
  param W = 100
  y = x*W
}
optimizer o(w, g; input lr = 0.1, input lr2 = 0.2) { update w = w - lr*g - lr2 }
helper = f(x)
a = helper.W
b = hh.W
y = f(x, v = 2) + f(x, v = 3) + f2(x)
c = y.f.W
l = (helper - lr)*hh.W
output a, b, c, y
train l over hh.* using o(lr = 0.1, lr2 = 0.2)
END
sed -i 's/over hh[.][*]/over helper.W/' owners.expr
expect 0 "owners of one name" "$NEOC" run owners.expr x=1 y.f2.W=7 --format=json
says out '"a": .*"values": \[1\].*"b": .*"values": \[5\].*"c": .*"values": \[2\].*"y": .*"values": \[12\]' "owners of one name"
expect 0 "an option that has another's made name" "$NEOC" run owners.expr x=1 --entry=step --set lr2=0 --grad=helper.W --format=json

# ---- states between two ends
cat >ends.expr <<'END'
state z[2] : -1 <= i32 < 2 = 0
y[i] = z[i] + 0
output o: y
END
expect 0 "random values of a state" "$NEOC" run ends.expr z=random:1:[2]

# ---- names that a checkpoint or an entry has for itself
echo 'param __metadata__ = 1
y = 2*__metadata__
output y' >reserved.expr
expect 1 "a parameter that no checkpoint can hold" "$NEOC" check reserved.expr
says err "'__metadata__' is a reserved word" "a parameter that no checkpoint can hold"
sed 's/^output l/output grad: l/' gr.expr >entries.expr
expect 1 "an entry with the name of the gradients'" "$NEOC" check entries.expr
says err "'grad' is the name of another entry" "an entry with the name of the gradients'"

# ---- a file whose name is no C identifier, where nobody sees names in C; a scalar's pack
cat >01_x.expr <<'END'
optimizer mom(w[..], g[..]; lr = 0.25) {
  state v[..] = w[..]
  update v[..] = 0.5*v[..] + g[..], w[..] = w[..] - lr*v[..]
}
param w = 1
input x
l = (w*x)^2
output l
train l using mom(lr = 0.25)
END
expect 0 "a name with a digit first" "$NEOC" check 01_x.expr
expect 0 "a name with a digit first, run" "$NEOC" run 01_x.expr x=2 --entry=step --format=json
says out '"l": {[^}]*"values": \[4\]' "a name with a digit first, run"
expect 2 "a name with a digit first, compiled" "$NEOC" compile 01_x.expr -o named
says err 'is no C identifier' "a name with a digit first, compiled"

# ---- programs as deep as they are long: a gradient that many definitions pass on, a repeat that shares its weights
python3 - <<'END'
n = 2000
lines = ["param w[4] = 0.5", "input x[4]"] + [f"d{k} = sum[i] w[i]*x[i]*{k + 1}.0" for k in range(n)]
sums = [" + ".join(f"d{j}" for j in range(k, k + 500)) for k in range(0, n, 500)]
lines += [f"e{k} = {s}" for k, s in enumerate(sums)] + ["l = " + " + ".join(f"e{k}" for k in range(len(sums)))]
open("readers.expr", "w").write("\n".join(lines + ["g = grad(l, w)", "output g"]) + "\n")
open("rounds.expr", "w").write("""param w[4, 4] = 0.25
input x[4]
r = repeat l < 1600 from h[i < 4] = x[i] { next h[i] = sum[j] w[i, j]*h[j] }
l = sum[i] r[i]
g = grad(l, w)
output g
""")
END
expect 0 "a parameter of 2,000 readers" "$NEOC" run readers.expr x=[1,2,3,4]
says out '2001000, 4002000, 6003000, 8004000' "a parameter of 2,000 readers"
expect 0 "1,600 rounds of one weight" "$NEOC" run rounds.expr x=[1,1,1,1]
says out '1600, 1600, 1600, 1600' "1,600 rounds of one weight"

# ---- inputs on which nothing depends
cat >unread.expr <<'END'
dim N = 1
input s[N]
input t
r[i < N] = sum[j < N] select(s[j] > s[i], 1, 0)
output r
END
expect 0 "an input that the entry does not read" "$NEOC" run unread.expr s=random:1 t=3
says out '^\[0\]' "an input that the entry does not read"
says err 'entry forward does not read t' "an input that the entry does not read"
exit "$status"

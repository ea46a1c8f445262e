#!/bin/sh
# Values that depend on the vertex alone, and gradients of weights, have kernels over all vertices. --batches=kind has batches of one kind
# of vertices, with the same bits of each vertex. All compute what the interpreter does.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

cat >net.expr <<'END'
import optim
graph G(children <= 2, vertices <= 300)
input x[G.vertices, 16]
vertex cell(x[16]) over G {
  gather h[2, 16] = 0
  param W[16, 16] = glorot(16, 16)
  param U[2, 16, 16] = glorot(32, 16)
  param b[16] = 0
  y[j] = tanh((sum[i] x[i]*W[i, j]) + (sum[k, l] h[k, l]*U[k, l, j]) + b[j])
  scatter h = y
  push y
}
y = cell(x)
loss = mean[v, j] y[v, j]*y[v, j]
output y
train loss using optim.sgd(lr = 0.01)
END

for options in "" --no-fuse=all; do
  # shellcheck disable=SC2086
  "$NEOC" verify -q net.expr $options >out 2>&1 || fail "verify $options" out
done

# ---- what is a kernel of all vertices, and what is one of a level's
sed 's/vertices <= 300/vertices <= 65536/' net.expr >large.expr # a usual call of fewer has all sums in one kernel
"$NEOC" explain --kernels large.expr | sed -n 's/^kernel \([a-zA-Z0-9_]*\)(.*/\1/p' >names
grep -q '^y_U_next$' names || fail "a gradient of weights is no kernel of all vertices" names

# ---- cells that a label chooses
cat >cells.expr <<'END'
import optim
graph G(children <= 2, vertices <= 300)
input x[G.vertices, 16]
input label[G.vertices] : i32 < 3
vertex cell(x[16], label : i32) over G {
  gather h[2, 16] = 0
  param U[2, 16, 16] = glorot(32, 16)
  param V[2, 16, 16] = glorot(32, 16)
  param b[16] = 0
  y = case children > 0 {
    true {
      y = case label {
        0 { y[j] = tanh((sum[k, l] h[k, l]*U[k, l, j]) + x[j]) }
        1 { y[j] = sigmoid((sum[k, l] h[k, l]*V[k, l, j]) + b[j]) }
        else { y[j] = h[0, j] + h[1, j]*x[j] }
      }
    }
    else { y = x }
  }
  scatter h = y
  push y
}
y = cell(x, label)
loss = mean[v, j] y[v, j]*y[v, j]
output y
train loss using optim.sgd(lr = 0.01)
END
cells() {
  "$NEOC" run cells.expr G.child=random:3 x=random:1 label=random:2 --size G.vertices=257 -o "$1.npz" "--batches=$1" \
    >out 2>&1 || fail "run --batches=$1" out
  "$NEOC" explain --kernels cells.expr "--batches=$1" >"$1.kernels"
}
cells level
cells kind
cmp -s level.npz kind.npz || fail "--batches=kind has other bits"
grep -q '^ *if v[_0-9]*%4 == 1$' kind.kernels || fail "no block of one kind" kind.kernels
grep -q '^ *if v[_0-9]*%4 == ' level.kernels && fail "blocks of kinds that nobody asks for" level.kernels
"$NEOC" verify -q cells.expr --batches=kind >out 2>&1 || fail "verify --batches=kind" out
expect 2 "no such batches" "$NEOC" explain cells.expr --batches=size
says err "batches is level or kind, not 'size'" "no such batches"
# ---- from parents: those of a level at once, and the first level has them, too
cat >down.expr <<'END'
graph G(children <= 3, vertices <= 90)
input x[G.vertices, 40]
param U[40, 40] = glorot(40, 40)
vertex back(x[40]) over G down {
  gather h[3, 40] = 0
  y[j] = tanh(x[j] + sum[k, l] h[k, l]*U[l, j])
  scatter h = y
  push y
}
b = back(x)
L = sum[v, j] b[v, j]*b[v, j]
g = grad(L, U)
output b, g
END
cat >two.expr <<'END'
graph G(children <= 1, vertices <= 2)
input x[G.vertices, 4] : f64
y[i < G.vertices, j < 4] : f64 = x[i, j]*sigmoid(0.25*(sum[t < G.vertices where G.child[t, 0] == i32(i)] y[t, j]))
output y
END
cat >slot.expr <<'END'
graph G(children <= 2, vertices <= 32)
input x[G.vertices, 8] : f64
y[i < G.vertices, j < 8] : f64 = tanh(x[i, j] + 0.25*(sum[t < G.vertices where G.child[t, 0] == i32(i)] y[t, j]))
L = sum[..] sin(y[..])
g = grad(L, x)
output g
END
"$NEOC" explain down.expr --after=levels >levels
grep -q '^def @[0-9]* by_level.b\[' levels || fail "vertices of a function from parents run one by one" levels
for model in down two slot; do
  for seed in 1 2 3; do
    "$NEOC" verify -q "$model.expr" --seed=$seed >out 2>&1 || fail "from parents, $model" out
  done
done
# ---- of chains of which the last states are read, the rows of two levels are in memory: c forward, its adjoint backward
cat >chain.expr <<'END'
graph G(children <= 1, vertices <= 64)
dim R <= 8
input x[G.vertices, 8] : f64
input last[R] : i32 < G.vertices
vertex cell(x[8] : f64) over G {
  gather h[1, 8] : f64 = 0, c[1, 8] : f64 = 0
  param U[8, 8] : f64 = glorot(8, 8)
  d[j] = 0.5*c[0, j] + tanh(x[j] + (sum[k] h[0, k]*U[k, j]))
  y[j] = tanh(d[j])
  scatter h = y, c = d
  push y
}
y = cell(x)
z[r, j] = y[last[r], j]
L = sum[r, j] sin(z[r, j])
g = grad(L, x)
output test: z
output both: z, g
END
"$NEOC" explain --kernels chain.expr >kernels 2>out || fail "explain chain" out
grep -q '^kernel .* folded[0-9]*\.by_level\.y\.d:' kernels || fail "no circular buffer for what the next level alone reads" kernels
grep -q '^kernel .* folded[0-9]*\.by_level\.d\.y\.c:' kernels || fail "no circular buffer for an adjoint" kernels
for seed in 1 2 3 4; do
  "$NEOC" verify -q chain.expr --seed=$seed >out 2>&1 || fail "verify chain" out
done
# ---- a training step reads small weights in place, where it has a second cache for them; the last levels are loops over rows
tree() {
  "$NEOC" explain "$NEO_SOURCE_DIR/models/zoo/tree_lstm.expr" --records=none --groups "$@" >groups 2>out ||
    fail "explain tree_lstm $*" out
}
tree --mcpu=x86-64-v4
grep -q '^group [0-9]* packed2_h_U: .*in step' groups || fail "no layout of U for the gradient" groups
grep -q '^group [0-9]* packed_h_U: .*in step' groups && fail "a layout of U that a step reads in place" groups
grep -q 'the rest, whose rows run one after another$' groups || fail "no loop over rows" groups
tree --target=nvptx:sm_90a
grep -q 'one after another' groups && fail "a loop over rows on a GPU" groups
exit $status

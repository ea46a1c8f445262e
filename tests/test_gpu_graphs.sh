#!/bin/sh
# Vertex functions on a GPU run level by level, and a step is one launch: the persistent kernel reads from the device's memory which
# vertices a level has, with the bits of kernels that the host launches after it has asked for them, whatever the number of blocks that
# the device has at the same time and their order. Other graphs of as many vertices make no new graph of the driver.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
on_emulated_device

cat >tree.expr <<'END1'
import nn, optim
dim WORDS = 30
graph G(children <= 2, vertices <= 80)
input word[G.vertices] : -1 <= i32 < WORDS
input label[G.vertices] : i32 < 3
param T[WORDS, 24] = normal(0, 0.5)

vertex cell(x[24]; D) over G {
  gather h[2, D] = 0, c[2, D] = 0
  param U[2, D, 4, D] = glorot(2*D, 4*D)
  param W[24, 4, D] = glorot(24, 4*D)
  z[g < 4, j] = (sum[k, l] h[k, l]*U[k, l, g, j]) + sum[e] x[e]*W[e, g, j]
  c2[j] = sigmoid(z[0, j])*tanh(z[1, j]) + sum[k] sigmoid(z[2, j])*c[k, j]
  h2[j] = sigmoid(z[3, j])*tanh(c2[j])
  scatter h = h2, c = c2
  push h2
}
x[v, e] = (T[word[v], e] else 0)
h = cell(x, D = 17)
L = nn.linear(h, out = 3)
loss = nn.cross_entropy(L, label)
output h
train loss over T using optim.sparse_adam(lr = 0.01)
train loss except T using optim.adam(lr = 0.01)
END1
cat >down.expr <<'END1'
graph G(children <= 3, vertices <= 90)
input x[G.vertices, 40]
param U[40, 40] = glorot(40, 40)
vertex up(x[40]) over G {
  gather h[3, 40] = 0
  y[j] = tanh(x[j] + sum[k, l] h[k, l]*U[l, j])
  scatter h = y
  push y
}
vertex back(x[40]) over G down {
  gather h[3, 40] = 0
  y[j] = tanh(x[j] + sum[k, l] h[k, l]*U[l, j])
  scatter h = y
  push y
}
a = up(x)
b = back(a)
output a, b
END1
cat >lists.expr <<'END1'
import optim
graph G(edges <= 20000, vertices <= 10000)
input x[G.vertices, 40]
input w[G.edges, 40]
param U[40, 40] = glorot(40, 40)
vertex up(x[40]) over G {
  gather h[G.edges, 40]
  m[e, j] = tanh(sum[l] h[e, l]*U[l, j])*w[e, j]
  y[j] = tanh(x[j] + sum[e] m[e, j])
  scatter h = y
  push y
}
a = up(x)
loss = sum[v, j] sin(a[v, j])
g = grad(loss, w)
output a, g
train loss using optim.sgd(lr = 0.1)
END1
cat >edges.expr <<'END1'
import nn, optim
graph G(edges <= 20000, vertices <= 10000)
input x[G.vertices, 20]
input kind[G.edges] : i32 < 3
param R[3, 20, 20] = normal(0, 0.2)
vertex up(x[20]) over G {
  gather h[G.edges, 20]
  s[e] = sum[j] x[j]*h[e, j]
  a = nn.softmax(s)
  m[e, j] = tanh(sum[i] R[kind[e], j, i]*h[e, i])
  y[j] = tanh(x[j] + sum[e] a[e]*m[e, j])
  scatter h = y
  push y
}
a = up(x)
loss = sum[v, j] sin(a[v, j])
output a
train loss using optim.sgd(lr = 0.1)
END1

# Nothing of a graph in lists compares all edges with each other, or with all vertices.
"$NEOC" explain lists.expr $gpu --schedule >said 2>&1 || fail "lists" said
grep -q '^owner_G_child: gpu_scatter' said || fail "owners of edges are no sum by keys" said
grep -q '^g: loops' said || fail "the gradient of features is no loop over edges" said
"$NEOC" explain lists.expr $gpu --after=levels | sed -n '/^def .* g\[/,/^def /p' | grep -q 'sum\[' &&
  fail "the gradient of features is a sum over vertices"

# All loops over levels are in persistent kernels, those of the backward pass, too.
for m in tree down lists edges; do
  "$NEOC" explain "$m.expr" $gpu --groups >groups
  awk '/^  for .* down$|^  for / { n++ } /^ *phase .*: for / { k++ } END { exit !(n > 0 && k >= n) }' groups ||
    fail "$m: a loop is in no grid" groups
  "$NEOC" verify "$m.expr" $gpu >said 2>&1 || fail "$m: other values than the interpreter's" said
  "$NEOC" verify "$m.expr" $gpu --no-fuse=grid >said 2>&1 || fail "$m: other values where the host asks" said
done

# Seven steps: forests of all kinds, twice of as many vertices as before, one without any.
"$NEOC" compile -q tree.expr $gpu -o with
"$NEOC" compile -q tree.expr $gpu --no-fuse=grid -o without
cat >train.c <<'END1'
#include "tests/gpu/emulator.h"
#include "tree.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static float h[80 * 17], loss;
static int32_t child[80 * 2], word[80], label[80];
static unsigned drawn = 1;
static int draw(int n) {
  drawn = drawn * 1664525u + 1013904223u;
  return (int)(drawn >> 8) % n;
}
int main(void) {
  static const int vertices[] = {20, 60, 0, 60, 60, 1, 60};
  tree_ctx *m;
  int bad = tree_create(&(tree_config){.seed = 3}, &m) != 0;
  for (int k = 0; !bad && k < 7; k++) {
    int n = vertices[k];
    for (int v = 0; v < n; v++) {
      int far = k % 2 ? 3 : v; /* chains, or any earlier ones */
      for (int j = 0; j < 2; j++)
        child[2 * v + j] = v && draw(4) ? v - 1 - draw(far < v ? far : v) : -1;
      word[v] = draw(31) - 1;
      label[v] = draw(3);
    }
    bad = tree_step(m, n, child, word, label, &loss) || tree_forward(m, n, child, word, h);
    printf("%a", loss);
    for (int i = 0; i < n * 17; i++)
      printf(" %a", h[i]);
    printf("\n");
  }
  if (bad)
    fprintf(stderr, "%s\n", tree_error(m));
  tree_destroy(m);
  const neo_emulator_counts *(*count)(void);
  void *driver = dlopen(getenv("NEO_CUDA_DRIVER"), RTLD_NOW);
  *(void **)&count = dlsym(driver, "neo_emulator_count");
  fprintf(stderr, "%u launches, %u cooperative, %u nodes, %u graphs\n", count()->launches,
          count()->resident, count()->cooperative, count()->graphs);
  return bad;
}
END1
for side in with without; do
  cc -std=gnu11 -o $side.exe train.c -I$side -I"$NEO_SOURCE_DIR" -I"$NEO_BUILD_DIR/include" -L$side -ltree \
    -Wl,-rpath,"$work/$side" -L"$NEO_BUILD_DIR/lib" -lneort -ldl -lm
done
LD_LIBRARY_PATH=$NEO_BUILD_DIR/lib
export LD_LIBRARY_PATH
counted() { sed -n "s/.*[, ]*\([0-9][0-9]*\) $1.*/\1/p" counted; }

NEO_CUDA_GRAPHS=0 ./without.exe >expected 2>counted || fail "the host asks for levels" counted
separate=$(sed 's/ launches.*//' counted)
NEO_CUDA_GRAPHS=2 NEO_EMULATOR_SEED=4 ./without.exe >got 2>counted || fail "the host asks, with graphs" counted
cmp -s got expected || fail "what the host asks for gives other bits with graphs"
[ "$(counted graphs)" -le 1 ] || fail "a graph of rounds that data tell" counted
for processors in 1 5; do
  for graphs in 0 1 2; do
    NEO_EMULATOR_PROCESSORS=$processors NEO_EMULATOR_SEED=$processors NEO_CUDA_GRAPHS=$graphs ./with.exe >got 2>counted ||
      fail "levels in kernels, $processors blocks, graphs $graphs" counted
    cmp -s got expected || fail "levels in kernels give other bits: $processors blocks, graphs $graphs"
    [ "$(sed 's/ launches.*//' counted)" -lt $((separate / 2)) ] || fail "the host launches levels, of $separate" counted
  done
done
# Four numbers of vertices, two entries; one of them comes again. Initial values are a graph, too.
[ "$(counted graphs)" -le 9 ] || fail "graphs of other shapes make graphs of the driver" counted
[ "$(counted launches)" -eq 0 ] || fail "kernels are launched beside the graphs" counted

# A device without such launches, a driver that takes none in graphs, no room, not wanted.
for setting in NEO_EMULATOR_COOPERATIVE=0 NEO_EMULATOR_COOPERATIVE=2 NEO_EMULATOR_RESIDENT=0 NEO_CUDA_GRIDS=0; do
  env "$setting" ./with.exe >got 2>counted || fail "$setting" counted
  cmp -s got expected || fail "$setting: other bits"
done

# ptxas takes such kernels and finds registers for them.
if command -v ptxas >/dev/null; then
  for m in tree down; do
    for level in sm_75 sm_90a; do
      "$NEOC" compile -q "$m.expr" --target=nvptx:$level --emit=ptx -o ptx
      ptxas -v -arch=$level -o /dev/null "ptx/$m.ptx" 2>said || fail "ptxas, $m for $level" said
      awk '/Compiling entry/ { grid = $7 ~ /_g[0-9]+_/ } grid && /spill stores/ && $5 + $9 > 256 { bad = 1 }
        END { exit bad }' said || fail "a grid of $m spills registers on $level" said
    done
  done
else
  echo "without ptxas: registers are not looked at"
fi
exit $status

#!/bin/sh
# Loops on a GPU are one launch: a persistent kernel counts the rounds itself, with the bits of kernels that the host launches round
# after round, whatever the number of blocks that the device has at the same time and their order; also for a number of rounds that
# is known at run time, which makes no new graph. Where the device cannot have such a kernel, the rounds are nodes of a graph, and
# where these are too many the host counts.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
on_emulated_device

cat >rnn.expr <<'END1'
import nn, optim
dim B <= 3
dim 0 <= T <= 12
input X[B, T, 6]
input Y[B] : i32 < 5
param W[6, 40] = glorot(6, 40)
param U[40, 40] = glorot(40, 40)
h, hs = scan t < T from h[b < B, j < 40] = 0 {
  next h[b, j] = tanh((sum[i] X[b, t, i]*W[i, j]) + (sum[k] h[b, k]*U[k, j]))
  collect h
}
L = nn.linear(h, out = 5)
loss = nn.cross_entropy(L, Y)
output L, hs
train loss using optim.sgd(lr = 0.1)
END1
cat >lstm.expr <<'END1'
import nn, optim
dim B <= 3
input X[B, 7, 6]
input Y[B] : i32 < 5
a, h, c = nn.lstm(X, hidden = 17)
last[b, j] = a[b, 6, j]
L = nn.linear(last, out = 5)
loss = nn.cross_entropy(L, Y)
output L
train loss using optim.sgd(lr = 0.1)
END1
cat >cholesky.expr <<'END1'
dim N <= 70
input A[N, N]
M[i < N, j < N] = (sum[k] A[i, k]*A[j, k]) + select(i == j, 1, 0)
L[i < N, j < N] = select(j > i, 0, select(i == j, sqrt(M[i, i] - sum[k < j] L[i, k]^2), (M[i, j] - sum[k < j] L[i, k]*L[j, k]) / L[j, j]))
x[i < N] = (A[0, i] - sum[j < i] L[i, j]*x[j]) / L[i, i]
output L, x
END1
cat >edit.expr <<'END1'
dim N <= 300
dim M <= 40
input a[N] : i32 < 4
input b[M] : i32 < 4
D[i < N+1, j < M+1] = select(i == 0, f32(j), select(j == 0, f32(i), min(D[i-1, j-1] + f32(a[i-1] != b[j-1]), min(D[i-1, j], D[i, j-1]) + 1)))
d = D[N, M]
output d
END1
cat >until.expr <<'END1'
input X[20, 40]
param U[40, 40] = glorot(40, 40)
x, err = while err > 0.01 limit 50 from x[b < 20, j < 40] = X[b, j], err = inf {
  y[b, j] = 0.3*tanh(sum[k] x[b, k]*U[k, j]) + X[b, j]
  next x = y, err = max[b, j] abs(y[b, j] - x[b, j])
}
n = x.rounds
output x, n
END1
cat >nested.expr <<'END1'
dim T <= 6
dim S <= 5
input X[T, S, 200]
param U[200, 200] = glorot(200, 200)
h, hs = scan t < T from h[j < 200] = 0.5 {
  g = scan s < S from g[j < 200] = h[j] {
    next g[j] = tanh((sum[k] g[k]*U[k, j]) + X[t, s, j])
  }
  next h[j] = g[j] + 0.1*h[j]
  collect h
}
output h, hs
END1

# A loop of one thread reads what another kernel wrote of the same tensor, and waits for it.
cat >thread.expr <<'END1'
y, all = scan r < 3 down from b : u8 = u8(3) {
  next b = (b + 1) % 7 + b
  collect b
}
output y, all
END1
NEO_CUDA_GRAPHS=2 "$NEOC" verify thread.expr $gpu >said 2>&1 || fail "a loop of one thread, in a graph" said

# All kernels of the rounds are in one grid, whose loops they are in.
models="rnn lstm cholesky edit until nested"
for m in $models; do
  "$NEOC" explain "$m.expr" $gpu --groups >groups
  grep -q '^grid forward' groups || fail "$m: no grid" groups
  grep -q '^ *phase .*: for ' groups || fail "$m: no loop is in a grid" groups
  for processors in 1 4; do
    NEO_EMULATOR_PROCESSORS=$processors NEO_EMULATOR_SEED=$processors "$NEOC" verify "$m.expr" $gpu >said 2>&1 ||
      fail "$m: other values than the interpreter's with $processors blocks" said
  done
done
grep -q 'phase 1: for .*, all blocks meet' groups || fail "an inner loop whose rounds need each other does not meet" groups
"$NEOC" explain edit.expr $gpu --groups | grep -q '^  phase 0, in turn: for ' || fail "a loop of one block has a phase of its own"

# Seven steps of five lengths, the sixth and seventh of one that was there.
"$NEOC" compile -q rnn.expr $gpu -o with
"$NEOC" compile -q rnn.expr $gpu --no-fuse=grid -o without
cat >train.c <<'END1'
#include "rnn.h"
#include "tests/gpu/emulator.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
static float x[3 * 12 * 6], l[3 * 5], hs[12 * 3 * 40], loss;
static int32_t y[3] = {1, 4, 2};
int main(void) {
  static const int length[] = {5, 12, 1, 0, 7, 12, 12};
  rnn_ctx *m;
  int bad = rnn_create(&(rnn_config){.seed = 3}, &m) != 0;
  for (int k = 0; !bad && k < 7; k++) {
    for (int i = 0; i < 3 * 12 * 6; i++)
      x[i] = (float)sin(2 * i + k);
    bad = rnn_step(m, 2 + k % 2, length[k], x, y, &loss) || rnn_forward(m, 3, length[k], x, l, hs);
    printf("%a", loss);
    for (int i = 0; i < 3 * 5; i++)
      printf(" %a", l[i]);
    for (int i = 0; i < length[k] * 3 * 40; i++)
      printf(" %a", hs[i]);
    printf("\n");
  }
  if (bad)
    fprintf(stderr, "%s\n", rnn_error(m));
  rnn_destroy(m);
  const neo_emulator_counts *(*count)(void);
  void *driver = dlopen(getenv("NEO_CUDA_DRIVER"), RTLD_NOW);
  *(void **)&count = dlsym(driver, "neo_emulator_count");
  fprintf(stderr, "%u launches, %u cooperative, %u nodes, %u graphs\n", count()->launches,
          count()->resident, count()->cooperative, count()->graphs);
  return bad;
}
END1
for side in with without; do
  cc -std=gnu11 -o $side.exe train.c -I$side -I"$NEO_SOURCE_DIR" -I"$NEO_BUILD_DIR/include" -L$side -lrnn \
    -Wl,-rpath,"$work/$side" -L"$NEO_BUILD_DIR/lib" -lneort -ldl -lm
done
LD_LIBRARY_PATH=$NEO_BUILD_DIR/lib
export LD_LIBRARY_PATH
counted() { sed -n "s/.*[, ]*\([0-9][0-9]*\) $1.*/\1/p" counted; }

NEO_CUDA_GRAPHS=0 ./without.exe >expected 2>counted || fail "the host counts rounds" counted
separate=$(sed 's/ launches.*//' counted)
for seed in 0 4; do
  NEO_CUDA_GRAPHS=2 NEO_EMULATOR_SEED=$seed ./without.exe >got 2>counted || fail "rounds as nodes" counted
  cmp -s got expected || fail "rounds as nodes give other bits, seed $seed"
  [ "$(sed 's/ launches.*//' counted)" -lt $((separate / 4)) ] || fail "the host launches rounds, of $separate" counted
done
for processors in 1 2 5; do
  for graphs in 0 1 2; do
    NEO_EMULATOR_PROCESSORS=$processors NEO_EMULATOR_SEED=$processors NEO_CUDA_GRAPHS=$graphs ./with.exe >got 2>counted ||
      fail "loops in kernels, $processors blocks, graphs $graphs" counted
    cmp -s got expected || fail "loops in kernels give other bits: $processors blocks, graphs $graphs"
    [ "$(sed 's/ launches.*//' counted)" -lt $((separate / 4)) ] || fail "the host launches rounds, of $separate" counted
  done
done
# A length that comes for the first time makes no graph: two entries, each of which has one length three times, in two batches.
NEO_CUDA_GRAPHS=1 ./with.exe 2>counted >/dev/null
[ "$(counted graphs)" -le 2 ] || fail "lengths make graphs" counted
[ "$(counted nodes)" -gt 0 ] || fail "a length that comes again makes no graph" counted
[ "$(counted cooperative)" -gt 0 ] || fail "without a graph there is no cooperative launch" counted

# A device without such launches, a driver that takes none in graphs, no room, not wanted.
for setting in NEO_EMULATOR_COOPERATIVE=0 NEO_EMULATOR_COOPERATIVE=2 NEO_EMULATOR_RESIDENT=0 NEO_CUDA_GRIDS=0; do
  env "$setting" ./with.exe >got 2>counted || fail "$setting" counted
  cmp -s got expected || fail "$setting: other bits"
  case $setting in
    *COOPERATIVE=2) [ "$(counted cooperative)" -gt 0 ] || fail "$setting: no cooperative launch" counted ;;
    *) [ "$(counted cooperative)" -eq 0 ] || fail "$setting: a cooperative launch" counted ;;
  esac
  [ "$(counted nodes)" -eq 0 ] || fail "$setting: a cooperative node" counted
done

# Very many rounds are no graph.
cat >long.expr <<'END1'
dim 0 <= T <= 3000
input X[T, 2]
h = scan t < T from h[j < 2] = 0 { next h[j] = 0.5*h[j] + X[t, 1 - j] }
y[j] = 2*h[j]
output y
END1
NEO_CUDA_GRAPHS=2 "$NEOC" verify long.expr $gpu --no-fuse=grid >said 2>&1 || fail "many rounds" said

# A graph is ordered in three kernels: a block's threads make levels by windows, vote on whether anything changed, and count
# parents by additions; then a thread for each vertex writes its place, and its lists. Only parents of a vertex with several
# are looked for.
fc=$NEO_SOURCE_DIR/models/zoo/tree_fc.expr
"$NEOC" explain "$fc" --target=nvptx:sm_90a --kernels >kernels 2>&1 || fail "explain $fc" kernels
of_kernel() { awk -v name="$1" '/^kernel / { on = $2 ~ "^" name "[(]" && !n++ } /^#/ { on = 0 } on' kernels; }
of_kernel level_G_child >kernel
says kernel 'vote again, differs' "levels"
says kernels '^ *parents.end.G.child.*\] += 1:i32' "parents are counted"
says kernels '^ *level.order.G.child\[place' "places"
says kernels '^ *if at[_0-9]*\[0\] + 1 < i64(parents.end' "parents of vertices with one parent"

# A row of a table's gradient looks for its terms only if it has some.
"$NEOC" explain "$NEO_SOURCE_DIR/models/zoo/tree_lstm.expr" --target=nvptx:sm_90a --kernels >kernels 2>&1 || fail "explain" kernels
of_kernel sparse_T_grad >kernel
says kernel '^    if touched.T.grad' "a table's gradient"

# ptxas takes such kernels and finds registers for them. One of 512 threads has 128 of them for its largest phase: a few words
# that are spilled there stay in the first cache.
if command -v ptxas >/dev/null; then
  for m in lstm cholesky edit; do
    for level in sm_75 sm_90; do
      "$NEOC" compile -q "$m.expr" --target=nvptx:$level --emit=ptx -o ptx
      ptxas -v -arch=$level -o /dev/null "ptx/$m.ptx" 2>said || fail "ptxas, $m for $level" said
      awk '/Compiling entry/ { grid = $7 ~ /_g[0-9]+_/ } grid && /spill stores/ && $5 + $9 > 256 { bad = 1 }
        END { exit bad }' said || fail "a grid of $m spills registers on $level" said
    done
    "$NEO_SOURCE_DIR/tools/ptx_check" "ptx/$m.ptx" >said 2>&1 || fail "$m: a violation in its PTX" said
  done
else
  echo "without ptxas: registers are not looked at"
fi
exit $status

#!/bin/sh
# Small kernels as one persistent kernel: it gives the same bits as the kernels one by one, whatever
# the number of blocks that the device has at the same time and their order; where it cannot have
# them, the kernels are launched one by one; `neoc explain` says what became one, and can leave it
# out.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
on_emulated_device

cat >cell.expr <<'END1'
import nn, optim, cells

dim B <= 3
input X[B, 12]
input h[B, 20]
input c[B, 20]
input Y[B] : i32 < 5
param W[4, 12, 20] = glorot(12, 20)
param R[4, 20, 20] = glorot(20, 20)
param bw[4, 20] = 0
param br[4, 20] = 0

h2, c2 = cells.sub_lstm(X, h, c, W, R, bw, br)
L = nn.linear(h2, out = 5)
loss = nn.cross_entropy(L, Y)
output L
train loss using optim.adam(lr = 0.01)
END1
zoo="-I $NEO_SOURCE_DIR/models/zoo"

"$NEOC" explain $zoo cell.expr $gpu --groups >groups
grep -q '^grid step, steps .* one kernel of .* phases)$' groups || fail "no grid of the step's kernels"
grep -q '^step: .* steps, .* one after the other$' groups || fail "explain tells no levels"
"$NEOC" explain $zoo cell.expr $gpu --groups --no-fuse=grid | grep -q '^grid' &&
  fail "--no-fuse=grid leaves a grid"
"$NEOC" explain $zoo cell.expr --groups | grep -q '^grid' && fail "a grid on a processor"

"$NEOC" compile -q $zoo cell.expr $gpu -o with
"$NEOC" compile -q $zoo cell.expr $gpu --no-fuse=grid -o without
cat >train.c <<'END1'
#include "cell.h"
#include "tests/gpu/emulator.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
static float x[3 * 12], h[3 * 20], c[3 * 20], l[3 * 5], loss;
static int32_t y[3] = {1, 4, 2};
int main(void) { /* six steps, of two sizes in turn: bits of losses and outputs */
  cell_ctx *m;
  int bad = cell_create(&(cell_config){.seed = 3}, &m) != 0;
  for (int k = 0; !bad && k < 6; k++) {
    int n = k % 2 ? 3 : 2;
    for (int i = 0; i < 3 * 20; i++)
      h[i] = (float)sin(i + k), c[i] = (float)cos(i + k), x[i % 36] = (float)sin(2 * i + k);
    bad = cell_step(m, n, x, h, c, y, &loss) || cell_forward(m, 3, x, h, c, l);
    printf("%a", loss);
    for (int i = 0; i < 3 * 5; i++)
      printf(" %a", l[i]);
    printf("\n");
  }
  if (bad)
    fprintf(stderr, "%s\n", cell_error(m));
  cell_destroy(m);
  const neo_emulator_counts *(*count)(void);
  void *driver = dlopen(getenv("NEO_CUDA_DRIVER"), RTLD_NOW);
  *(void **)&count = dlsym(driver, "neo_emulator_count");
  fprintf(stderr, "%u cooperative\n", count()->cooperative);
  return bad;
}
END1
for side in with without; do
  cc -std=gnu11 -o $side.exe train.c -I$side -I"$NEO_SOURCE_DIR" -I"$NEO_BUILD_DIR/include" -L$side -lcell \
    -Wl,-rpath,"$work/$side" -L"$NEO_BUILD_DIR/lib" -lneort -ldl -lm
done
LD_LIBRARY_PATH=$NEO_BUILD_DIR/lib
export LD_LIBRARY_PATH

./without.exe >expected 2>counted || fail "training without grids: $(cat counted)"
grep -q '^0 cooperative' counted || fail "grids where there should be none"
for processors in 1 2 5; do
  for seed in 0 7; do
    NEO_EMULATOR_PROCESSORS=$processors NEO_EMULATOR_SEED=$seed ./with.exe >got 2>counted ||
      fail "training with grids of $processors blocks: $(cat counted)"
    grep -q '^[1-9][0-9]* cooperative' counted || fail "no grid was launched"
    cmp -s got expected || fail "grids of $processors blocks, seed $seed, give other bits"
  done
done

# A device without such launches, a driver that takes none in graphs, no room, not wanted.
for setting in NEO_EMULATOR_COOPERATIVE=0 NEO_EMULATOR_COOPERATIVE=2 NEO_EMULATOR_RESIDENT=0 \
  NEO_CUDA_GRIDS=0 NEO_CUDA_GRAPHS=0; do
  env "$setting" ./with.exe >got 2>counted || fail "$setting: $(cat counted)"
  grep -q '^0 cooperative' counted || fail "$setting: a grid was launched"
  cmp -s got expected || fail "$setting: other bits"
done

# Two grids that need nothing of one another are one behind the other all the same: each may take the whole device, and the driver
# refuses a graph in which they meet.
{
  printf 'input X[2, 8]\ninput Z[2, 600000]\nparam A[8, 8] = glorot(8, 8)\nparam P[8, 600000] = 0.001\n'
  echo 'a1[b, j] = tanh(sum[i] X[b, i]*A[i, j])'
  echo 'p[b, j] = tanh(sum[i] Z[b, i]*P[j, i])' # too large to be in a grid
  echo 'c1[b, j] = tanh(sum[i] p[b, i]*A[i, j])'
  for i in 1 2 3 4; do
    for x in a c; do echo "$x$((i + 1))[b, j] = tanh(sum[i] $x$i[b, i]*A[i, j])"; done
  done
  echo 'output a5, c5'
} >two.expr
[ "$("$NEOC" explain two.expr $gpu --groups | grep -c '^grid forward')" -eq 2 ] || fail "there are no two grids"
"$NEOC" compile -q two.expr $gpu -o two
cat >two.c <<'END1'
#include "two.h"
#include "tests/gpu/emulator.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static float x[2 * 8], z[2 * 600000], a[2 * 8], c[2 * 8];
int main(void) {
  two_ctx *m;
  int bad = two_create(NULL, &m) || two_forward(m, x, z, a, c);
  if (bad)
    puts(two_error(m));
  two_destroy(m);
  const neo_emulator_counts *(*count)(void);
  *(void **)&count = dlsym(dlopen(getenv("NEO_CUDA_DRIVER"), RTLD_NOW), "neo_emulator_count");
  printf("%u cooperative\n", count()->cooperative);
  return bad;
}
END1
cc -std=gnu11 -o two.exe two.c -Itwo -I"$NEO_SOURCE_DIR" -I"$NEO_BUILD_DIR/include" -Ltwo -ltwo -Wl,-rpath,"$work/two" \
  -L"$NEO_BUILD_DIR/lib" -lneort -ldl
NEO_CUDA_GRAPHS=2 ./two.exe >counted 2>&1 || fail "two grids" counted
grep -q '^2 cooperative' counted || fail "grids that need nothing of one another are not in a chain" counted

# Kernels that write pieces of one tensor do not wait for one another: however many pieces there are.
pieces() { # how many
  { echo "import optim"; echo "dim B <= 3"; echo "input X[B, 64]"; echo "param k[$1, 64] = 1"
    printf 'y[b, j] = k[0, j]'
    for i in $(seq 1 $(($1 - 1))); do printf ' + k[%d, j]*X[b, j]^%d' "$i" "$i"; done
    printf '\nloss = mean[b, j] y[b, j]^2\noutput y\ntrain loss using optim.sgd(lr = 0.1)\n'
  } >pieces.expr
  "$NEOC" explain pieces.expr $gpu --groups | sed -n 's/^step: .* steps, \([0-9]*\) of them one.*/\1/p'
}
[ "$(pieces 2)" -eq "$(pieces 6)" ] || fail "pieces of a tensor wait: 2 $(pieces 2), 6 $(pieces 6) levels"

# ptxas finds registers for all of a grid's kernels.
if command -v ptxas >/dev/null; then
  for level in $(gpu_levels); do
    for model in milstm scrnn sublstm lltm mlp; do
      "$NEOC" compile -q "$NEO_SOURCE_DIR/models/zoo/$model.expr" -D B=1 --target=nvptx:$level --emit=ptx -o ptx
      ptxas -v -arch=$level -o /dev/null "ptx/$model.ptx" 2>said || fail "ptxas, $model for $level" said
      awk '/Compiling entry/ { grid = $7 ~ /_g[0-9]+_/; n += grid } grid && /spill stores/ && $5 + $9 { bad = 1 }
        END { exit bad }' said || fail "a grid of $model spills registers on $level" said
      cat said >>all
    done
  done
  grep -q "Compiling entry function '[a-z]*_g[0-9]*_step'" all || fail "no model of the zoo has a grid"
fi
exit $status

#!/bin/sh
# Models for GPUs on an emulated device (tests/gpu/emulator.c in place of the CUDA driver): they
# agree with the interpreter, save and load like others, and what is missing is said in so many
# words. PTX of all levels, which ptxas takes where there is one.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
on_emulated_device

cat >net.expr <<'END1'
import nn, optim

dim B <= 33
input X[B, 12]
input Y[B] : i32 < 5

param W1[12, 20] = glorot(12, 20)
param b1[20] = 0
param W2[20, 5] = glorot(20, 5)

H[b, j] = tanh(sum[i] X[b, i] * W1[i, j] + b1[j])
L[b, c] = sum[j] relu(H[b, j]) * W2[j, c]

loss = nn.cross_entropy(L, Y)

output L
train loss using optim.adam(lr = 0.01)
END1

# The answer is the interpreter's, whatever the order of threads.
for B in 1 7 33; do
  "$NEOC" verify -q net.expr -D B=$B $gpu || fail "device and interpreter differ, B=$B"
done
NEO_EMULATOR_SEED=5 "$NEOC" verify -q net.expr -D B=9 $gpu || fail "the order of threads shows"
"$NEOC" grad-check -q net.expr -D B=3 $gpu || fail "gradients on the device"

# Parameters that one side saved, the other loads: the outputs are the same up to rounding.
"$NEOC" compile -q net.expr -o cpu
"$NEOC" compile -q net.expr $gpu -o gpu
for side in cpu gpu; do # values share places in memory in another way
  grep -v 'Memory while it runs' $side/net.h >$side.h
done
cmp -s cpu.h gpu.h || fail "the header depends on the device"
cat >io.c <<'END1'
#include "net.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
static float x[33 * 12], l[33 * 5], loss;
static int32_t y[33];
int main(int argc, char **argv) { /* train FILE | load FILE; on a device */
  net_ctx *c;
  for (int k = 0; k < 33 * 12; k++)
    x[k] = (float)sin(k);
  for (int k = 0; k < 33; k++)
    y[k] = k % 5;
  int bad = net_create(&(net_config){.seed = 3, .device = argc > 3 ? argv[3] : 0}, &c) != 0;
  if (strcmp(argv[1], "train") == 0)
    for (int k = 0; k < 5; k++)
      bad = bad || net_step(c, 33, x, y, &loss);
  bad = bad || (strcmp(argv[1], "train") ? net_load(c, argv[2]) : net_save(c, argv[2], NULL, 0));
  bad = bad || net_forward(c, 33, x, l);
  for (int k = 0; k < 33 * 5; k++)
    printf("%.3f\n", l[k]);
  fprintf(stderr, "%s\n", bad ? net_error(c) : "");
  net_destroy(c);
  return bad;
}
END1
for side in cpu gpu; do
  cc -std=gnu11 -o $side.exe io.c -I$side -I"$NEO_BUILD_DIR/include" -L$side -lnet -Wl,-rpath,"$work/$side" \
    -L"$NEO_BUILD_DIR/lib" -lneort -lm
done
LD_LIBRARY_PATH=$NEO_BUILD_DIR/lib
export LD_LIBRARY_PATH
./gpu.exe train w.safetensors >trained || fail "training on the device"
./cpu.exe load w.safetensors >loaded || fail "loading what the device saved"
cmp -s trained loaded || fail "the device's parameters give other outputs on the processor"
./cpu.exe train w.safetensors >trained || fail "training on the processor"
./gpu.exe load w.safetensors >loaded || fail "loading what the processor saved"
cmp -s trained loaded || fail "the processor's parameters give other outputs on the device"

# The caller's stream, and tensors that lie on the device: the same bits as through the host.
cat >there.c <<'END1'
#include "net.h"
#include "neo/dlpack.h"
#include "runtime/cuda_api.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static cuda_api cuda;
static cuda_stream stream;
static float x[33 * 12], want[33 * 12 + 1], got[33 * 5], loss;
static int32_t y[33];
static void must(int bad, const char *what) {
  if (bad) {
    printf("%s: %d\n", what, bad);
    exit(1);
  }
}
static cuda_ptr put(const void *p, size_t n) {
  cuda_ptr d;
  must(cuda.memory_alloc(&d, n), "allocate");
  must(cuda.upload(d, p, n, stream), "upload");
  return d;
}
static neo_dl_tensor on(cuda_ptr p, int device, neo_dl_type type, int rank, int64_t *shape) {
  return (neo_dl_tensor){.data = (void *)(uintptr_t)p, .device = {NEO_DL_CUDA, device}, .ndim = rank,
                    .dtype = type, .shape = shape};
}
int main(void) {
  void *driver = dlopen(getenv("NEO_CUDA_DRIVER"), RTLD_NOW);
  cuda_context context;
  net_ctx *c;
  int64_t shape[] = {33, 12}, rows[] = {33, 5}, own[16];
  neo_dl_type f32 = {NEO_DL_FLOAT, 32, 1}, i32 = {NEO_DL_INT, 32, 1};
#define FIND(member, symbol, params) *(void **)&cuda.member = dlsym(driver, #symbol);
  CUDA_FUNCTIONS(FIND)
  must(cuda.context_retain(&context, 0) || cuda.context_push(context), "context");
  must(cuda.stream_create(&stream, 0), "stream");
  for (int k = 0; k < 33 * 12; k++)
    x[k] = (float)(k * 7 % 13) / 13;
  for (int k = 0; k < 33; k++)
    y[k] = k % 5;
  must(net_create(&(net_config){.seed = 3, .stream = stream}, &c), "create");
  must(net_forward(c, 33, x, want), "forward");
  cuda_ptr dx = put(x, sizeof x), dy = put(y, sizeof y), dl = put(got, sizeof got);
  neo_dl_tensor tx = on(dx, 0, f32, 2, shape), ty = on(dy, 0, i32, 1, shape), tl = on(dl, 0, f32, 2, rows);
  must(net_bind(c, net_find("X"), &tx) || net_bind(c, net_find("L"), &tl), "bind");
  must(net_run(c, NET_E_forward), "run");
  must(cuda.download(got, dl, sizeof got, stream) || cuda.stream_wait(stream), "download");
  must(memcmp(want, got, sizeof got) != 0, "outputs on the device");
  neo_dl_tensor tloss = {.data = &loss, .device = {NEO_DL_CPU, 0}, .dtype = f32};
  must(net_bind(c, net_find("Y"), &ty) || net_bind(c, net_find("loss"), &tloss), "bind");
  must(net_run(c, NET_E_grad), "gradient of what is on the device, loss to the host");
  cuda_ptr odd = put(want, sizeof want), far = put(want, sizeof want);
  must(cuda.upload(odd + 4, x, sizeof x, stream), "upload");
  tx.data = (void *)(uintptr_t)(odd + 4), tl.data = (void *)(uintptr_t)(far + 4);
  must(net_bind(c, net_find("X"), &tx) || net_bind(c, net_find("L"), &tl), "bind");
  must(net_run(c, NET_E_forward), "run");
  must(cuda.download(got, far + 4, sizeof got, stream) || cuda.stream_wait(stream), "download");
  must(memcmp(want, got, sizeof got) != 0, "tensors that begin between multiples of 16 bytes");
  must(net_bind(c, net_find("X"), NULL), "unbind");
  must(net_run(c, NET_E_grad) != NEO_RT_E_NULL, "an input that is not bound");
  must(net_bind(c, net_find("X"), &tx), "bind");
  y[17] = 5;
  must(cuda.upload(dy, y, sizeof y, stream), "upload");
  must(net_run(c, NET_E_grad) == 0, "an index that is too large");
  puts(net_error(c));
  tx.device.id = 1;
  must(net_bind(c, net_find("X"), &tx) == 0, "a tensor of another device");
  puts(net_error(c));
  neo_dl_tensor w;
  must(net_view(c, net_find("W1"), &w, own), "view");
  must(w.device.type != NEO_DL_CUDA, "where the parameter is");
  must(net_bind(c, net_find("W1"), &w) == 0, "a parameter of the caller's");
  puts(net_error(c));
  net_destroy(c);
  must(cuda.stream_wait(stream), "the stream is the caller's still");
  return 0;
}
END1
cc -std=gnu11 -o there.exe there.c -Igpu -I"$NEO_BUILD_DIR/include" -I"$NEO_SOURCE_DIR" -Lgpu -lnet \
  -Wl,-rpath,"$work/gpu" -L"$NEO_BUILD_DIR/lib" -lneort -lm
./there.exe >said || fail "tensors on the device: $(cat said)"
for text in 'Y\[17\]: value 5 is not in \[0, 5)' 'X: the tensor is on cuda:1, expected cuda:0' \
  'W1: lies on the GPU, and cannot be bound'; do
  grep -q "$text" said || { cat said; fail "'$text' is not said"; }
done

# A driver that lacks what came later: the same bits without graphs, memory pools, pinned memory.
cp "$emulator" lean.so
LC_ALL=C sed -i 's/cuGraphLaunch/noGraphLaunch/g; s/cuMemAllocAsync/noMemAllocAsync/g' lean.so
./gpu.exe train w.safetensors >trained
NEO_CUDA_DRIVER=./lean.so ./gpu.exe train w.safetensors >other || fail "an older driver"
cmp -s trained other || fail "an older driver computes something else"
for lack in NEO_CUDA_GRAPHS NEO_CUDA_EARLY NEO_EMULATOR_GRAPHS NEO_EMULATOR_EDGES NEO_EMULATOR_POOLS NEO_EMULATOR_PINNED_KIB; do
  env $lack=0 ./gpu.exe train w.safetensors >other || fail "$lack=0"
  cmp -s trained other || fail "$lack=0: something else is computed"
done

# Missing parts.
says() { # text, command...
  text=$1
  shift
  if "$@" >said 2>&1; then fail "'$text' was expected to fail"; fi
  grep -q "$text" said || { cat said; fail "'$text' is not said"; }
}
run="$NEOC run net.expr X=random:1:[1,12] $gpu"
says 'CUDA driver cannot be opened' env NEO_CUDA_DRIVER=./none.so $run
says 'compile it with --target=nvptx:sm_80' env NEO_EMULATOR_SM=80 $run
says 'no CUDA-capable device is detected' env NEO_EMULATOR_DEVICES=0 $run
says 'there is no device cuda:1: the driver has 1' ./gpu.exe load w.safetensors cuda:1
says "device 'gpu' is not known; net runs on 'cuda' or 'cuda:N'" ./gpu.exe load w.safetensors gpu
NEO_EMULATOR_DEVICES=2 ./gpu.exe load w.safetensors cuda:1 >loaded || fail "the second device"
cmp -s trained loaded || fail "the second device computes something else"
says 'net needs [0-9]* bytes, 0 of 0 are free' env NEO_EMULATOR_MIB=0 $run
says 'the driver, of CUDA 11.4, is too old for the kernels of net (sm_90a' env \
  NEO_EMULATOR_CUDA=11040 $run
echo 'int cuInit(unsigned flags) { return (int)flags; }' >old.c
cc -shared -fPIC -o old.so old.c
says 'old.so: the CUDA driver is too old: it lacks cuDriverGetVersion' env \
  NEO_CUDA_DRIVER=./old.so $run

# The same bytes every time; ptxas takes them.
for level in $(gpu_levels); do
  "$NEOC" compile -q net.expr --target=nvptx:$level --emit=ptx,ll -o "$level" || fail "$level"
  "$NEOC" compile -q net.expr --target=nvptx:$level --emit=ptx -o again
  cmp -s again/net.ptx "$level/net.ptx" || fail "$level: the PTX is another one each time"
  grep -q "^.target $level" "$level/net.ptx" || fail "$level: the PTX is for something else"
  grep -q 'target triple = "nvptx64' "$level/net.ll" || fail "$level: no LLVM text of the kernels"
  if command -v ptxas >/dev/null; then
    ptxas -arch=$level -o /dev/null "$level/net.ptx" || fail "$level: ptxas refuses the PTX"
  fi
done
# A machine without ptxas makes a library all the same, which holds PTX only.
if command -v ptxas >/dev/null; then
  mkdir bin
  for tool in cc gcc as ld collect2; do
    if command -v $tool >/dev/null; then ln -s "$(command -v $tool)" bin/$tool; fi
  done
  PATH=$work/bin "$NEOC" compile -q net.expr --target=nvptx:sm_90 -o none || fail "without ptxas"
  "$NEOC" compile -q net.expr --target=nvptx:sm_90 -o both
  [ "$(wc -c <none/libnet.so)" -lt "$(wc -c <both/libnet.so)" ] || fail "no cubin is embedded"
else
  echo "no ptxas: PTX was not assembled"
fi
exit $status

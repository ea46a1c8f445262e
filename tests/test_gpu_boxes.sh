#!/bin/sh
# Kernels that copy boxes of tensors (schedules with tma=1), on an emulated device: maps are made anew where the caller's tensors lie
# elsewhere and where sizes are others, kernel by kernel and in graphs; a driver that has no maps says so; candidates are measured.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
on_emulated_device

cat >boxes.expr <<'END1'
dim B <= 130
input X[B, 200] : bf16
input W[72, 200] : bf16
y[i, j] = sum[k] f32(X[i, k]) * f32(W[j, k])
total[j] = sum[i] y[i, j]
output y, total
END1
"$NEOC" explain boxes.expr --target=nvptx:sm_90a --records=none --schedule | grep -q 'tma=1' || fail "there are no boxes"
for B in 1 64 130; do
  NEO_EMULATOR_SEED=$B "$NEOC" verify -q boxes.expr -D B=$B $gpu --records=none || fail "device and interpreter differ, B=$B"
done
"$NEOC" compile -q boxes.expr $gpu --records=none -o gpu
cat >moves.c <<'END1'
#include "boxes.h"
#include "neo/dlpack.h"
#include "runtime/cuda_api.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { MOST = 130, STEPS = 200, COLUMNS = 72 };
static cuda_api cuda;
static uint16_t x[2][MOST * STEPS], w[COLUMNS * STEPS];
static float y[MOST * COLUMNS], total[COLUMNS];
static void must(int bad, const char *what) {
  if (bad) {
    printf("%s: %d\n", what, bad);
    exit(1);
  }
}
static int value(uint16_t h) { /* of 1, 2, 3 as bf16 */
  return h == 0x3f80 ? 1 : h == 0x4000 ? 2 : 3;
}
static void check(const uint16_t *from, int rows, int call) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < COLUMNS; j++) {
      int sum = 0;
      for (int k = 0; k < STEPS; k++)
        sum += value(from[i * STEPS + k]) * value(w[j * STEPS + k]);
      must(y[i * COLUMNS + j] != (float)sum, call < 6 ? "an answer" : "an answer of another size");
    }
}
int main(void) {
  static const uint16_t bits[] = {0x3f80, 0x4000, 0x4040};
  void *driver = dlopen(getenv("NEO_CUDA_DRIVER"), RTLD_NOW);
  cuda_context context;
  cuda_stream stream;
  cuda_ptr at[2];
  boxes_ctx *c;
  neo_dl_type f32 = {NEO_DL_FLOAT, 32, 1}, bf16 = {NEO_DL_BFLOAT, 16, 1};
#define FIND(member, symbol, params) *(void **)&cuda.member = dlsym(driver, #symbol);
  CUDA_FUNCTIONS(FIND)
  must(cuda.context_retain(&context, 0) || cuda.context_push(context), "context");
  must(cuda.stream_create(&stream, 0), "stream");
  for (int k = 0; k < 2 * MOST * STEPS; k++)
    x[0][k] = bits[(k * 7 + k / 11) % 3];
  for (int k = 0; k < COLUMNS * STEPS; k++)
    w[k] = bits[(k * 5 + k / 13) % 3];
  for (int k = 0; k < 2; k++)
    must(cuda.memory_alloc(&at[k], sizeof x[k]) || cuda.upload(at[k], x[k], sizeof x[k], stream), "put");
  if (boxes_create(&(boxes_config){.stream = stream}, &c)) {
    puts(boxes_error(c));
    return 1;
  }
  for (int call = 0; call < 9; call++) { /* 2 and on are graphs', whose maps change from call to call */
    int rows = call < 6 ? MOST : 67, which = call % 2;
    int64_t xs[] = {rows, STEPS}, ws[] = {COLUMNS, STEPS}, ys[] = {rows, COLUMNS};
    neo_dl_tensor tx = {(void *)(uintptr_t)at[which], {NEO_DL_CUDA, 0}, 2, bf16, xs, NULL, 0};
    neo_dl_tensor tw = {w, {NEO_DL_CPU, 0}, 2, bf16, ws, NULL, 0}, ty = {y, {NEO_DL_CPU, 0}, 2, f32, ys, NULL, 0};
    neo_dl_tensor tm = {total, {NEO_DL_CPU, 0}, 1, f32, ws, NULL, 0};
    must(boxes_bind(c, boxes_find("X"), &tx) || boxes_bind(c, boxes_find("W"), &tw), "bind");
    must(boxes_bind(c, boxes_find("y"), &ty) || boxes_bind(c, boxes_find("total"), &tm), "bind");
    memset(y, 0, sizeof y);
    if (boxes_run(c, BOXES_E_forward)) {
      puts(boxes_error(c));
      return 1;
    }
    check(x[which], rows, call);
  }
  boxes_destroy(c);
  return 0;
}
END1
cc -std=gnu11 -o moves.exe moves.c -Igpu -I"$NEO_BUILD_DIR/include" -I"$NEO_SOURCE_DIR" -Lgpu -lboxes -Wl,-rpath,"$work/gpu" \
  -L"$NEO_BUILD_DIR/lib" -lneort -lm
LD_LIBRARY_PATH=$NEO_BUILD_DIR/lib
export LD_LIBRARY_PATH
./moves.exe >said || fail "tensors that move: $(cat said)"
NEO_CUDA_GRAPHS=0 ./moves.exe >said || fail "tensors that move, kernel by kernel: $(cat said)"
cp "$emulator" old.so
LC_ALL=C sed -i 's/cuTensorMapEncodeTiled/noTensorMapEncodeTiled/g' old.so
if NEO_CUDA_DRIVER=./old.so ./moves.exe >said 2>&1; then fail "a driver without maps"; fi
grep -q 'describing tensors to the device failed' said || fail "a driver without maps: $(cat said)"

# A tuner's candidates have maps too.
for more in 1 2 3 4; do # goes on where it was; a busy machine measures little in 5 s
  "$NEOC" tune boxes.expr $gpu --time=5s --records=none,found --log=log -q || fail "no tuning $more"
  ! grep -q 'tma=1' log || break
done
grep -q 'tma=1' log || fail "no candidate copies boxes"
exit $status

#!/bin/sh
# tools/bench gpu: every part has rows; what is prepared here is one file, which Python alone runs elsewhere, by a GPU's driver, an
# emulated one here; a wrong answer of any kind of row is told; products take every way there is; a unit of work is in the file when it
# begins and when it ends, and --resume goes on behind it, also after a kill; a peer that does not answer is killed; what there is none
# of is said; candidates are measured and become records.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3 cc
not_sanitized
emulator=$NEO_BUILD_DIR/tests/libneo_gpu_emulator.so
[ -e "$emulator" ] || exit 77
gpu=nvptx:sm_90a+host
bench() { "$NEO_SOURCE_DIR/tools/bench" gpu "$@"; }
export NEO_BUILD_DIR

bench --list >rows
[ "$(sort rows | uniq -d)" = "" ] || fail "two rows have one name"
for part in 1 2 3 4 5 6 7 8 9; do
  grep -q "^$part " rows || fail "part $part has no row"
done
for name in '1 values of resnet50' '2 gemm bf16 8192' '2 gemm f16 tensors 4096' '3 conv 256x28x256 3x3/2 data' \
  '4 capsule_conv batch 16' '5 lltm batch 64' '6 layer_norm forward and backward' '7 bert sequence 512' \
  '8 attention 1x4096x16x64 causal both ways' '9 resnet50 inference batch 16'; do
  grep -qx "$name" rows || fail "no row '$name'"
done

# Correctness takes each way of making products, for the newest level and an older one.
cat >paths.py <<'END'
import os, sys
sys.path.insert(0, os.environ["NEO_SOURCE_DIR"] + "/tools/benchmarks")
from gpu import prepare
from rows import gpu
p = prepare.Preparation(os.environ["NEO_BUILD_DIR"], "", "nvptx:sm_90a")
ways = {"sm_80": set(), "": set()}
for row in gpu.matrix_units(False):
    ways[row.level] |= {(row.name.split()[2 + ("gemm" in row.name)], way) for way in p.paths(row)}
assert {w for _, w in ways[""]} == {"warps", "warpgroups", "boxes", "producer", "persistent", "stages"}, ways
assert {w for _, w in ways["sm_80"]} == {"warps", "stages"}, ways
for kind in ("bf16", "f16", "tf32", "3xtf32"):
    assert (kind, "warps") in ways["sm_80"], (kind, ways)
    assert kind == "3xtf32" or (kind, "warpgroups") in ways[""], (kind, ways)
END
python3 paths.py || fail "a way of making products is not among the rows of correctness"

# One file, and an empty folder with Python and it.
few='values of (mlp|gemm bf16 72x56x96|products tf32)$|gemm (f32|3x|f16)[^x]*$|conv|softmax|milstm batch|mlp|attention .*both'
bench --prepare "$work/made.pyz" --check --rows "$few" --tune '^gemm f32' --candidates 2 --target $gpu >out 2>&1 ||
  die "nothing is prepared" out
says out 'made.pyz: 0\.[0-9] MiB, [0-9]* rows, candidates of 1$' "what was prepared"
mkdir bare
mv made.pyz bare
cd bare
alone() { # OPTION...: in an environment that knows nothing of neo
  env -i PATH=/usr/bin:/bin NEO_CUDA_DRIVER="$emulator" NEO_BENCH_TORCH="${torch:-/bin/false}" NEO_BENCH_JAX=/bin/false \
    "$(command -v python3)" made.pyz --work . --rounds 1 "$@"
}
alone --json r.json --part 2 --tune-seconds 20 >out || die "no run of a part" out
alone --json r.json --resume --no-peers >out || die "no run of the rest" out
cat >check.py <<'END'
import json, os, sys
rows = {r["name"]: r for r in json.load(open("r.json"))}
timed = [r for r in rows.values() if "part" in r and not r["name"].startswith("values")]
assert len(timed) > 10 and rows["values of mlp"]["values"]["tensors"] == 9, rows
for r in rows.values():
    if "part" not in r:
        continue
    v = r["values"]
    assert v["equal"] and 0 <= v["apart"] <= v["agree"] and v["elements"] >= 20, r
for r in timed:
    ours = r["times"]["ours"]
    assert ours["median_us"] > 0 and len(ours["us"]) == 1, r
    assert r["part"] != 2 or "exit code" in r["missing"]["torch cublas"], r
assert 0 <= rows["softmax forward and backward"]["ratios"]["bandwidth"], rows
assert 0 < rows["softmax forward and backward"]["copy_gb_s"], rows
assert "0 candidates are left" in rows["tuning of gemm f32 40"]["said"], rows
assert os.path.exists("r.json.tune/gemm_f32_40/results")
END
python3 check.py || fail "the results are not as they should be"
says out '^no value differs' "the table"
says out '^softmax .*equal: ' "the table"

# A wrong answer is told, of every kind of row: a shuffled k, another layout, a stage later, another key, weight or channel.
folder=$(echo neo-bench-*)
models=$NEO_SOURCE_DIR/models/zoo
programs=$NEO_SOURCE_DIR/tools/benchmarks/models
cp "$models/cells.expr" . # beside what is made wrong
wrong() { # ROW, ITS FOLDER, MODEL, CHANGE, OPTION OF neoc...
  row=$1 to=$folder/rows/$2 model=$3 change=$4
  shift 4
  sed "$change" "$model" >wrong.expr
  cmp -s wrong.expr "$model" && die "$row: nothing is changed by $change"
  cp "$to/libnet.so" right.so
  "$NEOC" compile -q wrong.expr --prefix=net --emit=so --target=$gpu -o wrong "$@" || die "$row: no wrong library"
  cp wrong/libnet.so "$to"
  code=0
  alone --json wrong.json --no-peers --rows "^$row\$" >out || code=$?
  [ $code = 1 ] || fail "$row: a wrong answer gives $code: $change" out
  grep -q "^$row *DIFFER: " out || fail "$row: a wrong answer is equal: $change" out
  mv right.so "$to/libnet.so"
}
square="-DM=40 -DN=40 -DK=40"
for change in 's/B\[k, j\]/B[(k + 1) % K, j]/' 's/B\[k, j\]/B[j, k]/' 's/A\[i, k\]/A[i, (k + 8) % K]/' \
  's/B\[k, j\]/B[select(k == 17, 18, k), j]/' 's/C\[i, j\]/C[i < M, j]/; s/A\[i, k\]/A[select(i < M - 1, i, M - 2), k]/'; do
  wrong 'gemm f32 40' gemm_f32_40 "$programs/gemm.expr" "$change" $square
  wrong 'gemm f16 tensors 40' gemm_f16_tensors_40 "$programs/gemm_f16.expr" "$change" $square
done
wrong 'gemm 3xtf32 40' gemm_3xtf32_40 "$programs/gemm.expr" 's/A\[i, k\]/A[i, k]*1.00001/' $square --math=3xtf32
wrong 'values of gemm bf16 72x56x96' values_of_gemm_bf16_72x56x96 "$programs/gemm.expr" 's/B\[k, j\]/B[(k + 1) % K, j]/' \
  -DM=72 -DN=56 -DK=96 --math=bf16
wrong 'values of gemm bf16 72x56x96' values_of_gemm_bf16_72x56x96 "$programs/gemm.expr" 's/512/512 /' -DM=72 -DN=56 -DK=96
wrong 'values of products tf32' values_of_products_tf32 "$NEO_SOURCE_DIR/tests/gpu/products.expr" \
  's/f32(Vh\[j, k\])/f32(Vh[j, (k + 8) % 200])/' --math=tf32
layer="-DB=2 -DC=3 -DH=12 -DK=4 -DR=3 -DSTRIDE=2 -DPAD=1"
for entry in forward data weights; do
  case $entry in weights) change='s/^Y = .*/X2[b, c, p, q < H] = X[b, c, p, (q + 1) % H]\nY = nn.conv2d(X2, F, stride = STRIDE, pad = PAD)/' ;;
  *) change='s/^Y = .*/G[k, c, r, s] = F[k, c, s, r]\nY = nn.conv2d(X, G, stride = STRIDE, pad = PAD)/' ;; esac
  wrong "conv 3x12x4 3x3/2 $entry" "conv_3x12x4_3x3_2_$entry" "$programs/conv.expr" "$change" $layer
done
wrong 'softmax forward and backward' softmax_forward_and_backward "$programs/memory.expr" \
  's/^softmax = .*/X2[r, c < C] = X[r, (c + 1) % C]\nsoftmax = nn.softmax(X2)/' -DR=8 -DC=64 -DN=2 -DK=4 -DH=6 -DL=64
wrong 'milstm batch 1' milstm_batch_1 "$models/milstm.expr" 's/cells.mi_lstm(X, h, c/cells.mi_lstm(X, c, h/' -DI=12 -DH=8 -DB=1
wrong 'mlp batch 2' mlp_batch_2 "$models/mlp.expr" 's/y\[n, j\] = relu(h\[n, j\])/y[n, j < D] = relu(h[n, (j + 1) % D])/' -DWIDTH=16 -DB=2
wrong 'mlp batch 2' mlp_batch_2 "$models/mlp.expr" 's/sgd(lr = 0.1)/sgd(lr = 0.1, decay = 0.1)/' -DWIDTH=16 -DB=2
wrong 'mlp inference batch 2' mlp_inference_batch_2 "$models/mlp.expr" 's/= layer(h2)/= layer(h1)/' -DWIDTH=16 -DB=2
for change in 's/^key.*/key[b, t < T, h, k] = f32(KEY[b, (t + 1) % T, h, k])/' 's/^d\[.*/d[b, t, h, k < K] = f32(D[b, t, h, (k + 1) % K])/'; do
  wrong 'attention 1x24x2x16 both ways' attention_1x24x2x16_both_ways "$programs/attention.expr" "$change" -DB=1 -DT=24 -DH=2 \
    -DK=16 --math=bf16 --store=bf16
done
sed 's/^/-D/' "$NEO_SOURCE_DIR/tests/zoo/expected/mlp.txt" | awk '$1 == "-Ddefine" || $1 == "-Dsize" { print "-D" $2 "=" $3 }' >sizes
wrong 'values of mlp' values_of_mlp "$models/mlp.expr" 's/= layer(h2)/= layer(h1)/' $(cat sizes)

# A failure ends one unit of work, and the bench goes on.
code=0
alone --json stop.json --rows '^gemm' --minutes 0 >out || code=$?
[ $code = 130 ] || fail "time is over: exit code $code, expected 130" out
cat >slow <<'END'
#!/bin/sh
echo begun >>"$0.begun"
exec sleep 60
END
chmod +x slow
torch=$PWD/slow
alone --json stop.json --rows '^gemm f32' --peer-seconds 1 >out || fail "a peer without an answer" out
says out 'torch cublas: no answer in 1 s, and was killed' "a peer without an answer"
rm -f slow.begun
alone --json stop.json --rows '^gemm f32' >out 2>&1 &
for turn in $(seq 600); do
  [ -e slow.begun ] && break
  sleep 0.1
done
kill -9 $!
wait $! 2>/dev/null || :
grep -q '"begun"' stop.json || fail "nothing says what was begun" stop.json
torch=/bin/false
alone --json stop.json --rows '^gemm f32' --resume >out || fail "no --resume after a kill" out
says out '^gemm f32 40 .*torch cublas: was begun, and not finished' "--resume after a kill"
torch=$PWD/slow
rm -f slow.begun
env -i PATH=/usr/bin:/bin NEO_CUDA_DRIVER="$emulator" NEO_BENCH_TORCH="$PWD/slow" "$(command -v python3)" made.pyz --work . \
  --rounds 1 --json stop.json --rows '^gemm f32' >out 2>&1 &
pid=$!
for turn in $(seq 600); do
  [ -e slow.begun ] && break
  sleep 0.1
done
kill -TERM $pid
code=0
wait $pid || code=$?
[ $code = 130 ] || fail "SIGTERM: exit code $code, expected 130" out
says out '^gemm f32 40 *equal: ' "the table after SIGTERM"

# A short entry is timed as a graph of calls if the driver captures them; else the row says that it is not.
alone --json r.json --rows '^gemm f32' --no-peers --graph-below 1e9 >out || fail "calls that are not captured" out
says out '^gemm f32 40 .*call by call, which may be the host.s time: the driver captures no calls' "calls that are not captured"
cat >capture.c <<'END'
/* A driver that captures: a launch meanwhile becomes a node behind the one before. */
#include "runtime/cuda_api.h"
#include <dlfcn.h>
static cuda_graph graph;
static cuda_node before;
static int n;
cuda_result cuGraphCreate(cuda_graph *graph, unsigned flags);
cuda_result cuGraphAddKernelNode(cuda_node *node, cuda_graph graph, const cuda_node *after, size_t n,
                                 const cuda_kernel_node *kernel);
cuda_result cuStreamBeginCapture_v2(cuda_stream stream, int mode) {
  n = 0;
  return cuGraphCreate(&graph, 0);
}
cuda_result cuStreamEndCapture(cuda_stream stream, cuda_graph *to) {
  *to = graph;
  graph = 0;
  return n != 50;
}
cuda_result cuLaunchKernel(cuda_function f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                           unsigned shared, cuda_stream stream, void **params, void **extra) {
  cuda_kernel_node k = {f, {x, y, z}, {bx, by, bz}, shared, params, extra};
  cuda_node node;
  cuda_result r;
  if (graph) {
    r = cuGraphAddKernelNode(&node, graph, n ? &before : 0, n ? 1 : 0, &k);
    before = node;
    n++;
    return r;
  }
  cuda_result (*next)(cuda_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cuda_stream,
                      void **, void **);
  *(void **)&next = dlsym(RTLD_NEXT, "cuLaunchKernel");
  return next(f, x, y, z, bx, by, bz, shared, stream, params, extra);
}
END
cc -shared -fPIC -D_GNU_SOURCE -w -I"$NEO_SOURCE_DIR" -o capture.so capture.c -Wl,--no-as-needed "$emulator" \
  -Wl,-rpath,"$(dirname "$emulator")"
emulated=$emulator
emulator=$PWD/capture.so
alone --json r.json --rows '^gemm f32' --no-peers --graph-below 1e9 >out || fail "calls that are captured" out
says out '^gemm f32 40 .* us in graphs of 50;' "calls that are captured"
emulator=$emulated

# Rows that do not exist.
torch=/bin/false
emulator=libnone.so
code=0
alone --json none.json >out 2>&1 || code=$?
[ $code = 4 ] || fail "no driver: exit code $code, expected 4" out
says out 'libnone.so: cannot open' "no driver"
cd ..

# Measured candidates become records.
bench --import "$work/bare/r.json.tune" --check --rows '^gemm f32' --records "none,$work/records" --target $gpu >out 2>&1 ||
  fail "no records are made" out
says out '^gemm f32 40: ' "what was imported"
exit $status

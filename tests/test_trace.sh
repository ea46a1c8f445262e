#!/bin/sh
# --trace: a JSON file in which each kernel of an entry appears once a step and worker, within its
# entry, on the processor and on an emulated GPU, where there are copies as well; without a trace the
# results are the same; what cannot be written is said.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3
emulator=$NEO_BUILD_DIR/tests/libneo_gpu_emulator.so

cat >net.expr <<'END'
import nn, optim

dim B <= 32
input X[B, 12]
input Y[B] : i32 < 5

param W1[12, 20] = glorot(12, 20)
param W2[20, 5] = glorot(20, 5)

H[b, j] = tanh(sum[i] X[b, i] * W1[i, j])
L[b, c] = sum[j] relu(H[b, j]) * W2[j, c]

loss = nn.cross_entropy(L, Y)

output L
train loss using optim.adam(lr = 0.01)
END
cat >data.py <<'END'
import struct
def npy(path, kind, shape, values, code):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack("<%d%s" % (len(values), code), *values))
npy("x.npy", "<f4", "(96, 12)", [(7 * k % 13) / 13 for k in range(96 * 12)], "f")
npy("y.npy", "<i4", "(96,)", [k % 5 for k in range(96)], "i")
END
python3 data.py

# FILE KIND WORKERS: of 3 epochs of 3 steps
cat >check.py <<'END'
import collections, json, sys
path, kind, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
told = json.load(open(path))
events = [e for e in told["traceEvents"] if e["ph"] == "X"]
rows = {e["tid"]: e["args"]["name"] for e in told["traceEvents"] if e["name"] == "thread_name"}
entries = [e for e in events if e["cat"] == "entry"]
steps = [e for e in entries if e["name"] == "step"]
assert len(steps) == 9, len(steps)
assert all(e["tid"] in rows for e in events) and rows[0] == "host"
for s in steps:
    own = [e for e in events if e["args"]["call"] == s["args"]["call"] and e is not s]
    kernels = [e for e in own if e["cat"] == "kernel"]
    seen = collections.Counter((e["args"]["step"], e["tid"]) for e in kernels)
    assert kernels and set(seen.values()) == {1}, seen
    assert {e["args"]["step"] for e in kernels} == set(range(len({e["args"]["step"] for e in own if "step" in e["args"]})))
    assert len({e["tid"] for e in kernels}) <= workers
    slack = 1e3 if kind == "gpu" else 0.01  # the device's clock is another one
    for e in own:
        assert e["dur"] >= 0 and e["ts"] >= s["ts"] - slack, e
        assert e["ts"] + e["dur"] <= s["ts"] + s["dur"] + slack, (e, s)
    copies = [e for e in own if "bytes" in e["args"]]
    if kind == "gpu":
        assert {rows[e["tid"]] for e in own} == {"device"}
        assert [e["args"]["bytes"] for e in copies] == [32 * 12 * 4, 32 * 4, 4], copies
    else:
        assert not copies
        assert all(abs(e["args"]["busy"] - e["dur"]) < 0.01 for e in kernels)  # none is in a loop
END
train() { # FILE OPTIONS...
  out=$1
  shift
  "$NEOC" train -q net.expr --data=X=x.npy,Y=y.npy --batch=32 --epochs=3 --save="$out.safetensors" "$@" ||
    fail "training: $*"
}
train plain --threads=1
train cpu --threads=1 --trace=cpu.json
train two --threads=2 --trace=two.json
python3 check.py cpu.json cpu 1 || fail "one thread"
python3 check.py two.json cpu 2 || fail "two threads"
cmp -s plain.safetensors cpu.safetensors || fail "a trace changes the results"
if [ -e "$emulator" ] && [ -z "${NEO_SANITIZE:-}" ]; then
  export NEO_CUDA_DRIVER="$emulator"
  gpu=--target=nvptx:sm_90+host
  train gpu $gpu
  train traced $gpu --trace=gpu.json
  python3 check.py gpu.json gpu 1 || fail "on a GPU"
  cmp -s gpu.safetensors traced.safetensors || fail "a trace changes the results on a GPU"
fi
if [ -e "$emulator" ] && [ -z "${NEO_SANITIZE:-}" ]; then # 40 rounds, of which one is noted; and all copies
  printf '%s\n' 'input X[t < 40, j < 8]' 'output r' 'r[t < 40, j < 8] = X[t, j] + 0.5*(r[t-1, j] else 0)' >loop.expr
  "$NEOC" run loop.expr X=ones:[40,8] $gpu --trace=loop.json >/dev/null || fail "run with a loop"
  python3 -c 'import json
events = json.load(open("loop.json"))["traceEvents"]
steps = [e for e in events if "step" in e.get("args", {}) and "bytes" not in e["args"]]
copies = [e["args"]["bytes"] for e in events if "bytes" in e.get("args", {})]
assert len(steps) == len({e["args"]["step"] for e in steps}) >= 2, steps
assert copies == [40 * 8 * 4] * 2, copies' || fail "a trace of rounds on a GPU"
fi
printf '%s\n' 'input X[20, 64, 96]' 'input U[96, 96]' 'h = scan t < 20 from h[b < 64, j < 96] = 0 {' \
  '  z[b, j] = X[t, b, j] + sum[k] h[b, k]*U[k, j]' '  next h[b, j] = h[b, j] + sum[k] tanh(z[b, k])*U[j, k]' '}' \
  'output h' >rounds.expr
"$NEOC" run rounds.expr X=ones:[20,64,96] U=random:1:[96,96] --threads=1 --trace=rounds.json >/dev/null || fail "run with rounds"
python3 -c 'import json
events = [e for e in json.load(open("rounds.json"))["traceEvents"] if e["ph"] == "X"]
entry = next(e for e in events if e["name"] == "forward")
steps = [e for e in events if "step" in e["args"] and e["args"]["call"] == entry["args"]["call"]]
busy = sum(e["args"]["busy"] for e in steps)
assert 0 < busy <= entry["dur"] < sum(e["dur"] for e in steps), events' ||
  fail "what steps in rounds take is more than the entry does"
"$NEOC" run net.expr X=ones:[1,12] --trace=run.json >/dev/null || fail "run"
python3 -c 'import json; assert any(e["name"] == "forward" for e in json.load(open("run.json"))["traceEvents"])' ||
  fail "run: no entry"
if "$NEOC" run net.expr X=ones:[1,12] --trace=none/run.json >said 2>&1; then fail "no such folder"; fi
grep -q 'none/run.json: cannot be written: No such file' said || { cat said; fail "what cannot be written is not said"; }
if "$NEOC" run net.expr X=ones:[1,12] --interp --trace=run.json >said 2>&1; then fail "--interp"; fi
exit $status

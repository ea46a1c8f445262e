#!/bin/sh
# tools/bench gpu: every part has rows; what is prepared here is measured elsewhere by a GPU's driver,
# an emulated one here; values are compared with a processor's, and others are told; a row is in the
# file as soon as it is measured; --resume measures what is missing; what there is none of is said.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3 cc
not_sanitized
emulator=$NEO_BUILD_DIR/tests/libneo_gpu_emulator.so
bench() { "$NEO_SOURCE_DIR/tools/bench" gpu "$@"; }
export NEO_BUILD_DIR

bench --list >"$work/rows"
[ "$(sort "$work/rows" | uniq -d)" = "" ] || fail "two rows have one name"
for part in 1 2 3 4 5 6 7; do
  grep -q "^$part " "$work/rows" || fail "part $part has no row"
done
for name in '1 values of resnet50' '2 gemm bf16 8192' '3 conv 256x28x256 3x3/2 data' '4 capsule_conv batch 16' \
  '5 lltm batch 64' '6 layer_norm forward and backward' '7 bert sequence 512'; do
  grep -qx "$name" "$work/rows" || fail "no row '$name'"
done

few='values of mlp|gemm (f32|3x)|weights|softmax|milstm batch'
bench --prepare "$work/made" --check --rows "$few" --target nvptx:sm_90a+host >"$work/out" 2>&1 ||
  fail "nothing is prepared" "$work/out"
export NEO_CUDA_DRIVER="$emulator"
measure() { bench --from "$work/made" --check --rows "$few" --rounds 1 --json "$work/json" "$@"; }
export NEO_BENCH_TORCH=/bin/false NEO_BENCH_JAX=/bin/false
measure --part 2 >"$work/out" || fail "no run of a part" "$work/out"
[ "$(wc -l <"$work/out")" -eq 2 ] || fail "part 2 has other rows" "$work/out"
if measure --minutes 0 --resume >/dev/null; then fail "time is over, and nothing is said"; fi
measure --resume >"$work/out" || fail "no run of the rest" "$work/out"
if grep -q gemm "$work/out"; then fail "--resume measures what is there"; fi
cat >"$work/check.py" <<'END'
import json, sys
rows = {r["name"]: r for r in json.load(open(sys.argv[1]))}
assert set(rows) == {"values of mlp", "gemm f32 40", "gemm 3xtf32 40", "conv 3x12x4 3x3/2 weights",
                     "softmax forward and backward", "milstm batch 1"}, set(rows)
values = rows["values of mlp"]["values"]
assert values["equal"] and values["tensors"] == 9 and 0 <= values["apart"] < 1e-3, values
assert 0 < rows["softmax forward and backward"]["ratios"]["bandwidth"]
for name, row in rows.items():
    if name.split()[0] not in ("values",):
        assert len(row["times"]["ours"]) == 1 and row["times"]["ours"][0] > 0, row
        assert "torch" in " ".join(row["missing"]), row
        assert ("jax" in row["missing"]) == ("batch" in name), row
END
python3 "$work/check.py" "$work/json" || fail "the results are not as they should be"
bench --show --json "$work/json" >"$work/out"
grep -q '^values of mlp .*equal: ' "$work/out" || fail "--show does not show" "$work/out"
# Other values are told.
cp "$work/made/values_of_mlp/params.safetensors" "$work/made/params"
python3 - "$work/made/values_of_mlp/values.safetensors" <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[-40:] = bytes(40)
open(sys.argv[1], "wb").write(data)
END
if measure --part 1 >"$work/out"; then cat "$work/out"; fail "other gradients are equal"; fi
grep -q 'DIFFER' "$work/out" || fail "a difference is not told"
tells() { # TEXT COMMAND...
  text=$1
  shift
  "$@" >"$work/out" 2>&1 || :
  says "$work/out" "$text" "a bench without a GPU"
}
tells 'libnone.so: cannot open' env NEO_CUDA_DRIVER=libnone.so "$NEO_SOURCE_DIR/tools/bench" gpu --from "$work/made" --check \
  --rows 'gemm f32' --rounds 1
tells 'no CUDA-capable device\|there is no GPU' env NEO_EMULATOR_DEVICES=0 "$NEO_SOURCE_DIR/tools/bench" gpu \
  --from "$work/made" --check --rows 'gemm f32' --rounds 1
exit $status

#!/bin/sh
# tools/bench cpu: lists its rows; a row runs without its peers and says that they are missing; a
# ratio is the peer's time over ours; a peer that computes something else is not counted; results
# are whole JSON; rows not measured again stay.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3 cc
unset NEO_BENCH_TORCH NEO_BENCH_JAX NEO_BENCH_JAX_0_4_31 NEO_BENCH_NUMPY NEO_BENCH_SCIPY # peers of whoever runs the test
bench() { NEO_BUILD_DIR=$NEO_BUILD_DIR "$NEO_SOURCE_DIR/tools/bench" cpu --peers "$work" "$@"; }

# ---- the rows
bench --list >"$work/rows"
[ "$(sort "$work/rows" | uniq -d)" = "" ] || fail "two rows have one name"
for name in 'gemm f32 50176x64x576 threads 2' 'gemm bf16 64x64x64 threads 1' \
  'conv f32 n16 3x224x64 7x7/2 data' 'layer_norm forward and backward' 'sublstm batch 64' \
  'capsulenet_conv batch 16' 'mobilenet batch 1' 'resnet50 batch 16' \
  'bert layer sequence 512' 'compile resnet50' 'memory resnet50 batch 16' 'LSTM 512 batch 64 threads 2' \
  'milstm 100 rounds batch 1' 'CTC' 'Cholesky 512' '1 of 8 experts'; do
  grep -qx "$name" "$work/rows" || fail "no row '$name'"
done
if bench --rows 'no such row' >/dev/null 2>&1; then fail "a row that does not exist is measured"; fi

# ---- peers are missing, or programs that compute nothing
stub() { # NAME ABOUT: tells that each call takes a second
  cat >"$work/$1" <<END
#!/bin/sh
[ "\$1" != -c ] || exit 0
echo 'ready $2'
while read -r command calls; do echo "us \$((calls * 1000000)) \$((calls * 1000000))"; done
END
  chmod +x "$work/$1"
}
stub jax '{}'
stub torch '{"losses": [0.5, 0.25]}'
bench --rows '^scrnn batch 1$' --rounds 1 --json "$work/json" >"$work/out" 2>&1 ||
  { cat "$work/out"; fail "no run"; }
grep -q "torch eager: torch is not installed" "$work/out" || fail "a missing peer is not told"
NEO_BENCH_TORCH=$work/torch NEO_BENCH_JAX=$work/jax \
  bench --rows '^lltm batch 1$' --rounds 3 --json "$work/json" >"$work/out" ||
  fail "no run with peers"
grep -q "torch compile: computes something else" "$work/out" || fail "a wrong peer is not told"
cat >"$work/check.py" <<'END'
import json, sys
rows = json.load(open(sys.argv[1]))
assert [r["name"] for r in rows] == ["scrnn batch 1", "lltm batch 1"], rows
for r in rows:
    for key in ("group", "unit", "threads", "peer", "ratio", "tuned", "analytic", "must", "stretch",
                "times", "missing"):
        assert key in r, key
    assert r["times"]["ours default"]["median_us"] > 0
    assert "torch eager" in r["missing"] and "torch compile" in r["missing"]
first, second = rows
assert first["ratio"] is None and first["peer"] is None and "jax" in first["missing"]
assert second["peer"] == "jax" and len(second["times"]["jax"]["us"]) == 3
ratio = 1e6 / second["times"]["ours default"]["median_us"]
assert abs(second["ratio"] / ratio - 1) < 1e-3, second
assert second["must"] == 3.0 and second["stretch"] == 6
END
python3 "$work/check.py" "$work/json" || fail "the results are not as they should be"
grep -q '^cells .*geometric mean of 1' "$work/out" || fail "no mean of the group"
bench --show --json "$work/json" >"$work/out"
grep -q '^scrnn batch 1 ' "$work/out" || fail "--show does not show"

# ---- a recurrence; its peers agree by the mean sizes of its outputs
stub scipy '{"outputs": [-1]}'
NEO_BENCH_SCIPY=$work/scipy bench --rows '^triangular solve' --rounds 1 >"$work/out" || fail "no run of a recurrence"
grep -q "scipy blas: computes something else: \[-1\], not \[0\.0" "$work/out" || fail "a recurrence computes nothing"

# ---- many rounds beside few
bench --rows '^rounds: ' --rounds 1 --json "$work/rounds" >"$work/out" || fail "no rows of rounds"
grep -q '"100000 rounds": {"memory_bytes": [0-9]' "$work/rounds" || fail "no memory of many rounds"
grep -q '^rounds: compile time  *[0-9.]* .*must 0.91' "$work/out" || fail "no ratio of rounds"

# ---- the first step of a peer that compiles through a shell; one that fails says why
cat >"$work/torch" <<'END'
#!/bin/sh
[ "$1" != -c ] || exit 0
[ -z "${TORCHINDUCTOR_COMPILE_THREADS:-}" ] || exit 1 # kept by an earlier run
sh -c "mkdir -p $TORCHINDUCTOR_CACHE_DIR && echo >$TORCHINDUCTOR_CACHE_DIR/made" &&
  [ -e "$TORCHINDUCTOR_CACHE_DIR/made" ] && echo 'ready {"first_s": 2.5}' && exec cat >/dev/null
END
cat >"$work/jax" <<'END'
#!/bin/sh
[ "$1" != -c ] || exit 0
printf 'some.where.CompileError: no compiler\nSet THIS for more\n' >&2
exit 1
END
NEO_BENCH_TORCH=$work/torch NEO_BENCH_JAX=$work/jax \
  bench --rows '^compile mlp$' --json "$work/first" >"$work/out" || fail "no compile time"
grep -q '"torch compile": {"wall_s": 2.5}' "$work/first" ||
  { cat "$work/out"; fail "a first compiled step is not measured"; }
grep -q 'jax: some.where.CompileError: no compiler' "$work/out" ||
  { cat "$work/out"; fail "the error of a peer is not told"; }

# ---- tuning
bench --rows '^gemm f32 64x64x64 threads 1$' --rounds 1 --tuned 1 --json "$work/tuned" \
  >"$work/out" || fail "no run with tuning"
grep -q '"tuning": {"seconds": .*"covered": ' "$work/tuned" ||
  { cat "$work/out"; fail "nothing was tuned"; }
exit $status

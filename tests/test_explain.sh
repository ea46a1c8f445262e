#!/bin/sh
# `neoc explain`: what gradients read of the forward pass (tests/golden/explain, one table for each
# gradient), the same as JSON, timings, and how much of the time may go to integer sets.
# NEO_GOLDEN_REFRESH=1 rewrites the golden files.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
golden=$NEO_SOURCE_DIR/tests/golden/explain

# ---- what gradients read
for model in "$golden"/*.expr; do
  name=$(basename "$model")
  sed '/^# expect:$/,$d' "$model" >"$work/$name"
  (cd "$work" && "$NEOC" explain "$name" --after=autodiff) >"$work/out" ||
    { fail "explain $name"; continue; }
  { cat "$work/$name"; echo '# expect:'; sed -n '/^# the gradient/,$p' "$work/out" | sed '/^$/d'; } \
    >"$work/is"
  if [ "${NEO_GOLDEN_REFRESH:-}" ]; then cp "$work/is" "$model"; fi
  diff "$model" "$work/is" >&2 || fail "$name: another table"
  cp "$work/out" "$work/again.ir"
  "$NEOC" check -q "$work/again.ir" || fail "$name: the output is no textual IR"
done

# ---- networks of training entries, which merge, and what has none
"$NEOC" explain --network "$NEO_SOURCE_DIR/models/zoo/mlp.expr" >"$work/net" || fail "explain --network"
[ "$(grep -c '^node' "$work/net")" = 5 ] || fail "the network of mlp has other nodes" "$work/net"
grep -q '^edge 1 -> 2 h1 from h1, seed.h1 to h1, grad.h1 gradient$' "$work/net" ||
  fail "the network of mlp has other edges" "$work/net"
"$NEOC" explain --network --nodes=2 "$NEO_SOURCE_DIR/models/zoo/mlp.expr" >"$work/net"
[ "$(grep -c '^node' "$work/net")" = 3 ] || fail "--nodes=2 does not merge" "$work/net"
"$NEOC" explain --network "$NEO_SOURCE_DIR/models/zoo/cells.expr" >"$work/net" 2>"$work/err" &&
  fail "--network of what trains nothing"
grep -q 'trains nothing' "$work/err" || fail "--network tells no reason" "$work/err"

# ---- a remark where each element is compared with every key, and none where terms are read once
cat >"$work/keys.expr" <<'END'
dim V <= 1000
dim M <= 2000
dim F <= 4
input k[M] : 0 <= i32 < V
input l[M] : 0 <= i32 < V
input few[F] : 0 <= i32 < V
input bias[V]
input x[M, 2]
once[v < V, d] = sum[e < M where k[e] == v] x[e, d]
both[v < V, d] = sum[e < M where k[e] == v and l[e] == v] x[e, d]
some[v < V] = any[e < M where v == k[e]] true
shifted[v < V] = (sum[e < M where k[e] == v] x[e, 0]) + bias[v]
rows[e < M, d] = x[k[e] % M, d]
short[v < V] = max[e < F where few[e] == v] 1.0
most[v < V, d] = max[e < M where k[e] == v] x[e, d]
cond[v < V, d] = sum[e < M] select(k[e] == v, x[e, d], 0)
either[v < V, d] = sum[e < M where v == k[e] or v == l[e]] x[e, d]
pairs[e < M] = sum[m < M where k[m] == l[e]] x[m, 0]
output once, both, some, shifted, rows, short, most, cond, either, pairs
END
"$NEOC" explain --groups "$work/keys.expr" >/dev/null 2>"$work/keys" || fail "explain of keys"
told=$(sed -n "s/.*remark\[R0924\]: '\([a-z]*\)' .*/\1/p" "$work/keys" | tr '\n' ' ')
[ "$told" = "cond either pairs " ] || fail "comparisons with every key: told of $told" "$work/keys"

# ---- reductions by keys go through their terms once, whatever the reducer, and so do their gradients
cat >"$work/terms.expr" <<'END'
dim V <= 1000
dim M <= 9000
dim U <= 100
dim T <= 4
input k[M] : i32 < V
input raw[M] : i32
input l[M] : i32 < U
input t[2, M] : i32 < V
input when[T, M] : i32 < V
input begin[V + 1] : i32 < M + 1
input x[M]
input w[M, 16]
input of_u[U]
input bias[V]
k1[v < V] = max[e where k[e] == v] x[e]
k2[v < V, d] = argmin[e where raw[e] - 1 == v and x[e] > 0] w[e, d]
k3[v < V, d] = logsumexp[e where v == V - 1 - k[e]] w[e, d]
k4[v < V, u < U] = mean[e where k[e] == v and l[e] == u] x[e]
k5[b, v < V] = prod[e where t[b, e] == v] x[e]
k6[v < V] = all[b, e where 2*v == t[b, e]] x[e] > 0
k7[e < M] = sum[v < V where begin[v] <= e and e < begin[v + 1]] bias[v]*x[e]
k8 = scan i < T from c[v < V] = 0 {
  k9[v < V] = max[e where when[i, e] == v] (x[e] + 0.5*c[k[e]])
  next c[v] = select(k9[v] > -1000, k9[v], c[v])
}
fn bend(a[..]) -> s { s = sum[..] select(abs(a[..]) < 1e30, sin(a[..]), 0) }
s = bend(k1) + bend(k3) + bend(k4) + bend(k5) + bend(k7) + bend(k8) + 0*sum[u] of_u[u]
gx, gw = grad(s, x, w)
output k2, k6, gx, gw
END
"$NEOC" explain --schedule "$work/terms.expr" >"$work/terms" 2>&1 || fail "explain of terms" "$work/terms"
grep -q 'R0924' "$work/terms" && fail "pairs are compared" "$work/terms"
for name in k1 k2 k3 k4 k5 k6 k7 slice_k8_k9 slice2_k8_k9 d2_x; do
  grep -q "^ *$name: segment" "$work/terms" ||
    fail "$name does not go through its terms" "$work/terms"
done
for name in before_k5 after_k5; do
  grep -q "^$name: keyed_scan" "$work/terms" || fail "$name is no pass over terms" "$work/terms"
done
grep -q 'up to 1000) with every key (up to 2000)' "$work/keys" || fail "how many keys" "$work/keys"

python=$(command -v python3) || exit $status
cat >"$work/tables.py" <<'END'
import json, re, sys
text, told = open(sys.argv[1]).read(), json.load(open(sys.argv[2]))
assert told["ok"] and told["ir"].startswith("neo-ir 1")
assert told["saved_or_recomputed"] == "decided by fusion"
tables = re.findall(r"# in all (\d+) bytes computed, (\d+) bytes given", text.replace("#   ", "# "))
assert len(tables) == len(told["gradients"]) > 0
size = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2, "u8": 1, "i8": 1, "bool": 1}
for (computed, given), g in zip(tables, told["gradients"]):
    assert g["computed_bytes"] == int(computed) and g["given_bytes"] == int(given)
    assert g["wrt"] and g["reads"] and g["of"] and re.search(r"\.expr:\d+:\d+$", g["at"])
    sums = {True: 0, False: 0}
    for r in g["reads"]:
        n = size[r["type"]]
        for extent in r["shape"]:
            n *= extent
        assert n == r["bytes"] and r["read_for"]
        sums[r["is"] == "computed"] += n
    assert sums == {True: g["computed_bytes"], False: g["given_bytes"]}
END
for model in "$golden"/*.expr; do
  "$NEOC" explain "$model" --after=autodiff >"$work/out"
  "$NEOC" explain "$model" --after=autodiff --format=json >"$work/json"
  "$python" "$work/tables.py" "$work/out" "$work/json" || fail "$model: JSON and text differ"
done

# ---- loops: those that are in the plan, and the kernels in them
cat >"$work/loops.expr" <<'END'
input X[t < 20, b < 16, j < 512] : f32
param U[512, 512] : f32 = 0.01
output h
h[t, b, j] = tanh(X[t, b, j] + sum[k] (h[t-1, b, k] else 0) * U[k, j])
END
for target in x86_64 nvptx:sm_90a; do
  "$NEOC" explain --groups --target="$target" "$work/loops.expr" >"$work/out" || fail "explain --groups: $target"
  grep -A1 '^  for t in 1..20$' "$work/out" | grep -q '^    kernel [0-9]* loops_k' ||
    fail "explain --groups shows no loop around a kernel for $target"
done

# ---- timings: every model that is shipped, at its own sizes
cat >"$work/timings.py" <<'END'
import json, sys
rows = {r["stage"]: r for r in json.load(sys.stdin)["timings"]}
for name in ("front", "simplify", "autodiff", "cse"):
    assert name in rows, name
seconds = sum(r["seconds"] for r in rows.values())
worst = max(rows.values(), key=lambda r: r["isl_seconds"])
print(f"{sys.argv[1]}: {seconds:.2f} s to the end of the passes, isl at most "
      f"{worst['isl_seconds']:.3f} s (in {worst['stage']})")
assert rows["front"]["proofs"] > 0
assert worst["isl_seconds"] <= float(sys.argv[2]), worst
assert seconds <= float(sys.argv[3]), rows
END
isl=0.1 passes=2
[ -z "${NEO_SANITIZE:-}" ] || isl=2 passes=40
for model in "$NEO_SOURCE_DIR"/models/*/*.expr; do
  grep -q '^\(output\|train\)' "$model" || continue
  "$NEOC" explain "$model" --timings --after=cse --format=json >"$work/json" || { fail "$model"; continue; }
  "$python" "$work/timings.py" "$(basename "$model")" $isl $passes <"$work/json" ||
    fail "$model: takes too long"
done
"$NEOC" explain "$golden/mlp.expr" --timings >"$work/out"
for stage in front autodiff fusion 'schedules and kernels' plan 'in all'; do
  grep -q "^$stage .*[0-9]" "$work/out" || fail "no row '$stage' in the table of timings"
done
exit $status

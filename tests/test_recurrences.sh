#!/bin/sh
# Recurrences from outside: memory for any number of rounds (what only the last rounds are read of is there as a
# few slices), values as the interpreter has them, entries that differ.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

# ring NAME BYTES TEXT: at most so many bytes in memory, with 20 rounds and with 2000
ring() {
  for rounds in 20 2000; do
    printf '%s\n' "$3" | sed "s/ROUNDS/$rounds/" >"$work/$1.expr"
    "$NEOC" compile "$work/$1.expr" -o "$work" --emit=json >"$work/out" 2>&1 || { cat "$work/out" >&2; fail "$1"; return; }
    bytes=$(grep -o '"\(frame\|scratch\)_bytes": [0-9]*' "$work/$1.json" | awk '{n += $2} END {print n}')
    [ "$bytes" -le "$2" ] || fail "$1: $bytes bytes in memory for $rounds rounds, more than $2"
  done
  "$NEOC" verify "$work/$1.expr" >"$work/out" 2>&1 || { cat "$work/out" >&2; fail "$1: other values"; }
}

# 2 slices of 64 elements: the one before the last is only read for the element that takes its place
ring wave 512 'dim T = ROUNDS
input s[64]
output last
u[t < T, i < 64] = select(t < 2, s[i], (u[t-1, i] else 0)*0.5 - (u[t-2, i] else 0)*0.25 + ((u[t-1, i-1] else 0) + (u[t-1, i+1] else 0))*0.1)
last[i] = u[T-1, i]'

# 3 slices: the one before the last is read for its neighbours
ring neighbours 768 'dim T = ROUNDS
input s[64]
output last
u[t < T, i < 64] = select(t < 2, s[i], (u[t-1, i] else 0)*0.5 - (u[t-2, i+1] else 0)*0.25)
last[i] = u[T-1, i]'

# down; the last one computed is the first
ring down 2048 'dim T = ROUNDS
input x[T, 64]
output first
r[t < T, i < 64] = x[t, i] + 0.5*(r[t+1, i] else 0)
first[i] = r[0, i]'

# the carries of a scan, whose last values are wanted: no copies
ring carries 2048 'dim T = ROUNDS
input x[T, 32]
output a, b
a, b = scan t < T from p[i < 32] = 1, q[i < 32] = 0 {
  n[i] = 0.5*p[i] + x[t, i]
  m[i] = 0.5*q[i] + p[i]
  next p = m, q = n
}'

# sums over the rounds, of all and of some, also along other axes: added up as they are made
sums='dim T = ROUNDS
input x[T, 64]
output G, E, W, S
h[t < T, i < 64] = tanh(0.5*(h[t - 1, i] else 0.25) + x[t, i])
G[i] = sum[t] h[t, i]*x[t, i]
E[i] = 2 + (sum[t where t > 2 and x[t, i] > 0] (h[t - 1, i] else 3))
W = sum[t, i where i > 1] h[t, i]*x[t, 63 - i]
S[i] = sum[3 <= t < T] h[t, i]^2'
ring sums 4096 "$sums"
ring sums_down 4096 "$(printf '%s\n' "$sums" | sed 's/^h.*/h[t < T, i < 64] = x[t, i] + 0.5*(h[t+1, i] else 0)*x[t, 63 - i]/')"

cat >"$work/compare.py" <<'END'
import struct, sys, zipfile
def floats(name):
    z = zipfile.ZipFile(f"{sys.argv[1]}/{name}.npz")
    data = [z.read(n) for n in sorted(z.namelist())]
    code = ["d" if b"<f8" in d[:128] else "f" for d in data]
    return [x for c, d in zip(code, data) for x in struct.unpack(f"<{len(d[128:]) // struct.calcsize(c)}{c}", d[128:])]
a, b = floats("code"), floats("interp")
sys.exit(len(a) != int(sys.argv[2]) or not all(abs(x - y) <= 1e-4*(1 + abs(x)) for x, y in zip(a, b)))
END

# with rounds that are known when it runs, one too
printf '%s\n' "$sums" | sed 's/dim T = ROUNDS/dim T <= 24/' >"$work/sums.expr"
for rounds in 1 2 4 24; do
  "$NEOC" run "$work/sums.expr" "x=random:3:[$rounds,64]" -o "$work/code.npz" >/dev/null || fail "sums of $rounds rounds"
  "$NEOC" run "$work/sums.expr" "x=random:3:[$rounds,64]" --interp -o "$work/interp.npz" >/dev/null || fail "sums of $rounds rounds"
  python3 "$work/compare.py" "$work" $((64 * 3 + 1)) || fail "sums of $rounds rounds differ"
done

# what reads a large recurrence round by round runs in its loops, sums over its rounds too: nothing is stacked
cat >"$work/large.expr" <<'END'
dim T = 2000
input k[T, 600, 16]
input c[T, 16]
h[t, i, n] = k[t, i, n]*(h[t - 1, i, n] else 0) + c[t, n]
y[t, i] = sum[n] h[t, i, n]*c[t, n]
g[i, n] = sum[t] h[t, i, n]^2
output y, g
END
"$NEOC" explain --groups "$work/large.expr" | grep -q '^  slices *h$' || fail "a large recurrence is stacked for who reads it by rounds"
sed 's/T = 2000/T = 7/; s/600/9/' "$work/large.expr" >"$work/few.expr"
"$NEOC" explain --groups "$work/few.expr" | grep -q '^  slices *h$' && fail "what reads a small recurrence runs in its loops"
"$NEOC" verify "$work/few.expr" >"$work/out" 2>&1 || { cat "$work/out" >&2; fail "few: other values"; }

# what only a recurrence reads, a round at a time, is made for blocks of rounds where it would go to memory: one
# after the other and beside each other, where the last block is shorter, the rounds run down, or something else
# reads it, too
printf 'neo-profile 1\nmachine = x86-64-v2\nfirst_bytes = 1024\ncached_bytes = 1024\n' >"$work/small.profile"
cat >"$work/led.expr" <<'END'
dim T = 800
input X[T, 4, 12]
input W[12, 20]
input U[20, 20]
e[t, b, i] = exp(0.1*X[t, b, i])
h = scan t < T from h[b < 4, j < 20] = 0.5 {
  next h[b, j] = tanh(0.1*(sum[i] e[t, b, i]*W[i, j]) + 0.1*(sum[k] h[b, k]*U[k, j]))
}
output h
END
led() {
  "$NEOC" explain --groups "$@" --mcpu=x86-64-v2 --profile="$work/small.profile" "$work/led.expr" | grep -q '^  slices *partial'
}
same() {
  "$NEOC" verify "$@" --mcpu=x86-64-v2 --profile="$work/small.profile" "$work/led.expr" >"$work/out" 2>&1 ||
    { cat "$work/out" >&2; fail "blocks that others lead: other values ($*)"; }
}
for rounds in 192 197 200 331 800; do
  led -DT=$rounds || fail "a product of $rounds rounds is stacked"
  same -DT=$rounds
done
led -DT=30 && fail "few rounds are in blocks"
for rounds in 331 8000; do
  "$NEOC" compile -DT=$rounds --mcpu=x86-64-v2 --profile="$work/small.profile" "$work/led.expr" -o "$work" --emit=json >/dev/null || fail led
  bytes=$(grep -o '"\(frame\|scratch\)_bytes": [0-9]*' "$work/led.json" | awk '{n += $2} END {print n}')
  [ "$bytes" -le 90000 ] || fail "$bytes bytes in memory for $rounds rounds, one of which others lead"
done
sed -i 's/scan t < T from/scan t < T down from/' "$work/led.expr"
led -DT=197 || fail "a product is stacked where rounds run down"
same -DT=197
sed -i 's/dim T = 800/dim T <= 200/' "$work/led.expr"
led || fail "a product of a number of rounds that is not known is stacked"
same --size=T=77
same --size=T=1
sed -i 's/dim T.*/dim T = 197/; s/^output h/output h, e/' "$work/led.expr"
"$NEOC" explain --groups --mcpu=x86-64-v2 --profile="$work/small.profile" "$work/led.expr" | grep -q '^  slices *e$' &&
  fail "what is wanted as a whole is made for blocks"
same

# a forward entry beside one with the gradient keeps nothing for it
printf '%s\n' 'dim T = 40' 'input x[T, 64]' 'h[t < T, i < 64] = tanh(0.5*(h[t-1, i] else 0) + x[t, i])' \
  'last[i] = h[T-1, i]' 'value = sum[i] last[i]^2' 'dx = grad(value, x)' 'output forward: last' 'output gradient: value, dx' >"$work/two.expr"
"$NEOC" explain --groups "$work/two.expr" | sed '/^group.*in gradient/,$d' | grep -q '^  slices *h$' ||
  fail "a forward entry keeps what the gradient's needs"

# a forward entry has its own recurrence where a round asks whether it trains
printf '%s\n' 'import optim' 'input X[9, 4]' 'param U[4, 4] = 0.3' 'h = scan t < 9 from h[j < 4] = 0.5 {' \
  '  a[j] = tanh(X[t, j] + sum[k] h[k]*U[k, j])' '  b[j] = select(training, 0.5*a[j], a[j]) + 0.1*h[j]' '  next h = b' '}' \
  'loss = sum[j] h[j]^2' 'output h' 'train loss using optim.sgd(lr = 0.1)' >"$work/asks.expr"
sed 's/select(training, 0.5\*a\[j\], a\[j\])/a[j]/' "$work/asks.expr" >"$work/plain.expr"
for model in asks plain; do
  "$NEOC" run "$work/$model.expr" X=ones:[9,4] >"$work/$model" || fail "$model"
done
cmp -s "$work/asks" "$work/plain" || fail "a round that asks whether it trains has other values forward"

# what a run-time case does not choose is not computed: kernels ask, and the values are those of the interpreter
cat >"$work/case.expr" <<'END'
dim T = 9
input x[T, 8]
input k[8, 8]
input u
far = u > 0.5
y = case far {
  true {
    h = scan t < T from h[i < 8] = 0 { next h[i] = log(u)*tanh(x[t, i] + sum[j] h[j]*k[j, i]) }
    y = h
  }
  else {
    g[t, i] = sqrt(abs(sum[j] x[t, j]*k[j, i]) - u)
    y[i] = sum[t] g[t, i]
  }
}
value = sum[i] y[i]^2
dx, dk = grad(value, x, k)
output y, value, dx, dk
END
"$NEOC" explain --kernels "$work/case.expr" >"$work/out"
grep -q '^ *if far\[0\]$' "$work/out" && grep -q '^ *if not far\[0\]$' "$work/out" || fail "kernels of branches ask for nothing" "$work/out"
for u in 0.9 -0.3; do
  "$NEOC" run "$work/case.expr" x=random:1:[9,8] k=random:2:[8,8] u=$u -o "$work/code.npz" >/dev/null || fail "a branch with u = $u"
  "$NEOC" run "$work/case.expr" x=random:1:[9,8] k=random:2:[8,8] u=$u --interp -o "$work/interp.npz" >/dev/null || fail "a branch with u = $u"
  python3 "$work/compare.py" "$work" 145 || fail "a branch with u = $u has other values"
done

# after the iteration in which its condition fails, a while ends
cat >"$work/leaves.expr" <<'END'
input x[40]
input y[40]
input tol
a, b, e, n = while e > tol limit 50 from a[i < 40] = x[i], b[i < 40] = y[i], e = 1.0, n : i32 < 99 = 0 {
  m[i] = exp(-0.5*(a[i] + b[i]))
  next a = b, b = m, e = max[i] abs(m[i] - b[i]), n = min(n + 1, 98)
}
count = f32(n)
left = f32(a.rounds)
output b, e, count, left
END
"$NEOC" explain --kernels "$work/leaves.expr" >"$work/out"
grep -q '^for r_2 in .* while .*a\.alive\[' "$work/out" || fail "a while computes all of its rounds" "$work/out"
for tol in 2 0.3 0.01 1e-4 -1; do
  "$NEOC" run "$work/leaves.expr" x=random:1:[40] y=random:2:[40] tol=$tol -o "$work/code.npz" >/dev/null || fail "a while with tol = $tol"
  "$NEOC" run "$work/leaves.expr" x=random:1:[40] y=random:2:[40] tol=$tol --interp -o "$work/interp.npz" >/dev/null || fail "a while with tol = $tol"
  python3 "$work/compare.py" "$work" 43 || fail "a while with tol = $tol has other values"
done

# so does one in a scan, with what its condition does not depend on, and what it collects
cat >"$work/inner.expr" <<'END'
dim N = 12
input x[N]
input k[N]
input tol
h, q, c = scan t < 5 from h = x, q = k, c = 0.0 {
  y, e, n, p, ds = while e > tol limit 60 from y = h, e = 1.0, n : i32 = 0, p = q {
    d[i] = y[i] - 0.5*sin(y[i]) - k[i]
    next y[i] = y[i] - 0.5*d[i], e = max[i] abs(d[i]), n = n + 2, p[i] = 0.5*p[i] + 0.3*p[N - 1 - i]*y[i]
    collect d
  }
  next h[i] = y[i] + 0.1*h[N - 1 - i], q = p, c = c + f32(n) + f32(y.rounds) + sum[r, i] ds[r, i]
}
output h, q, c
END
"$NEOC" explain --schedule-tree "$work/inner.expr" >"$work/out"
grep -q '^ *exit unless' "$work/out" || fail "a while in a scan runs to its limit" "$work/out"
for tol in 2 0.3 1e-3 -1; do
  "$NEOC" run "$work/inner.expr" x=random:1:[12] k=random:2:[12] tol=$tol -o "$work/code.npz" >/dev/null || fail "a while in a scan with tol = $tol"
  "$NEOC" run "$work/inner.expr" x=random:1:[12] k=random:2:[12] tol=$tol --interp -o "$work/interp.npz" >/dev/null || fail "a while in a scan with tol = $tol"
  python3 "$work/compare.py" "$work" 25 || fail "a while in a scan with tol = $tol has other values"
done

# one that trains ends early forward, and begins late backward
for limit in 1 3 500; do
  cat >"$work/trains.expr" <<END
input x[12]
input k[12]
input tol
fn solve(u[I], k[I]) -> y {
  y, _ = while e > tol limit $limit from y = u, e = 1.0 {
    d[i] = y[i] - 0.5*sin(y[i])*k[i] - u[i]
    next y[i] = y[i] - 0.7*d[i], e = max[i] abs(d[i])
  }
}
h = scan t < 5 from h = x { next h = solve(h, k) }
v = solve(x, k)
value = sum[i] h[i]^2 + sum[i] v[i]
dx, dk = grad(value, x, k)
output value, dx, dk
END
  if [ $limit = 500 ]; then
    "$NEOC" explain --schedule-tree "$work/trains.expr" >"$work/out"
    grep -q '^ *exit unless' "$work/out" || fail "a while that trains runs to its limit forward" "$work/out"
    grep -q '^ *guard (h.*alive' "$work/out" || fail "a while that trains begins at its limit backward" "$work/out"
  fi
  for tol in 2 0.3 1e-4 -1; do
    "$NEOC" run "$work/trains.expr" x=random:1:[12] k=random:2:[12] tol=$tol -o "$work/code.npz" >/dev/null || fail "a while that trains with tol = $tol"
    "$NEOC" run "$work/trains.expr" x=random:1:[12] k=random:2:[12] tol=$tol --interp -o "$work/interp.npz" >/dev/null || fail "a while that trains with tol = $tol"
    python3 "$work/compare.py" "$work" 25 || fail "a while that trains with limit $limit, tol = $tol has other values"
  done
done

# a product over its iterations, as the gradient of a matrix is, has the terms of those that ran, at any depth
for depth in 1 2 3; do
  case $depth in
  1) loops='h = solve(x, W)' ;;
  2) loops='h = scan t < 5 from h = x { next h = solve(h, W) }' ;;
  3) loops='h = scan s < 3 from h = x {
  g = scan t < 4 from g = h { next g = solve(g, W) }
  next h[i] = g[i] + 0.1*h[i]
}' ;;
  esac
  for limit in 1 100; do
    cat >"$work/matrix.expr" <<END
dim N = 12
input x[N] : f64
input W[N, N] : f64
input tol : f64
fn solve(u[I], W[I, I]) -> y {
  y, _ = while e > tol limit $limit from y = u, e : f64 = 1.0 {
    z[i] = tanh(u[i] + 0.3*(sum[j] W[i, j]*y[j]))
    next y = z, e = max[i] abs(z[i] - y[i])
  }
}
$loops
value = sum[i] h[i]^2
dW, dx = grad(value, W, x)
output value, dW, dx
END
    if [ $limit = 100 ] && [ $depth -gt 1 ]; then
      "$NEOC" explain --schedule-tree "$work/matrix.expr" >"$work/out"
      grep -q '^ *exit unless' "$work/out" || fail "a while with a matrix runs to its limit forward" "$work/out"
      grep -q '^ *guard (.*alive' "$work/out" || fail "a while with a matrix begins at its limit backward" "$work/out"
      "$NEOC" explain --after=trip-counts "$work/matrix.expr" >"$work/out"
      sed -n '/^def.* dW\[/,/^def/p' "$work/out" | grep -q 'r: i64(.*\.rounds\[' || fail "the gradient of a matrix has terms of all iterations" "$work/out"
    fi
    for tol in 2 1e-3 -1; do
      "$NEOC" run "$work/matrix.expr" x=random:1:[12] W=random:2:[12,12] tol=$tol -o "$work/code.npz" >/dev/null || fail "a while with a matrix, tol = $tol"
      "$NEOC" run "$work/matrix.expr" x=random:1:[12] W=random:2:[12,12] tol=$tol --interp --passes=autodiff -o "$work/interp.npz" >/dev/null ||
        fail "a while with a matrix, tol = $tol"
      python3 "$work/compare.py" "$work" 157 || fail "a while with a matrix in $depth loops, limit $limit, tol = $tol has other values"
    done
  done
done

# blocks of rounds, whole and in part: what they compute is what rounds compute
for n in 128 131 167; do
  printf '%s\n' 'import linalg' "dim N = $n" 'input A[N, N] : f64' 'input b[N, 3] : f64' \
    'S[i, j] = A[i, j]/f64(N) + f64(select(i == j, 4.0, 0.0))' 'L = linalg.cholesky(S)' \
    'x = linalg.cholesky_solve(L, b)' 'value = linalg.cholesky_log_det(L) + sum[i, r] x[i, r]^2' \
    'dA, db = grad(value, A, b)' 'output L, x, value, dA, db' >"$work/blocks.expr"
  "$NEOC" verify --full "$work/blocks.expr" >"$work/out" 2>&1 || { cat "$work/out" >&2; fail "blocks: other values for N = $n"; }
done

# 3 wavefronts of 4 elements, and of as many more as one reads behind it
ring wavefront 512 'dim T = ROUNDS
input x[4, T]
output last
D[i < 4, j < T] = x[i, j] + min((D[i-1, j-1] else 0), min((D[i-1, j] else 1), (D[i, j-1] else 1)))
last = D[3, T-1]'

# wavefronts of all directions
"$NEOC" verify "$NEO_SOURCE_DIR/tests/golden/gradcheck/wavefronts.expr" >"$work/out" 2>&1 ||
  { cat "$work/out" >&2; fail "wavefronts: other values"; }

# recurrences share loops only if one order is there for all of them: that each of two has one with a third is not enough
cat >"$work/three.expr" <<'END'
dim N <= 40
input a[6, 4]
input b[N]
first[j < 2, k < 5, l < 3] = sigmoid((a[k, l + 1] else 0) - 0.5*(sum[m < 5] (first[j - 1, m, l] else 0)))
up[n < 5, p < N] = tanh((b[p - 1] else 1) - 0.5*(sum[q < N] tanh((first[q + 2, q - 1, p] else b[0]))*(up[n - 1, q] else 0)) +
  0.25*(up[n, p + 1] else 1))
down[r < 5, s < 2] = (first[1, r, s - 1] else 0.5) + 0.5*(down[r + 1, s] else 0) - 0.25*(down[r, s + 1] else 0)
output up, down
END
for passes in --passes=autodiff --passes= ''; do
  "$NEOC" verify "$work/three.expr" $passes >"$work/out" 2>&1 || fail "recurrences over a third: other values ($passes)" "$work/out"
done

# every round is wanted: the stack stays
printf '%s\n' 'dim T = 20' 'input x[T, 64]' 'output r, first' 'r[t < T, i < 64] = x[t, i] + 0.5*(r[t+1, i] else 0)' \
  'first[i] = r[0, i]' >"$work/all.expr"
"$NEOC" verify "$work/all.expr" >"$work/out" 2>&1 || { cat "$work/out" >&2; fail "all: other values"; }
exit $status

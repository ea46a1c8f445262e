#!/bin/sh
# Carries of loops move no data: no kernel stores an element of one tensor, unchanged, in another.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

# moves_nothing NAME TEXT
moves_nothing() {
  printf '%s\n' "$2" >"$work/$1.expr"
  "$NEOC" explain --kernels "$work/$1.expr" >"$work/$1.kernels" 2>"$work/out" || { cat "$work/out" >&2; fail "$1"; return; }
  copies=$(python3 "$NEO_SOURCE_DIR/tests/carry_copies.py" <"$work/$1.kernels" 2>"$work/out")
  [ "$copies" = 0 ] || { cat "$work/out" >&2; fail "$1: $copies copies"; }
  "$NEOC" verify "$work/$1.expr" >"$work/out" 2>&1 || { cat "$work/out" >&2; fail "$1: other values"; }
}

# x^5*y
moves_nothing power 'input x[64]
input y[64]
v, k = while k < 5 limit 10 from v[i < 64] = y[i], k = 0 {
  next v[i] = v[i]*x[i], k = k + 1
}
output v'

# a convolution, five times
moves_nothing convolution 'import nn
input x[1, 8, 16, 16]
param F[8, 8, 3, 3] = 0.1
y = scan t < 5 from y = x { next y = nn.conv2d(y, F, pad = 1) }
output y'

# a carry that takes the value of another, which is that of a round before
moves_nothing chain_of_two 'dim T <= 100
dim N = 64
input x[N]
input z[N]
input u[T, N]
a, b = scan t < T from a[i < N] = x[i], b[i < N] = z[i] {
  n[i] = tanh(a[i]) + u[t, i]
  next a = b, b = n
}
output a, b'

moves_nothing chain_of_three 'dim T <= 100
dim N = 64
input x[N]
input u[T, N]
a, b, c = scan t < T from a[i < N] = x[i], b[i < N] = 2*x[i], c[i < N] = 3*x[i] {
  n[i] = tanh(a[i]*c[i]) + u[t, i]
  next a = b, b = c, c = n
}
output a, b, c'

# carries that change places: their first values in turn
moves_nothing places 'dim T <= 100
dim N = 64
input x[N]
input z[N]
input u[T, N]
a, b = scan t < T from a[i < N] = x[i], b[i < N] = z[i] {
  n[i] = tanh(b[i]) + u[t, i]
  next a = b, b = a
}
output a, b'

# a carry that is a part of another
moves_nothing offset 'dim T <= 50
input x[64]
input u[T, 64]
a, b = scan t < T from a[i < 64] = x[i], b[i < 64] = 0 {
  n[i] = tanh(b[i]) + u[t, i]
  next a[i] = n[i], b[i] = (a[i + 1] else 0)
}
output a, b'

# a loop in a loop
moves_nothing nested 'dim T = 20
input x[64]
input w[64]
a, b = scan t < T from a[i < 64] = x[i], b[i < 64] = 0 {
  c, d = scan s < 3 from c = a, d = b {
    n[i] = tanh(c[i])*w[i] + d[i]
    next c = d, d = n
  }
  next a = d, b = c
}
output a, b'

# as many rounds as it takes
moves_nothing while_chain 'input x[4096]
input y[4096]
input tol
a, b, e = while e > tol limit 50 from a[i < 4096] = x[i], b[i < 4096] = y[i], e = 1.0 {
  n[i] = 0.5*(a[i] + b[i])
  next a = b, b = n, e = max[i] abs(n[i] - b[i])
}
output b'

# gradients
moves_nothing while_gradient 'import optim
input x[64]
param y[64] = 0.5
v, k = while k < 5 limit 10 from v[i < 64] = y[i], k = 0 {
  next v[i] = v[i]*x[i], k = k + 1
}
loss = sum[i] v[i]
train loss using optim.sgd(lr = 0.1)'

moves_nothing case_gradient 'import optim
dim T <= 30
input x[T, 64]
input kind[T] : i32 < 2
param y[64] = 0.5
a, b = scan t < T from a[i < 64] = y[i], b[i < 64] = 1 {
  n = case kind[t] {
    0 { n[i] = a[i]*x[t, i] }
    1 { n[i] = tanh(a[i] + b[i]) }
  }
  next a = b, b = n
}
loss = sum[i] a[i]*b[i]
train loss using optim.sgd(lr = 0.1)'

moves_nothing chain_gradient 'import optim
dim T <= 30
input u[T, 64]
param y[64] = 0.5
a, b, c = scan t < T from a[i < 64] = y[i], b[i < 64] = 2*y[i], c[i < 64] = 3*y[i] {
  n[i] = tanh(a[i]*c[i]) + u[t, i]
  next a = b, b = c, c = n
}
loss = sum[i] (a[i]*b[i] + c[i])
train loss using optim.sgd(lr = 0.1)'

# nested DEPTH N: a chain of loops in one another, the innermost of N iterations
nested() {
  case $1 in
    1) printf 'input x[20000]\nu = scan r < %s from u[i < 20000] = x[i] { next u[i] = 0.5*u[i] + x[i] }\noutput u\n' "$2" ;;
    2) printf 'input x[20000]
h = scan t < 4 from h[i < 20000] = 0 {
  u = scan r < %s from u[j < 20000] = h[j] { next u[j] = 0.5*u[j] + x[j] }
  next h[i] = 0.5*u[i]
}
output h
' "$2" ;;
    3) printf 'input x[20000]
h = scan t < 3 from h[i < 20000] = 0 {
  g = scan s < 4 from g[i < 20000] = h[i] {
    u = scan r < %s from u[j < 20000] = g[j] { next u[j] = 0.5*u[j] + x[j] }
    next g[i] = u[i] + x[i]
  }
  next h[i] = 0.5*g[i]
}
output h
' "$2" ;;
  esac
}

frame_of() { "$NEOC" describe "$1" | sed -n 's/.*, frame \([0-9.]* [KMG]*i*B\),.*/\1/p' | head -1; }

# Memory of loops in loops does not depend on how many iterations there are, and no carry is copied.
for depth in 1 2 3; do
  for n in 5 50; do
    nested $depth $n >"$work/nest$n.expr"
    frame_of "$work/nest$n.expr" >"$work/frame$n" 2>"$work/out" || { cat "$work/out" >&2; fail "nested $depth $n"; }
  done
  [ -s "$work/frame5" ] || fail "nested $depth: no frame"
  cmp -s "$work/frame5" "$work/frame50" || fail "nested $depth: $(cat "$work/frame5") and $(cat "$work/frame50")"
  moves_nothing "nested$depth" "$(nested $depth 6)"
done

# Carries that change places in loops in one another, each of which begins with what the iteration before ended with, need
# three vectors of 4 MiB at every depth: two carries, and one that is written.
swaps="$NEO_SOURCE_DIR/tools/benchmarks/models/recurrences/nested.expr"
moves_nothing swaps "$(sed 's/1048576/4096/' "$swaps")"
for R in 2 5 50; do
  "$NEOC" describe --define=R=$R "$swaps" >"$work/described" 2>"$work/out" || { cat "$work/out" >&2; fail "swaps $R"; }
  sed -n 's/.*steps, frame \([0-9.]*\) \([KM]*\)i*B,.*/\1 \2/p' "$work/described" |
    awk '{ mib = $2 == "M" ? $1 : $1/1024; n++; if (mib > 12) over = 1 } END { exit over || n != 3 }' ||
    { cat "$work/described" >&2; fail "swaps $R: over 12 MiB"; }
done

# The same of loops of which the iterations are known at run time.
moves_nothing continued 'dim R <= 30
dim S <= 7
input z[R]
input y[S]
input x[64]
v = scan s < S from a = x {
  c = scan r < R from c = a { next c[i] = 0.5*c[i] - z[r]*y[s] }
  next a = c
}
output v'

# A loop that ends early and begins with what its last run ended with shares a buffer with the loop around it.
cat >"$work/settles.expr" <<'END'
input x[50] : f64
input tol : f64
h = scan t < 6 from h = x {
  y, e = while e > tol limit 40 from y = h, e = f64(1) {
    z[i] = 0.5*y[i] + 0.25*y[(i + 1) % 50]
    next y = z, e = max[i] abs(z[i] - y[i])
  }
  next h = y
}
output h
END
"$NEOC" explain --schedule-tree "$work/settles.expr" >"$work/out" 2>&1
grep -q '^store .*(d0 \* 40 + d1) % 2' "$work/out" || { cat "$work/out" >&2; fail "settles: no shared buffer"; }
grep -q 'exit unless' "$work/out" || { cat "$work/out" >&2; fail "settles: runs to its limit"; }
for tol in 0.5 0.05 0.001 0; do
  for how in code interp; do
    "$NEOC" run "$work/settles.expr" x=random:1 "tol=$tol" $([ $how = code ] || echo --interp) -o "$work/$how.npz" >"$work/out" 2>&1 ||
      { cat "$work/out" >&2; fail "settles: tol = $tol"; }
  done
  cmp -s "$work/code.npz" "$work/interp.npz" || fail "settles: tol = $tol: other values"
done

exit $status

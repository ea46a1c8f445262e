#!/bin/sh
# Recurrences of any body need about the root of their iterations with --memory=small: several carries, of several shapes and
# types, branches, conditions, loops in loops, of sizes known early or late. Gradients of loops in loops have the same bits.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

# bytes MODEL OPTION...: of a training step, with what its kernels have beside the plan
bytes() {
  planned "$@"
  echo $(($(field step frame_bytes) + $(sed -n 's/.*"scratch_bytes": *\([0-9]*\).*/\1/p' "$plan" | head -1)))
}

# root NAME: 16 times the iterations take at most 4.5 times the memory, and 1024 of them a sixth of what they keep. On stdin: what
# is after the head.
root() {
  { printf 'import optim\ndim T = 1024\n'; cat; printf 'train L using optim.sgd(lr = 0.1)\n'; } >"$1.expr"
  all=$(bytes "$1.expr")
  small=$(bytes "$1.expr" --memory=small)
  many=$(bytes "$1.expr" --memory=small -DT=16384)
  [ $((6 * small)) -le "$all" ] || fail "$1: $small of $all bytes"
  [ $((2 * many)) -le $((9 * small)) ] || fail "$1: $small bytes for 1024 iterations, $many for 16384"
  for rounds in ${2:-1 37}; do
    timeout 300 "$NEOC" verify -q "$1.expr" --memory=small -DT="$rounds" >out 2>&1 || fail "$1: other values of $rounds" out
  done
}

root shapes <<'END'
input X[T, 8]
param U[8, 8] = uniform(-0.4, 0.4)
h, M, s = scan t < T from h[j < 8] = 0.1, M[i < 8, k < 3] : f64 = 0.2, s = 1.0 {
  n[j] = tanh(X[t, j] + sum[i] h[i]*U[i, j] + s)
  next h = n
  next M[i, k] = 0.9*M[i, k] + f64(n[i])*tanh(M[i, 2 - k])
  next s = 0.5*s + sum[i] n[i]*0.01
}
L = sum[j] h[j]^2 + f32(sum[i, k] M[i, k]) + s
END
root label <<'END'
input u[T, 8]
param y[8] = 0.5
a, k = scan t < T from a[i < 8] = y[i], k : i32 < 3 = 0 {
  n = case k {
    0 { n[i] = a[i]*u[t, i] }
    1 { n[i] = tanh(a[i]) }
    else { n[i] = sin(a[i]) + u[t, i] }
  }
  next a = n, k = (k + 1) % 3
}
L = sum[i] a[i]^2
END
root condition <<'END'
input x[8]
param U[8, 8] = uniform(-0.4, 0.4)
y = while (sum[i] h[i]^2) > 0.001 limit T from h = x {
  next h[j] = 0.99*tanh(sum[i] h[i]*U[i, j] + 0.5*h[j])
}
L = sum[j] y[j]^2
END
# the inner loop begins with what the outer one carries, or anew
root nested <<'END'
dim S = 9
input X[T, S, 8]
param U[8, 8] = uniform(-0.4, 0.4)
h = scan t < T from h[j < 8] = 0.1 {
  k = scan s < S from k = h { next k[j] = tanh(X[t, s, j] + sum[i] k[i]*U[i, j]) }
  next h[j] = tanh(k[j] + h[j])
}
L = sum[j] h[j]^2
END
root anew <<'END'
dim S = 9
input X[T, S, 8]
param U[8, 8] = uniform(-0.4, 0.4)
h = scan t < T from h[j < 8] = 0.1 {
  k = scan s < S from k[j < 8] = 0.5 { next k[j] = tanh(X[t, s, j] + sum[i] k[i]*U[i, j]) }
  next h[j] = tanh(k[j] + h[j])
}
L = sum[j] h[j]^2
END
root inner_condition <<'END'
input X[T, 8]
param U[8, 8] = uniform(-0.4, 0.4)
h = scan t < T from h[j < 8] = 0.1 {
  k = while (sum[i] k[i]^2) > 0.1 limit 7 from k = h { next k[j] = 0.7*tanh(X[t, j] + sum[i] k[i]*U[i, j]) }
  next h[j] = tanh(k[j] + h[j])
}
L = sum[j] h[j]^2
END
# the inner loop is the long one
root inner <<'END'
dim S = 9
input X[S, T, 8]
param U[8, 8] = uniform(-0.4, 0.4)
h = scan t < S from h[j < 8] = 0.1 {
  k = scan s < T from k = h { next k[j] = tanh(X[t, s, j] + sum[i] k[i]*U[i, j]) }
  next h[j] = tanh(k[j] + h[j])
}
L = sum[j] h[j]^2
END
root handed_on <<'END'
dim S = 9
input X[S, T, 8]
param U[8, 8] = uniform(-0.4, 0.4)
h = scan t < S from h[j < 8] = 0.1 {
  k = scan s < T from k = h { next k[j] = tanh(X[t, s, j] + sum[i] k[i]*U[i, j]) }
  next h = k
}
L = sum[j] h[j]^2
END
root three <<'END'
dim S = 5
dim R = 4
input X[T, S, 8]
param U[8, 8] = uniform(-0.4, 0.4)
h = scan t < T from h[j < 8] = 0.1 {
  k = scan s < S from k = h {
    m = scan r < R from m = k { next m[j] = tanh(X[t, s, j] + sum[i] m[i]*U[i, j]) }
    next k[j] = 0.5*m[j] + X[t, s, j]
  }
  next h[j] = tanh(k[j] + h[j])
}
L = sum[j] h[j]^2
END

# Sums of small integers have the same bits in any order.
same_bits() { # SEED DEPTH SIZE...
  seed=$1 depth=$2
  shift 2
  python3 "$NEO_SOURCE_DIR/tests/nested_loops.py" "$seed" "$depth" "$@" >drawn.expr
  set -- --grad=w $(sed -n 's/^input \([A-Za-z0-9]*\)\[.*/\1=random:'"$seed"'/p' drawn.expr)
  for memory in fast small; do
    timeout 300 "$NEOC" run drawn.expr "$@" --memory=$memory -o "$memory.npz" >out 2>&1 || { fail "seed $seed, depth $depth" out; return; }
  done
  cmp fast.npz small.npz || fail "seed $seed, depth $depth: other bits" drawn.expr
}
seeds='2 3 5'
[ -z "${NEO_TEST_LONG:-}" ] || seeds=$(seq 1 60)
for seed in $seeds; do
  for sizes in '0 5' '1 1' '1 700' '400 3' '7 0' '20 37'; do
    same_bits "$seed" 2 $sizes
  done
  for sizes in '0 2 3' '2 0 3' '1 1 1' '60 2 2' '2 3 200' '5 60 2'; do
    same_bits "$seed" 3 $sizes
  done
done
exit $status

#!/bin/sh
# Values that arms of a run-time case save in each iteration of a loop for the gradient share the memory of the largest arm, whatever
# the shapes of what the others save; so it is in loops in loops. Values are those of memories that are apart.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

# bytes MODEL OPTION...: of a training step
bytes() {
  "$NEOC" compile "$@" -o "$work" --emit=json >out 2>&1 || die "compile $*" out
  python3 - "$work/$(basename "$1" .expr).json" <<'PY'
import json, sys
print(next(e["frame_bytes"] for e in json.load(open(sys.argv[1]))["entries"] if e["name"] == "step"))
PY
}

# arms NAME ARM...: a loop whose case has these arms; the label of each iteration is k[t].
arms() {
  name=$1
  shift
  {
    printf 'import optim\ndim T = 64\ninput X[T, 8]\ninput k[T] : i32 < 4\n'
    printf 'param U[8, 24] = uniform(-0.4, 0.4)\nparam Q[24, 8] = uniform(-0.4, 0.4)\nparam V[6, 8] = 0.3\n'
    printf 'h = scan t < T from h[j < 8] = 0.1 {\n  y = case k[t] {\n'
    label=0
    for arm; do
      [ $((label + 1)) = $# ] && printf '    else {' || printf '    %s {' "$label"
      printf '%s}\n' "$arm"
      label=$((label + 1))
    done
    printf '  }\n  next h[j] = y[j] + 0.1*X[t, j]\n}\nL = sum[j] h[j]^2\ntrain L using optim.sgd(lr = 0.1)\n'
  } >"$name.expr"
}
wide='
      m[i < 24] = tanh(sum[j] h[j]*U[j, i])
      n[i < 24] = sin(sum[j] m[(i + j) % 24]*U[j, i])
      y[j < 8] = sum[i] m[i]*n[i]*Q[i, j]
    '
square='
      m[a < 6, j < 8] = tanh(V[a, j]*h[j] + X[t, j])
      y[j < 8] = sin(sum[a] m[a, j]*m[(a + 1) % 6, j])
    '
long='
      m[a < 6, b < 8, j < 8] = tanh(V[a, b]*h[j] + X[t, b])
      y[j < 8] = 0.1*sum[a, b] m[a, b, j]*m[a, (b + 1) % 8, j]
    '
plain='
      y[j < 8] = tanh(h[j])
    '
arms largest "$long" "$plain"
arms all "$wide" "$square" "$plain" "$long"
one=$(bytes largest.expr)
four=$(bytes all.expr)
[ $((10 * four)) -le $((13 * one)) ] || fail "four arms take $four bytes, the largest alone $one"
for rounds in 1 2 37; do
  timeout 300 "$NEOC" verify -q all.expr -DT="$rounds" >out 2>&1 || fail "other values of $rounds iterations" out
done

# in a loop in a loop, by labels of both
cat >nested.expr <<'EXPR'
import optim
dim T = 20
dim R = 6
input X[T, R, 8]
input k[T, R] : i32 < 3
param U[8, 24] = uniform(-0.4, 0.4)
param Q[24, 8] = uniform(-0.4, 0.4)
param V[6, 8] = 0.3
h = scan t < T from h[j < 8] = 0.1 {
  g = scan r < R from g = h {
    y = case k[t, r] {
      0 {
        m[i < 24] = tanh(sum[j] g[j]*U[j, i])
        y[j < 8] = sum[i] m[i]*m[(i + 1) % 24]*Q[i, j]
      }
      1 {
        m[a < 6, b < 8, j < 8] = tanh(V[a, b]*g[j] + X[t, r, b])
        y[j < 8] = 0.1*sum[a, b] m[a, b, j]*m[a, (b + 1) % 8, j]
      }
      else { y[j < 8] = 0.5*g[j] }
    }
    next g[j] = y[j] + 0.1*X[t, r, j]
  }
  next h[j] = 0.5*h[j] + g[j]
}
L = sum[j] h[j]^2
train L using optim.sgd(lr = 0.1)
EXPR
sed 's/^      0 {/      7 {/; s/i32 < 3/i32 < 8/; s/m\[i < 24\] = tanh(sum\[j\] g\[j\]\*U\[j, i\])/m[i < 24] = U[0, i]/' nested.expr >nested_one.expr
all=$(bytes nested.expr)
one=$(bytes nested_one.expr)
[ $((10 * all)) -le $((13 * one)) ] || fail "in a loop in a loop: $all bytes, the largest alone $one"
timeout 300 "$NEOC" verify -q nested.expr >out 2>&1 || fail "in a loop in a loop: other values" out
timeout 300 "$NEOC" verify -q nested.expr -DT=1 -DR=1 >out 2>&1 || fail "one iteration: other values" out
exit "$status"

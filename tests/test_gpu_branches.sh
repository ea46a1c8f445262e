#!/bin/sh
# Kernels of a GPU that a run-time `case` may not need ask for its condition and do nothing where it does not hold: products, rows, what
# is in a persistent grid, rounds of a recurrence, and a producer and its consumers, each of them. Values are the interpreter's, whatever
# holds.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
on_emulated_device

model() { # condition
  cat <<END1
import nn
input X[24, 40]
param U[40, 40] = glorot(40, 40)
far = X[0, 0] $1
z = case far {
  true {
    a[b, j] = tanh(sum[i] X[b, i]*U[i, j])
    z[b, j] = sum[i] a[b, i]*U[i, j]
  }
  false { z = nn.softmax(X) }
}
y = case far {
  false {
    h, hs = scan t < 9 from h[b < 24, j < 40] = 0 {
      next h[b, j] = tanh(z[b, j] + (sum[k] h[b, k]*U[k, j]))
      collect h
    }
    y[b, j] = hs[7, b, j]
  }
  true { y[b, j] = X[b, j] }
}
output y, z
END1
}

for holds in '> -1e30' '> 1e30'; do
  model "$holds" >case.expr
  for option in "" --no-fuse=grid; do
    NEO_EMULATOR_SEED=2 "$NEOC" verify case.expr $gpu $option >said 2>&1 || fail "X[0, 0] $holds $option: other values" said
  done
done
"$NEOC" explain case.expr $gpu --kernels >kernels
[ "$(grep -c '^ *if \(not \)\{0,1\}far\[0\]$' kernels)" -ge 4 ] || fail "kernels do not ask for the condition" kernels

# In persistent blocks the producer and the consumers of a tile test the condition.
cat >large.expr <<'END1'
input A[2797, 520] : bf16
input B[520, 3000] : bf16
input far : bool
z = case far {
  true { z[i, j] = sum[k] f32(A[i, k])*f32(B[k, j]) }
  false { z[i, j < 3000] = f32(A[i, j - j/520*520]) }
}
output z
END1
"$NEOC" explain large.expr --target=nvptx:sm_90a --kernels >kernels
grep -q 'persistent 1$' kernels || fail "no block is persistent" kernels
[ "$(grep -c '^    if far\[0\]$' kernels)" -eq 2 ] || fail "a producer or its consumers do not ask for the condition" kernels
"$NEOC" compile -q large.expr --target=nvptx:sm_90a --emit=ptx -o ptx
"$NEO_SOURCE_DIR/tools/ptx_check" ptx/large.ptx >said 2>&1 || fail "a violation in its PTX" said
if command -v ptxas >/dev/null; then
  ptxas -arch=sm_90a -o /dev/null ptx/large.ptx >said 2>&1 || fail "ptxas" said
else
  echo "without ptxas: it is not assembled"
fi
# Threads keep elements of a row in registers from its sum on; where no sum is asked, they read what they need.
for other in 'x[n, d]' 'exp(x[n, d]) + 1'; do
  printf '%s\n' 'dim N <= 9' 'input c[N]' 'input x[N, 64]' \
    "y[n < N, d < 64] = select(c[n] > 0, exp(x[n, d])*(sum[e < 64] exp(x[n, e])*x[n, e]), $other)" 'output y' >rows.expr
  "$NEOC" verify rows.expr $gpu >said 2>&1 || fail "a row without a sum: other values" said
done
exit $status

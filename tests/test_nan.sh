#!/bin/sh
# NaN where nothing is read (a branch not taken, an element that no window covers, a masked
# position, a row that no index names) reaches no gradient: in f32 and f64, in compiled code and in
# the interpreter, in first and second derivatives. Every model plants NaN (`seen` shows it) and
# gives its gradients as g.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

model() { cat >"$1.expr"; }

# of a select, the branch that is not taken; functions outside of their domain
model branches <<'END'
param x[8] : T = 0.5
s[i] : T = select(i % 3 == 1, nan, x[i])
y[i] = select(i % 3 != 1, s[i]^2*exp(s[i]), x[i])
z[i] = select(x[i] > 1, log(x[i] - 1), x[i]) + select(i < 5, x[i], sqrt(-x[i]) / (x[i] - x[i]))
w[i] = max(select(i % 3 == 1, 0, s[i]), 0.1) + clamp(select(i % 3 == 1, 0, 1/s[i]), 0, 1)
loss = sum[i] y[i] + sum[i where i < 5] z[i]*x[i] + sum[i] w[i]^2
seen = sum[i] s[i]
g, gs = grad(loss, x, s)
l2 = sum[i] g[i]^2*x[i] + sum[i where i % 3 != 1] gs[i]^2*s[i]
g2 = grad(l2, x)
output g, gs, g2, seen
END

# the same value twice in a branch: its adjoint is twice what comes in, under the branch's condition
model twice <<'END'
param x[8] : T = 0.5
s[i] : T = select(i % 3 == 1, nan, x[i])
y[i] = select(i % 3 != 1, log(s[i]) + log(s[i]), 0)
z[i] = select(s[i] > 0, 1/s[i] + 1/s[i], x[i])
loss = sum[i] y[i] + sum[i] z[i]*x[i]
seen = sum[i] s[i]
g, gs = grad(loss, x, s)
l2 = sum[i] g[i]^2*x[i] + sum[i where i % 3 != 1] gs[i]^2
g2 = grad(l2, x)
output g, gs, g2, seen
END

# a condition of a reduction
for reducer in sum mean max min prod logsumexp; do
  model where_$reducer <<END
param x[4, 6] : T = 0.25
m[i < 4, j < 6] = (i + 2*j) % 3 == 0
s[i, j] : T = select(m[i, j], x[i, j]*T(1 + j), nan)
y[i] = $reducer[j where m[i, j]] s[i, j]*x[i, j]
v[i] = $reducer[j < 6 where j <= i and m[i, j]] exp(s[i, j])*select(m[i, j], s[i, j], 0)
loss = sum[i where any[j] m[i, j]] (y[i]^2 + select(m[i, 0] or i > 1, v[i], 0))
seen = sum[i, j] s[i, j]
g, gs = grad(loss, x, s)
l2 = sum[i, j] g[i, j]^2 + sum[i, j] gs[i, j]^2
g2 = grad(l2, x)
output g, gs, g2, seen
END
done

# elements that no window of a convolution or a pool covers; padding
for p in "1 0 1 1" "2 0 1 1" "3 0 1 2" "3 1 1 2" "4 2 1 3" "2 0 2 2" "3 1 2 2" "5 2 2 3"; do
  set -- $p
  model windows_$1_$2_$3_$4 <<END
param x[2, 2, 11, 13] : T = 0.1
param F[3, 2, $4, $4] : T = 0.2
dim P = (11 + 2*$2 - $3*($4 - 1) - 1)/$1 + 1
dim Q = (13 + 2*$2 - $3*($4 - 1) - 1)/$1 + 1
a[h < 11] = any[p < P, r < $4] $1*p + $3*r - $2 == h and h < 9
b[w < 13] = any[q < Q, r < $4] $1*q + $3*r - $2 == w
s[n, c, h, w] : T = select(a[h] and b[w], x[n, c, h, w], nan)
y[n, k, p < P, q < Q] = sum[c, r, t where $1*p + $3*r - $2 < 9] F[k, c, r, t] *
    (s[n, c, $1*p + $3*r - $2, $1*q + $3*t - $2] else 0)
m[n, c, p < P, q < Q] = max[r < $4, t < $4 where $1*p + $3*r - $2 < 9]
    (s[n, c, $1*p + $3*r - $2, $1*q + $3*t - $2] else -inf)
loss = sum[n, k, p, q] y[n, k, p, q]^2 + sum[n, c, p, q] select(m[n, c, p, q] > -inf, m[n, c, p, q], 0)
seen = sum[h] select(a[h], 0, nan)
g, gs, gF = grad(loss, x, s, F)
l2 = sum[k, c, r, t] gF[k, c, r, t]^2
g2 = grad(l2, F)
output g, gs, gF, g2, seen
END
done

# attention: scores behind a length, or behind the query's own place
model attention <<'END'
dim A = 5
param q[A, 3] : T = 0.3
param v[A, 2] : T = 0.4
param s0[A, A] : T = 0.1
ok[i < A, j < A] = j <= i and j < 4
s[i, j] : T = select(ok[i, j], s0[i, j]*T(i + 1), nan)
u[j, e] : T = select(j < 4, v[j, e], nan)
z[i < A] = logsumexp[j < A where ok[i, j]] s[i, j]
y[i < A, e] = sum[j < A where ok[i, j]] exp(s[i, j] - z[i]) * u[j, e]
loss = sum[i, e] y[i, e]^2*(q[i, e + 1] + q[i, 0])
seen = sum[i, j] s[i, j]
g, gs, gv, gu = grad(loss, q, s0, v, u)
l2 = sum[i, j] gs[i, j]^2 + sum[j, e] gv[j, e]^2
g2 = grad(l2, v)
output g, gs, gv, gu, g2, seen
END

# the same at a size that is packed, the mask by places alone
model causal <<'END'
param v[32, 16] : T = 0.4
param s0[32, 32] : T = 0.1
u[j, e] : T = select(j < 12, v[j, e], nan)
y[i < 32, e] = sum[j < 32 where j <= i] s0[i, j]*u[j, e]
loss = sum[i < 12, e] y[i, e]^2
seen = sum[i, e] y[i, e]
h, gv = grad(loss, s0, v)
g[i < 12, j < 12] = h[i, j]
output g, gv, seen
END

# dropout, lookups, reads with else
model lookups <<'END'
param x[6, 3] : T = 0.3
param R[9, 3] : T = 0.7
const Y[6] : i32 < 9 = [3, 1, 3, 8, 0, 1]
drop[i < 6, j < 3] = rand() < 0.5 and i < 6
d[i, j] : T = select(drop[i, j], nan, x[i, j])
k[i, j] = select(drop[i, j], 0, d[i, j]/0.5)
used[r < 9] = any[i] i64(Y[i]) == r
S[r, j] : T = select(used[r], R[r, j], nan)
e[i, j] = S[Y[i], j]*k[i, j]
o[i, j] : T = select(i < 4, nan, x[i, j])
f[i < 6, j < 3] = (x[i + 2, j] else o[i, j])*(S[i64(Y[i]), j] else o[i, j])
loss = sum[i, j] e[i, j]^2 + sum[i, j] f[i, j]*x[i, j]
seen = sum[i, j] S[i, j] + sum[i, j] o[i, j]
g, gR, gS, go = grad(loss, x, R, S, o)
l2 = sum[i, j] g[i, j]^2 + sum[r, j] gR[r, j]^2
g2, h2 = grad(l2, x, R)
output g, gR, gS, go, g2, h2, seen
END

for model in *.expr; do
  for type in f32 f64; do
    sed "s/: T /: $type /; s/\bT(/$type(/g" "$model" >"typed.model"
    cp typed.model "m.expr"
    for way in "" --interp; do
      what="${model%.expr}, $type${way:+, interpreted}"
      "$NEOC" run $way m.expr >out 2>err || { fail "$what"; cat err >&2; continue; }
      sed -n '/^seen /{n;p}' out | grep -q nan || fail "$what: no NaN was planted"
      sed '/^seen /,$d' out >gradients
      if grep -q nan gradients; then fail "$what: NaN"; cat gradients >&2; fi
      grep -q '[1-9]' gradients || fail "$what: no gradients"
    done
  done
  rm -f m.expr
done
exit $status

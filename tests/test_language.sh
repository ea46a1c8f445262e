#!/bin/sh
# Small programs whose numbers were worked out by hand from the language's reference, in compiled
# code and in the interpreter: an oracle that shares no reading with either.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

# gives WHAT NUMBERS INPUT...: the program on stdin has one output, with these elements.
gives() {
  what=$1
  want=$2
  shift 2
  cat >program.expr
  for how in --compiled --interp; do
    [ $how = --compiled ] && flag= || flag=--interp
    "$NEOC" run program.expr $flag --format=json "$@" >out 2>err || die "$what ($how)" err
    got=$(sed -n 's/.*"values": *\[\([^]]*\)\].*/\1/p' out | tr -d ' ')
    [ "$got" = "$want" ] || fail "$what ($how): $got, not $want"
  done
}

gives "a condition on the winner of each row" 3,3 'v=[3,1,2,8,9,-5]' <<'END'
input v[6]
x[n < 2, t < 3] = v[3*n + t]
a[n] = argmax[t] x[n, t]
s[n] = sum[t where t != a[n]] x[n, t]
output s
END

gives "a collected carry is its new value, before next" 3,5,7,11 'x=[1,2]' <<'END'
input x[2]
y, ys = repeat l < 2 from y = x {
  collect y
  next y[i] = 2*y[i] + 1
}
output ys
END

gives "a collected carry is its new value, behind next" 3,5,7,11 'x=[1,2]' <<'END'
input x[2]
y, ys = repeat l < 2 from y = x {
  next y[i] = 2*y[i] + 1
  collect y
}
output ys
END

gives "a definition that hides a carry is collected as it is" 2,4,6,1e+01 'x=[1,2]' <<'END'
input x[2]
y, ys = repeat l < 2 from y = x {
  next y[i] = 2*y[i] + 1
  y[i] = 2*y[i]
  collect y
}
output ys
END

gives "columns of two heads, by a reshape of sizes of the run" 0,1,4,5,8,9,2,3,6,7,1,2 \
  'x=[[0,1,2,3],[4,5,6,7],[8,9,1,2]]' <<'END'
dim M <= 100
input x[M, 4]
y[j < 4*M] = x[(j/2) % M, 2*((j/2)/M) + j % 2]
output y
END

gives "the remainder of floats is exact, with the sign of the divisor" 1,1,5.5,2,-1,0.75 \
  'x=[13,1e20,5.5,-1,5,0.75]' 'y=[3,3,inf,3,-3,1]' <<'END'
input x[6] : f64
input y[6] : f64
z[i] = x[i] % y[i]
output z
END

gives "its slope along the divisor is minus the floor of the quotient" -4,1,-99,-0 \
  'x=[13,-1,10,2]' 'y=[3,3,0.1,3]' <<'END'
input x[4] : f64
input y[4] : f64
z = sum[i] x[i] % y[i]
g = grad(z, y)
output g
END
gives "the gradient of max(a, b) goes to the NaN that wins, the first of two" 1,0,1,1,0,1 \
  'x=[nan,1,nan]' 'y=[1,nan,nan]' 'o=[1,1,1]' <<'END'
input x[3]
input y[3]
input o[3]
m[i] = max(x[i], y[i])
w[i] = min(x[i], y[i])
gx = grad(m, x, seed = o)
gy = grad(w, x, seed = o)
g[k < 2, i] = select(k == 0, gx[i], gy[i])
output g
END
gives "arithmetic in a subscript and a bound is exact, elsewhere it wraps" 7,1,9,0 \
  'x=[0,1,2,3,4,5,6,7,8]' 'a=[100]' <<'END'
input x[9]
input a[1] : i8
k[i] = (a[i]*a[i]) % 9
y[i] = x[(a[i]*a[i]) % 9]
n[i] = sum[t < clamp(i32(a[i] + 100), 0, 9)] f32(1)
c[i] = x[clamp(i32(i8(a[i] + a[i])), 0, 8)]
got[j < 4] = select(j == 0, f32(k[0]), select(j == 1, y[0], select(j == 2, n[0], c[0])))
output got
END
gives "the gradient of a branch that is not taken is 0, though its value is used twice" 0,2,1,0 \
  'x=[0,1,2,-1]' <<'END'
input x[4]
y = sum[i] select(x[i] > 0, log(x[i]) + log(x[i]), 0)
g = grad(y, x)
output g
END
gives "a product of integers whose condition a copied operand has taken" 5,0 'y=[-1,0]' 'x=[-2]' <<'END'
dim N <= 34
input y[N]
input x[1]
s[i < N] : i64 = sum[i <= t < N, u < N where 2*u < N] i64(y[u])*(i64(y[t]) + i64((x[i] else 0.25)))
output s
END
gives "a definition that reads itself, upwards" 1,2.5,4.25,6.125 'x=[1,2,3,4]' <<'END'
input x[4]
y[n] = x[n] + 0.5*(y[n - 1] else 0)
output y
END
gives "a definition that reads itself, downwards, between two others" -4,6,-2,8 'x=[0,1,2,3]' <<'END'
input x[4]
a[n] = x[n] + 1
y[n] = a[n] - (y[n + 1] else 0)
z[n] = 2*y[n]
output z
END
gives "the distance of two words" 3 's=[10,8,19,19,4,13]' 't=[18,8,19,19,8,13,6]' <<'END'
input s[6] : i32 < 26
input t[7] : i32 < 26
D[i < 7, j < 8] = select(i == 0, f32(j), select(j == 0, f32(i),
    min(D[i - 1, j - 1] + f32(i32(s[i - 1] != t[j - 1])), min(D[i - 1, j], D[i, j - 1]) + 1)))
d = D[6, 7]
output d
END
gives "forward substitution, of a run-time size" 1,2,-1 'L=[[2,0,0],[1,4,0],[3,5,7]]' 'b=[2,9,6]' <<'END'
dim N <= 8
input L[N, N]
input b[N]
x[i < N] = (b[i] - sum[j < i] L[i, j]*x[j]) / L[i, i]
output x
END

gives "the bounds of what is gathered are known of reads" 3,5,7 'G.child=[[-1,-1],[0,-1],[1,0]]' \
  'x=[[1,2,3],[4,5,6],[7,8,9]]' <<'END'
graph G(children <= 2, vertices <= 9)
input x[G.vertices, 3]
vertex pick(x[3]) over G {
  gather at[2] : i32 < 3 = 2
  y = x[at[0]]
  scatter at = (at[0] + at[1]) % 3
  push y
}
y = pick(x)
output y
END

gives "what is converted in a subscript is multiplied in i64" 0,4,7,7 'p=[0,2,3,4]' <<'END'
input p[4] : i32 < 5
z[i < 600] = f32(i/100)
y[v] = (z[u8(p[v])*200] else 7)
output y
END

gives "keys of fewer bits may be negative" 0,0,1,1,2,2 'k=[200,10,200,266,200,10]' <<'END'
dim N <= 2000
input k[N] : i32 < 300
y[v < N] = sum[u < N where u < v and i8(k[u]) == i8(k[v])] 1
output y
END

gives "a remainder of what is given decides which rows have a sum" 0,5,0,9,0 'c=[0,1,2,4,3]' 'x=[[1,1],[2,3],[9,9],[4,5],[9,9]]' <<'END'
input c[5] : i32
input x[5, 2]
y[i] = sum[k where c[i] % 3 == 1] x[i, k]
output y
END
gives "a scan carries a value from round to round" 1,4,11,26 'x=[1,2,3,4]' <<'END'
input x[4]
h, hs = scan t < 4 from h = 0 {
  next h = 2*h + x[t]
  collect h
}
output hs
END

gives "a scan down runs from the end and collects by index" 49,24,11,4 'x=[1,2,3,4]' <<'END'
input x[4]
h, hs = scan t < 4 down from h = 0 {
  collect h
  next h = 2*h + x[t]
}
output hs
END

gives "the last value of a scan down is that of index 0" 49 'x=[1,2,3,4]' <<'END'
input x[4]
h = scan t < 4 down from h = 0 { next h = 2*h + x[t] }
output h
END

gives "carries swap, as next is seen in the next round" 2,1 'x=[1,2]' <<'END'
input x[2]
a, b = scan t < 3 from a = x[0], b = x[1] { next a = b, b = a }
y[i < 2] = select(i == 0, a, b)
output y
END

gives "a chain of three carries moves on by one in each round" 3,5,8 'x=[1,1,2]' <<'END'
input x[3]
a, b, c = scan t < 3 from a = x[0], b = x[1], c = x[2] { next a = b, b = c, c = b + c }
y[i < 3] = select(i == 0, a, select(i == 1, b, c))
output y
END

gives "a scan without rounds gives its first value" 7,8 'x=zeros:[0]' <<'END'
dim 0 <= T <= 4
input x[T]
h = scan t < T from h[i < 2] = 7 + f32(i) { next h[i] = h[i] + x[t] }
output h
END

gives "a carry without next keeps its value" 6,2 'x=[1,2,3]' <<'END'
input x[3]
a, b = scan t < 3 from a = 0, b = 2 { next a = a + b*x[t]/2 }
y[i < 2] = select(i == 0, a, b)
output y
END

gives "a convolution is carried five times" 1,5,1e+01,1e+01,5,1,0,0 'x=[1,0,0,0,0,0,0,0]' <<'END'
input x[8]
y = scan t < 5 from y = x { next y[i] = y[i] + (y[i - 1] else 0) }
output y
END

gives "a scan within a scan starts anew in each round" 2,8,26 'x=[1,1,1]' <<'END'
input x[3]
y, ys = scan t < 3 from y = 0 {
  z = scan u < 2 from z = y { next z = z + y + x[u] }
  next y = z
  collect y
}
output ys
END

gives "a scan in a function that is called at an element" 3,1,2,2 'x=[[1,3,2,1],[0,0,1,0],[2,2,1,0],[1,1,1,2]]' <<'END'
fn most(x[N]) -> y {
  y = scan i < N from y = -inf { next y = max(x[i], y) }
}
input x[4, 4]
y[b] = most(x[b, ..])
output y
END

gives "parameters of a scan are one for all rounds" 3.5 'x=[1,2,3]' <<'END'
input x[3]
h = scan t < 3 from h = 0 {
  param w = 0.5
  next h = h + w*x[t]
}
y = h + h.w
output y
END

for n in 0 1 5; do
  case $n in 0) want=2 ;; 1) want=6 ;; 5) want=486 ;; esac
  gives "a while multiplies x^$n*y" $want x=3 y=2 n=$n <<'END'
input x
input y
input n : i32 < 9
p, m = while m > 0 limit 8 from p = y, m : i32 < 9 = n { next p = p*x, m = max(m - 1, 0) }
output p
END
done

gives "a while ends at its limit, and tells how many rounds it took" 8,3 x=2 <<'END'
input x
p = while true limit 3 from p = 1.0 { next p = p*x }
y[i < 2] = select(i == 0, p, f32(p.rounds))
output y
END

gives "what a while collects is zero where no round ran" 6,18,54,0,0,2,7,3 x=3 <<'END'
input x
p, ps = while p < 20 limit 5 from p = 2.0 {
  next p = p*x
  collect p
}
z[i < 8] = select(i < 5, (ps[i] else 0), select(i == 5, 2, select(i == 6, 7, f32(p.rounds))))
output z
END

gives "rounds that do not run keep the carries, whatever they would compute" 1,0 x=0 <<'END'
input x
v, d = while d > 0.5 limit 4 from v = 1.0, d = x { next v = v/d, d = d - 1 }
y[i < 2] = select(i == 0, v, d)
output y
END

gives "a while in a function that is called at an element" 0,3,1,7 'x=[0,3,1,100]' <<'END'
fn steps(x) -> n {
  y = while y >= 1 limit 7 from y = x { next y = select(y > 50, y, y - 1) }
  n = y.rounds
}
input x[4]
n[i] = steps(x[i])
output n
END

gives "a while within a scan" 1,2,4,8 'x=[1,2,3,7]' <<'END'
input x[4]
l, all = scan t < 4 from last = 0 {
  p = while p < x[t] limit 8 from p = 1.0 { next p = 2*p }
  next last = p
  collect last
}
output all
END

for k in 0 1 2; do
  case $k in 0) want=1,2 ;; 1) want=2,4 ;; 2) want=3,3 ;; esac
  gives "a case takes branch $k" $want k=$k 'x=[1,2]' <<'END'
input k : i32 < 3
input x[2]
y = case k { 0 { y = x } 1 { y[i] = 2*x[i] } 2 { y[i < 2] = 3 } }
output y
END
done

gives "a case in a function of an element" -1,2,-0.5 'x=[-10,2,-5]' <<'END'
fn leaky(x) -> y { y = case x > 0 { true { y = x } false { y = 0.1*x } } }
input x[3]
y[i] = leaky(x[i])
output y
END

gives "a branch that is not taken gives no gradient, whatever its slope is there" -2,0,4 'x=[-1,0,2]' k=1 <<'END'
input k : i32
input x[3]
y = case k {
  0 { a[i < 3] = sqrt(x[i]); y[i] = log(x[i])*(sum[j] a[j]) }
  else { y[i] = x[i]^2 }
}
s = sum[i] y[i]
g = grad(s, x)
output g
END

gives "rounds that do not run give no gradient, whatever their slopes are" 0.5,0 x=4 <<'END'
input x
v, d = while d > 0 limit 9 from v = sqrt(x), d = 2.0 {
  step[i < 3] = v/d
  q = sum[i] step[i]
  next v = select(d > 0, v + q - 3*v/d, q), d = d - 2
}
g = grad(v, x)
y[i < 2] = select(i == 0, 2*g, d)
output y
END

gives "gradients pass through the branch that is taken" 0,9 'x=[1,3]' k=-4 <<'END'
input k : i32
input x[2]
y = case k { -4 { y = x[1]^2*3/2 } 0 { y = x[0] } else { y = 0 } }
g = grad(y, x)
output g
END

gives "a case on the round of a scan" 1e+01,12,13,14 <<'END'
s, all = scan t < 4 from s = 0 {
  a = case t { 0 { a = 10 } 1 { a = 2 } else { a = 1 } }
  next s = s + a
  collect s
}
output all
END

gives "each round of a scan draws anew in a function that it calls" 1 <<'END'
fn draw(x) -> y { y = x + rand() }
n, drawn = scan t < 8 from n = 0 {
  d = draw(1)
  next n = d
  collect d
}
different = i32(any[i, j where i < j] drawn[i] != drawn[j])
output different
END
exit $status

#!/bin/sh
# With --memory the plan of a training step has a few layers of a network, and few slices of what the rounds of a
# recurrence make; the numbers are the same, inference needs no more, and a limit that cannot be met is told.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

lstm_model 2000 >lstm.expr

# of ENTRY NAME OPTION...: bytes of the plan of the entry
of() {
  entry=$1
  shift
  planned "$@"
  field "$entry" frame_bytes
}
bytes() { of step "$@"; }
same() { timeout 300 "$NEOC" verify -q "$@" >out 2>&1 || fail "other values: $*" out; }

# layers of one width, with random numbers, and one that reads an earlier layer
layers_model >layers.expr
sed 's/gelu(z\[b, j\])/gelu(z[b, j])*select(rand() < 0.5, 2.0, 0.0) + y[b, j]/' layers.expr >residual.expr
for model in layers residual; do
  all=$(bytes $model.expr)
  small=$(bytes $model.expr --memory=small)
  [ $((4 * small)) -le "$all" ] || fail "$model: $small of $all bytes"
  limit=$(($(kept $model.expr) / 2))
  half=$(bytes $model.expr --memory=$limit)
  [ "$half" -gt "$small" ] && [ "$half" -lt "$all" ] || fail "$model: $half bytes of $all, at most $limit are kept"
  [ "$(of forward $model.expr --memory=small)" -le "$(of forward $model.expr)" ] || fail "inference of $model needs more"
  # gradients have the same bits
  for memory in "" --memory=small --memory=$limit; do
    "$NEOC" run $model.expr -DL=9 "X=random:3:[256,16]" --grad=y.z.W,y.z.b $memory -o "$work/out$memory.npz" >out 2>&1 || die "run $memory" out
    cmp "$work/out.npz" "$work/out$memory.npz" || fail "$model: other gradients with $memory"
  done
done

# the whole plan is within a tenth of what was kept, the chunk that is at work included
limit=$(($(kept lstm.expr) / 10))
[ "$limit" -gt 300000 ] || fail "a layer of 2000 rounds keeps $limit bytes only"
planned=$(bytes lstm.expr --memory=$limit)
[ "$planned" -le "$limit" ] || fail "$planned bytes are planned, the limit is $limit"
grep -q 'remark\[R0917\]: one iteration in [0-9]* of .* is saved' out || fail "nothing says what is kept" out
small=$(bytes lstm.expr --memory=small)
[ "$small" -le "$planned" ] || fail "--memory=small plans $small bytes, $limit $planned"
# ten times the rounds need about the root of that many times the memory
many=$(bytes lstm.expr --memory=small -DT=20000)
[ "$many" -le $((4 * small)) ] || fail "$small bytes for 2000 rounds, $many for 20000"

# rounds that chunks divide, and rounds that they do not
same lstm.expr --memory=small -DT=36
same lstm.expr --memory=small -DT=37

# two layers in both directions under a head
cat >deep.expr <<'END'
import nn, optim
dim T = 400
dim B = 1
dim H = 2
input X[B, T, H]
input Y[B, T] : i32 < 3
param V[2*H, 3] = 0.1
y, h, c = nn.lstm(X, hidden = H, layers = 2, bidirectional = true)
o[b, t, k] = sum[j] y[b, t, j]*V[j, k]
l[b, t] = (logsumexp[k < 3] o[b, t, k]) - o[b, t, Y[b, t]]
loss = mean[b, t] l[b, t]
train loss using optim.sgd(lr = 0.1)
END
all=$(bytes deep.expr)
small=$(bytes deep.expr --memory=small)
[ $((5 * small)) -le "$all" ] || fail "two layers: $small of $all bytes"
same deep.expr --memory=small -DT=19

# of a length that is known when it runs
sed 's/dim T = 400/dim T <= 400/; s/, bidirectional = true//; s/2\*H/H/' deep.expr >late.expr
all=$(bytes late.expr)
small=$(bytes late.expr --memory=small)
[ $((5 * small)) -le "$all" ] || fail "run-time length: $small of $all bytes"
for rounds in 1 19; do
  same late.expr --memory=small --size=T=$rounds
done

# loops inside of loops, and with a condition: the last round alone is read behind them
cat >nested.expr <<'END'
import optim
dim T = 64
dim S = 9
input X[T, S, 5]
param U[5, 5] = uniform(-0.4, 0.4)
h, g = scan t < T from h[j < 5] = 0.1, g[j < 5] = 0.5 {
  k = scan s < S from k = h {
    next k[j] = tanh(X[t, s, j] + sum[i] k[i]*U[i, j])
  }
  n[j] = 0.5*g[j] + k[j]
  next h[j] = tanh(k[j] + g[j])
  next g = n
}
L = sum[j] h[j]^2 + sum[j] g[j]
train L using optim.sgd(lr = 0.1)
END
cat >while.expr <<'END'
import optim
input x[6]
param U[6, 6] = uniform(-0.4, 0.4)
y = while (sum[i] h[i]^2) > 0.001 limit 90 from h = x {
  next h[j] = 0.9*tanh(sum[i] h[i]*U[i, j] + 0.5*h[j])
}
L = sum[j] y[j]^2 + y[0]
train L using optim.sgd(lr = 0.1)
END
for model in nested while; do
  all=$(bytes $model.expr)
  small=$(bytes $model.expr --memory=small)
  [ $((4 * small)) -le "$all" ] || fail "$model: $small of $all bytes"
  same $model.expr --memory=small
done

# a limit that cannot be met is told, with what is kept then; others are not
cat >plain.expr <<'END'
import nn, optim
dim B = 64
input X[B, 256]
a = nn.linear(X, out = 512)
g[b, j] = tanh(a[b, j])
h = nn.linear(g, out = 7)
loss = mean[b, k] h[b, k]^2
train loss using optim.sgd(lr = 0.1)
END
"$NEOC" compile plain.expr -o "$work" --emit=json --memory=1K >out 2>&1 || die plain out
least=$(kept plain.expr --memory=1K)
grep -q "warning\[W0916\]: entry 'step' saves $least bytes for its backward pass, more than the 1024 that --memory allows" out ||
  fail "a limit below $least bytes is not told" out
"$NEOC" compile plain.expr -o "$work" --emit=json --memory=$least >out 2>&1 || die plain out
grep -q W0916 out && fail "a limit of $least bytes can be met" out
[ $status = 0 ] || cat out >&2
exit $status

#!/bin/sh
# The header of a library with networks: its example compiles as it stands, and runs the training step.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" cc
[ -e "$NEO_BUILD_DIR/lib/libneort.so.0" ] || exit 77
lib=$NEO_BUILD_DIR/lib
include=$NEO_BUILD_DIR/include

cat >net.expr <<'END'
import nn, optim
dim B <= 32
dim T <= 3
input X[B, 4]
input Y[B] : i32 < 2
input scale[T]
h = nn.linear(X, out = 8)
r[b, j] = relu(h[b, j])*(1 + sum[t < T] scale[t])
L = nn.linear(r, out = 2)
loss = nn.cross_entropy(L, Y)
other = mean[b, j] (h[b, j] - 1)^2
output L
train loss using optim.adam(lr = 0.05)
train second: other over h.* using optim.sgd(lr = 0.1)
END
"$NEOC" compile -q net.expr --network -o out || die "compile --network"

# the example of one network as a function's body
example() { # SYMBOL
  sed -n "/^\/\* The network of the entry/,/^extern const neo_rt_net/p" out/net.h |
    awk -v end="extern const neo_rt_net $1;" '/^\/\*/ { text = "" } /^ \*   / { text = text substr($0, 6) "\n" }
      $0 == end { printf "%s", text }'
}
cat >main.c <<END
#include "net.h"
#include <stdio.h>
static float X[32*4], scale[3];
static int32_t Y[32];
static double first(int64_t B, int64_t T) {
$(example net_net)
  return status ? -1 : loss;
}
static double second(int64_t B, int64_t T) {
$(example net_second_net)
  return status ? -1 : loss;
}
int main(void) {
  for (int k = 0; k < 32; k++) {
    Y[k] = k % 2;
    X[4*k] = k % 2 ? 1 : -1;
  }
  printf("%.6f %.6f %.6f\n", first(32, 3), first(16, 1), second(32, 3));
  return NET_NET_N_INPUTS != 3 || NET_NET_N_SIZES != 2 || NET_SECOND_NET_N_INPUTS != 1;
}
END
cc -std=c11 -Wall -Wextra -Werror -Iout -I"$include" main.c -Lout -lnet -L"$lib" -lneort -lm -o main ||
  die "the header's example does not compile" main.c
LD_LIBRARY_PATH=out:$lib ./main >told || die "the header's example fails" told
awk '{ exit !($1 > 0.1 && $1 < 3 && $2 > 0.1 && $2 < 3 && $3 > 0) }' told || fail "losses" told

# ---- what an instance gives is in the header, with its type and range
says out/net.h 'NET_NET_T_Y = [0-9], /\* i32 \[B\] in \[0, 2) \*/' "an input"
says out/net.h 'NET_NET_T_scale = [0-9], /\* f32 \[T\] \*/' "another input"
says out/net.h 'NET_NET_S_B = 0, /\* 1 to 32 \*/' "a size"
"$NEOC" compile -q net.expr -o plain
grep -q neo_net plain/net.h && fail "a library without networks declares some" plain/net.h
if command -v c++ >/dev/null; then
  printf '#include "net.h"\nint main() { return net_net.n_nodes == 0; }\n' >main.cc
  c++ -std=c++17 -Wall -Werror -Iout -I"$include" -fsyntax-only main.cc || fail "the header in C++"
fi

# ---- a model that counts rows itself takes no interval of several instances, which it would count wrongly
cat >counts.expr <<'END'
import optim
dim B <= 8
input x[B, 3]
param W[3] = 1
loss = mean[n] (sum[i] x[n, i]*W[i])^2
train loss using optim.sgd() every 16
END
"$NEOC" compile -q counts.expr --network -o out || fail "a network of a model with every"
cat >counts.c <<'END'
#include "counts.h"
#include <stdio.h>
int main(void) {
  neo_rt_network *n;
  char why[200] = "";
  for (int every = 1; every < 3; every++) {
    printf("%d ", neo_rt_net_create(&counts_net, &(neo_rt_net_config){.every = every}, &n, why, sizeof why) != 0);
    neo_rt_net_destroy(n);
  }
  printf("%s\n", why);
}
END
cc -std=c11 -Iout -I"$include" counts.c -Lout -lcounts -L"$lib" -lneort -lm -o counts || die "counts.c does not compile" counts.c
LD_LIBRARY_PATH=out:$lib ./counts >told
says told "^0 1 the model's .every. decides" "an interval of two instances"
exit $status

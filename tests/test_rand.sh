#!/bin/sh
# The numbers of rand() and of initial values are those that docs/language.md says: its program in
# Python computes them again, for seeds, steps, calls, sites, rounds, reducers and calls at elements.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3

awk '/^```python$/ { on = 1; next } /^```$/ { on = 0 } on' "$NEO_SOURCE_DIR/docs/language.md" >rand.py
grep -q '^def rand(seed, step, call, site, element)' rand.py || die "docs/language.md has no rand()"

cat >m.expr <<'END'
import optim
input x[3, 4]
param W[2, 3] = uniform(-1, 1)
param V[2, 2] = normal(0.5, 2)
fn noisy(x[..]) -> y { y[..] = x[..] + rand() }
fn jitter(s) -> t { t = s + rand() }
a[i, j] = x[i, j] + rand()
y = repeat l < 2 from y = x { next y[i, j] = y[i, j] + rand() }
c = noisy(x)
d = noisy(x)
r = rand()
e[i < 2] = sum[1 <= j < 4] rand()
t[i < 3] = sum[j <= i] rand()
z[i] = jitter(x[i, 0])
w[i, j] = W[i, j]
v[i, j] = V[i, j]
k = f64(step)
loss = sum[i, j] W[i, j]*rand()
dW = grad(loss, W)
n[i < 2] = sum[-1 <= j < 2, -2 <= k < 1] rand()*f32(1 + (j + 1)*3 + k + 2)
o[i < 3] = sum[i - 2 <= j < 2] jitter(0.25*f32(j))
output a, y, c, d, r, e, t, z, w, v, k
output below: n, o
train loss using optim.sgd(lr = 1)
END
seed=81985529216486895 # 0x0123456789abcdef
"$NEOC" run m.expr x=zeros:[3,4] --seed $seed --format=json >compiled.json
"$NEOC" run m.expr x=zeros:[3,4] --seed $seed --format=json --interp >interpreted.json
"$NEOC" run m.expr x=zeros:[3,4] --seed $seed --format=json --grad=W >gradient.json
"$NEOC" run m.expr --entry=below --seed $seed --format=json >compiled_below.json
"$NEOC" run m.expr --entry=below --seed $seed --format=json --interp >interpreted_below.json

cat >check.py <<'END'
import json, math, sys
from rand import rand

seed = 0x0123456789ABCDEF
def u(site, element, step=0, call=0):
    return rand(seed, step, call, site, element)

def normal(i):
    return 0.5 + 2 * math.sqrt(-2 * math.log(1 - u(1, i))) * math.cos(2 * math.pi * u(2, i))

wanted = {
    "w": [-1 + 2 * u(0, i) for i in range(6)],
    "v": [normal(i) for i in range(4)],
    "a": [u(3, i) for i in range(12)],
    "y": [u(4, i) + u(5, i) for i in range(12)],
    "c": [u(6, i) for i in range(12)],
    "d": [u(7, i) for i in range(12)],
    "r": [u(8, 0)],
    "e": [sum(u(9, 4 * i + j) for j in (1, 2, 3)) for i in range(2)],
    "t": [sum(u(10, 3 * i + j) for j in range(i + 1)) for i in range(3)],
    "z": [u(11, i) for i in range(3)],
}
for file in "compiled.json", "interpreted.json":
    outputs = json.load(open(file))["outputs"]
    for name, values in wanted.items():
        found = outputs[name]["values"]
        if any(abs(a - b) > 2e-6 for a, b in zip(found, values, strict=True)):
            sys.exit(f"{file}: {name} is {found}, not {values}")
below = {
    "n": [sum(u(13, 9 * i + m) * (1 + m) for m in range(9)) for i in range(2)],
    "o": [sum(u(14, 4 * i + j + 2) + 0.25 * j for j in range(i - 2, 2)) for i in range(3)],
}
for file in "compiled_below.json", "interpreted_below.json":
    outputs = json.load(open(file))["outputs"]
    for name, values in below.items():
        found = outputs[name]["values"]
        if any(abs(a - b) > 1e-5 for a, b in zip(found, values, strict=True)):
            sys.exit(f"{file}: {name} is {found}, not {values}")
gradient = json.load(open("gradient.json"))["outputs"]["grad:W"]["values"]
if gradient != [u(12, i) for i in range(6)]: # of call 0, whatever ran before
    sys.exit(f"grad:W is {gradient}")
END
python3 check.py || fail "rand() is not as docs/language.md says"

# Later steps and calls of one context.
cat >calls.c <<'END'
#include "drawn.h"
#include <stdio.h>
int main(void) {
  drawn_ctx *ctx;
  float x[12] = {0}, a[12], loss;
  drawn_config config = {.seed = 7};
  if (drawn_create(&config, &ctx))
    return 1;
  for (int i = 0; i < 3; i++)
    if (drawn_forward(ctx, x, a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
      return 2;
  printf("%.17g ", a[5]); /* call 2, step 0 */
  for (int i = 0; i < 2; i++)
    if (drawn_step(ctx, &loss))
      return 3;
  if (drawn_forward(ctx, x, a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    return 4;
  printf("%.17g\n", a[5]); /* call 3, step 2 */
  drawn_destroy(ctx);
  return 0;
}
END
"$NEOC" compile -q m.expr -o out --prefix=drawn --emit=a,h --runtime=static
cc -O1 -o calls calls.c -Iout -I"$NEO_SOURCE_DIR/include" out/libdrawn.a -lm -lpthread -ldl 2>log || die "calls.c" log
./calls >numbers || fail "calls.c: exit code $?"
python3 -c '
from rand import rand
a, b = map(float, open("numbers").read().split())
assert a == rand(7, 0, 2, 3, 5), a
assert b == rand(7, 2, 3, 3, 5), b' || fail "rand() of a later step and call"
exit "$status"

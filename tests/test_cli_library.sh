#!/bin/sh
# The generated library: what it needs, that it is the same whoever makes it where, that models and
# contexts live beside each other, static and for other machines.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" cc
[ -e "$NEO_BUILD_DIR/lib/libneort.so.0" ] || exit 77
lib=$NEO_BUILD_DIR/lib
include=$NEO_BUILD_DIR/include

model() { # NAME HIDDEN
  cat >"$1.expr" <<END
import nn, optim
dim B <= 32
dim H = $2
input X[B, 4]
input Y[B] : i32 < 2
h = nn.linear(X, out = H)
r[b, j] = relu(h[b, j])
L = nn.linear(r, out = 2)
loss = nn.cross_entropy(L, Y)
output L
output test: loss
train loss using optim.adam(lr = 1e-2)
END
}

# ---- needs libneort, libc, libm and nothing else; exports its own names only
model first 16
model second 24
"$NEOC" compile -q first.expr -o out
"$NEOC" compile -q second.expr -o out
needed=$(objdump -p out/libfirst.so | awk '$1 == "NEEDED" { print $2 }')
for name in $needed; do
  case $name in
    libneort.so.0|libc.so.6|libm.so.6|ld-linux*) ;;
    *) fail "the library needs $name" ;;
  esac
done
case $needed in *libneort*) ;; *) fail "the library does not need libneort" ;; esac
LD_LIBRARY_PATH=$lib ldd out/libfirst.so | awk '{ print $1 }' | while read -r name; do
  case $name in
    libneort.so.0|libc.so.6|libm.so.6|linux-vdso*|*/ld-linux*) ;;
    *) echo "FAIL: ldd shows $name" >&2; exit 1 ;;
  esac
done || status=1
for symbol in $(nm -D --defined-only out/libfirst.so | awk '{ print $3 }'); do
  case $symbol in first_*) ;; *) fail "the library exports $symbol" ;; esac
done
"$NEOC" compile -q first.expr -o out --emit=o # the C compiler's start-up code has some data
mutable=$(size -A out/first.o | awk '$1 ~ /^\.(data|bss|tdata|tbss)$/ { n += $2 } END { print n + 0 }')
[ "$mutable" = 0 ] || fail "the library has $mutable bytes of mutable data"

# ---- same input, same bytes: from two folders, under two names of the folder
mkdir -p a/deep/er b
cp first.expr a/deep/er
cp first.expr b
(cd a/deep/er && "$NEOC" compile -q first.expr -o out --emit=so,a,o,h,ll,s,json)
(cd / && TMPDIR=$work/b "$NEOC" compile -q "$work/b/first.expr" -o "$work/b/out" \
  --emit=so,a,o,h,ll,s,json)
for file in libfirst.so libfirst.a first.o first.h first.ll first.s first.json; do
  cmp -s "a/deep/er/out/$file" "b/out/$file" || fail "$file depends on the folder"
done
cmp -s a/deep/er/out/libfirst.so out/libfirst.so || fail "libfirst.so differs between two runs"

# ---- and on any number of cores, with several parts of the library made at one time
if command -v taskset >/dev/null; then
  mlp=$NEO_SOURCE_DIR/models/zoo/mlp.expr
  "$NEOC" compile -q "$mlp" -o all --emit=so,a
  taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" \
    "$NEOC" compile -q "$mlp" -o one --emit=so,a
  for file in libmlp.so libmlp.a; do
    cmp -s "all/$file" "one/$file" || fail "$file depends on the number of cores"
  done
  [ "$(ar t all/libmlp.a | wc -l)" -gt 2 ] || fail "libmlp.a is not made of parts"
fi

# ---- two models, two contexts of each, four threads
cc -O1 -Wall -Wextra -Werror -o contexts "$NEO_SOURCE_DIR/tests/programs/contexts.c" -Iout \
  -I"$include" -Lout -lfirst -lsecond -L"$lib" -lneort -lm -pthread
LD_LIBRARY_PATH=$lib:out ./contexts || fail "contexts disturb each other"

# ---- memory and floating-point modes of the caller's
cat >shared.expr <<'END'
input x[4]
input d[4]
input many : i32 = 1
state r[4] = 1
state pick[2] : i32 < 3 = 1
param T[3, 4] = 0.5
w[i] = r[i]*2
s = sum[i] w[i]
y[i] = s*x[i]
z[p, i] = T[pick[p], i]*x[i] + f32(many - many)
q[i] = select(d[i] != 0, x[i]/d[i], 0)
update r[i] = r[i] + w[i]
output ob: w, y update r
output look: z, q
END
"$NEOC" compile -q shared.expr -o out
cc -O1 -Wall -Wextra -Werror -o shared "$NEO_SOURCE_DIR/tests/programs/shared.c" -Iout -I"$include" \
  -Lout -lshared -L"$lib" -lneort -lm
LD_LIBRARY_PATH=$lib:out ./shared || fail "what a caller does with memory and modes"

# ---- static: libneort is inside, and hidden
"$NEOC" compile -q first.expr -o inside --runtime=static
"$NEOC" compile -q second.expr -o inside --runtime=static
if objdump -p inside/libfirst.so | grep -q 'NEEDED.*neort'; then
  fail "--runtime=static needs libneort"
fi
for symbol in $(nm -D --defined-only inside/libfirst.so | awk '{ print $3 }'); do
  case $symbol in first_*) ;; *) fail "the static library exports $symbol" ;; esac
done
cc -O1 -o static "$NEO_SOURCE_DIR/tests/programs/contexts.c" -Iinside -I"$include" -Linside -lfirst \
  -lsecond -lm -pthread
LD_LIBRARY_PATH=inside ./static || fail "the program with libneort inside both models"
"$NEOC" compile -q first.expr -o archive --emit=a,h
"$NEOC" compile -q second.expr -o archive --emit=a,h
cc -O1 -o archived "$NEO_SOURCE_DIR/tests/programs/contexts.c" -Iarchive -I"$include" \
  archive/libfirst.a archive/libsecond.a "$lib/libneort.a" -lm -pthread
./archived || fail "the program with both models as archives"

# An archive with libneort inside links alone, and beside another one.
"$NEOC" compile -q first.expr -o whole --emit=a,h --runtime=static
"$NEOC" compile -q second.expr -o whole --emit=a,h --runtime=static
for symbol in $(nm -g --defined-only whole/libfirst.a | awk 'NF == 3 { print $3 }'); do
  case $symbol in first_*) ;; *) fail "the archive with libneort has the global symbol $symbol" ;; esac
done
cat >alone.c <<'END'
#include "first.h"
#include <stdio.h>
int main(void) {
  first_ctx *ctx = 0;
  first_status s = first_create(0, &ctx);
  if (s)
    fprintf(stderr, "%s\n", first_error(ctx));
  first_destroy(ctx);
  return s != 0;
}
END
cc -O1 -o alone alone.c -Iwhole -I"$include" whole/libfirst.a -lm -lpthread -ldl
./alone || fail "the program with an archive that holds libneort"
cc -O1 -o both_whole "$NEO_SOURCE_DIR/tests/programs/contexts.c" -Iwhole -I"$include" \
  whole/libfirst.a whole/libsecond.a -lm -lpthread -ldl
./both_whole || fail "the program with two archives that hold libneort"
mkdir again
"$NEOC" compile -q first.expr -o again --emit=a,h --runtime=static
cmp -s whole/libfirst.a again/libfirst.a || fail "the archive with libneort differs between two runs"

# ---- the header is C and C++ by itself
printf '#include "first.h"\nint main(void) { return FIRST_T_X; }\n' >header.c
cc -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$include" -Iout -fsyntax-only header.c ||
  fail "the header is not C99"
if command -v g++ >/dev/null; then
  g++ -Wall -Wextra -Werror -I"$include" -Iout -fsyntax-only -x c++ header.c ||
    fail "the header is not C++"
fi

# ---- other machines and levels
for level in x86-64-v2 x86-64-v3 x86-64-v4; do
  "$NEOC" compile -q first.expr -o level --target=x86_64 --mcpu=$level --emit=o ||
    fail "no object for $level"
done
"$NEOC" compile -q first.expr -o arm --target=aarch64 --emit=o,s,h || fail "no aarch64 object"
readelf -h arm/first.o | grep -q AArch64 || fail "the aarch64 object is of another machine"

# ---- the compiler as a library
if [ -e "$lib/libneo.so.0" ]; then
  printf 'output Q\n' >bad.expr
  cc -Wall -Wextra -Werror -o embed "$NEO_SOURCE_DIR/tests/programs/embed.c" -I"$include" -L"$lib" \
    -lneo -pthread
  LD_LIBRARY_PATH=$lib ./embed first.expr bad.expr embedded >embed.out ||
    { cat embed.out; fail "neo_compile"; }
  [ -s embedded/libfirst.so ] || fail "neo_compile writes no library"
fi

# ---- how long it takes
mlp=$NEO_SOURCE_DIR/models/mnist/mlp.expr
if [ -e "$mlp" ]; then
  begun=$(date +%s%N)
  "$NEOC" compile -q "$mlp" -o timed
  echo "neoc compile mlp.expr: $((($(date +%s%N) - begun) / 1000000)) ms"
fi
exit "$status"

#!/bin/sh
# Both digit models reach their accuracy on real data, through a plain C program that links the generated library.
# Data: $NEO_DATA/mnist, by default ../shared/data/mnist beside the project; skipped (77) where it is absent.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
data=${NEO_DATA:-$NEO_SOURCE_DIR/../shared/data}/mnist
if [ ! -d "$data" ]; then
  echo "skipped: no MNIST files in $data"
  exit 77
fi

# model epochs accuracy
learn() {
  "$NEOC" compile -q "$NEO_SOURCE_DIR/models/mnist/$1.expr" --prefix=net -o "$work/$1"
  ${CC:-cc} -O2 -Wall -Wextra -Werror -o "$work/$1/mnist" "$NEO_SOURCE_DIR/models/mnist/main.c" -I"$work/$1" \
    -I"$NEO_SOURCE_DIR/include" -L"$work/$1" -lnet -L"$NEO_BUILD_DIR/lib" -Wl,--no-as-needed -lneort -lm \
    "-Wl,-rpath,$work/$1" "-Wl,-rpath,$NEO_BUILD_DIR/lib"
  (cd "$work/$1" && ./mnist "$data" "$2") | tee "$work/$1.log"
  awk -v model="$1" -v least="$3" '/^test accuracy/ { seen = 1; if ($3 < least) bad = $3 }
    END { if (!seen || bad) { print model ": below " least " %"; exit 1 } }' "$work/$1.log"
}

# As many epochs as tell that it learns; all of them in a long run.
if [ -n "${NEO_TEST_LONG:-}" ]; then
  learn mlp 10 97
  learn cnn 9 98.5
else
  learn mlp 5 96.5
  learn cnn 2 98
fi

#!/bin/sh
# Gradients of random programs with recurrences and over graphs (tests/pairs) agree with differences in f64: of every float output with
# respect to every float input and parameter, and of those gradients that the programs ask for, which makes second ones.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized # each program is a process
random=$NEO_BUILD_DIR/tests/test_pairs_random
needs "$NEOC" "$random"

# checked KIND LAST PERCENT: seeds up to the last; so many of a hundred at least have something to check.
checked() {
  seed=1
  checked=0
  while [ "$seed" -le "$2" ]; do
    program=$work/seed_$seed.expr
    "$random" "--$1" --print="$seed" >"$program"
    if "$NEOC" grad-check --interp "$program" --samples 4 --seed 1 >"$work/out" 2>&1; then
      checked=$((checked + 1))
    else # programs without floats, and those whose values are no numbers
      grep -Eq 'nothing (to check|can be checked)|E0515' "$work/out" || {
        cat "$program" >>"$work/out"
        fail "$1, seed $seed" "$work/out"
      }
    fi
    rm -f "$program"
    seed=$((seed + 1))
  done
  [ $((checked * 100)) -ge $(($2 * $3)) ] || fail "only $checked programs of $2 were checked"
}

more=1
[ -z "${NEO_TEST_LONG:-}" ] || more=10
checked recurrences $((300 * more)) 66
checked vertices $((100 * more)) 66
checked nested $((30 * more)) 50 # loops whose numbers of iterations alone are floats have nothing
exit "$status"

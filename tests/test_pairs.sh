#!/bin/sh
# Random programs of the language (tests/pairs) mean the same to the evaluator of tests/evaluator, which shares nothing
# with the compiler, as to the reference interpreter; and machine code gives that.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized # some run there without the evaluator: test_pairs_random
random=$NEO_BUILD_DIR/tests/test_pairs_random
needs "$random"
export PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || die "Debian's python3-numpy is missing: tools/setup installs it"

# evaluated OPTION...: the evaluator agrees about these programs
evaluated() {
  "$random" "$@" --variants=0 --json="$work/programs.json" --folder="$work/failing" >"$work/out" 2>&1 ||
    fail "random programs" "$work/out"
  "$python" "$NEO_SOURCE_DIR/tests/pairs/evaluate.py" "$work/programs.json" >"$work/evaluated" ||
    fail "the evaluator differs" "$work/evaluated"
  grep -Eq ' 0 refused by the evaluator, 0 differ$' "$work/evaluated" || fail "some were refused" "$work/evaluated"
}

evaluated --seeds=30001..30040
evaluated --wide --seeds=30001..30040
evaluated --recurrences --seeds=1..40
evaluated --recurrences --wide --seeds=23..50
evaluated --vertices --seeds=1..40
evaluated --nested --seeds=1..25
evaluated --edges --seeds=1..40
evaluated --vertices --nested --seeds=1..30
if [ -n "${NEO_TEST_LONG:-}" ]; then
  evaluated --seeds=30041..31000
  evaluated --wide --seeds=30041..31000
  evaluated --recurrences --seeds=41..1000
  evaluated --recurrences --wide --seeds=51..300
  evaluated --vertices --seeds=41..600
  evaluated --nested --seeds=26..1000
  evaluated --edges --seeds=41..600
  evaluated --vertices --nested --seeds=31..500
fi
exit $status

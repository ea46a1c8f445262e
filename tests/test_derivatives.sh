#!/bin/sh
# Gradients of drawn programs, and second ones, are what dual numbers over the syntax give (tests/derivatives): those of the
# evaluator's tape, of the interpreter and of compiled code, and of a share of them differences in f64. `--long` takes many
# more, the evaluator's models, the manual's examples and the zoo.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
not_sanitized # the runs are many
export PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || die "Debian's python3-numpy is missing: tools/setup installs it"
derivatives=$NEO_SOURCE_DIR/tests/derivatives/main.py
cd "$NEO_SOURCE_DIR"

"$python" "$derivatives" --selftest || fail "the rules of dual numbers"

examine() { # OPTION...
  "$python" "$derivatives" --neoc "$NEOC" --out "$work/programs" "$@" >"$work/out" 2>&1 || {
    fail "derivatives differ: $*" "$work/out"
    cat "$work"/programs/*.expr >&2 || true
  }
  grep -q ' second: tape against nested duals$' "$work/out" || fail "$*: nothing was compared" "$work/out"
  tail -n 40 "$work/out"
}

examine --seeds 200..215 --compiled 0.15
examine --seeds 1..2 --compiled 0 --options 0 --models tests/evaluator/models/gradients.expr \
  tests/evaluator/models/constants.expr tests/evaluator/models/triangular.expr
if [ "${1:-}" = --long ] || [ -n "${NEO_TEST_LONG:-}" ]; then
  examine --seeds 1000..3000 --floats mixed
  examine --seeds 1..3 --models tests/evaluator/models/*.expr tests/library/*.expr tests/second/*.expr
  examine --seeds 1..2 --examples
  examine --seeds 1..2 --zoo lltm_unrolled,milstm_unrolled,scrnn_unrolled,sublstm_unrolled,mlp,capsulenet
fi
exit "$status"

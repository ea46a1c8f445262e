#!/bin/sh
# Programs of tests, manual, library and zoo that are changed a little (tests/mutated) give the same in the interpreter, in
# compiled code and in tests/evaluator, with any passes and when they are rewritten by tests/relations; what was derived of
# them holds. `--long` takes many more of them.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
not_sanitized # the runs are many
export PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || die "Debian's python3-numpy is missing: tools/setup installs it"
mutated=$NEO_SOURCE_DIR/tests/mutated/main.py

"$python" "$mutated" --neoc "$NEOC" --selftest || fail "the mutations' own tests"

examine() { # SEEDS [OPTION]...
  "$python" "$mutated" --neoc "$NEOC" --server "$NEO_BUILD_DIR/tests/neo_server.so" --jobs 2 --out "$work/mutants" --seeds "$@" >"$work/out" 2>&1 || {
    fail "mutants differ" "$work/out"
    cat "$work"/mutants/*.txt >&2 || true
  }
  tail -n 1 "$work/out"
}

examine 0..50 --compiled 0.2
if [ "${1:-}" = --long ] || [ -n "${NEO_TEST_LONG:-}" ]; then
  examine 1000..5000
fi
exit "$status"

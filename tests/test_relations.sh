#!/bin/sh
# Programs that are rewritten into others that must give the same give the same (tests/relations): values and
# gradients, in the interpreter and in compiled code. `--long` takes many more of them.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
not_sanitized # the runs are many
export PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || die "Debian's python3-numpy is missing: tools/setup installs it"
relations=$NEO_SOURCE_DIR/tests/relations/main.py

"$python" "$relations" --selftest || fail "the relations' own tests"

examine() { # SEEDS [OPTION]...
  "$python" "$relations" --neoc "$NEOC" --server "$NEO_BUILD_DIR/tests/neo_server.so" --jobs 2 --out "$work/pairs" --seeds "$@" >"$work/out" 2>&1 || {
    fail "rewritten programs differ" "$work/out"
    cat "$work"/pairs/*.txt >&2 || true
  }
  tail -n 60 "$work/out"
}

examine 0..240 # 1,000 rewritten programs
examine 0..32 --rare
if [ "${1:-}" = --long ] || [ -n "${NEO_TEST_LONG:-}" ]; then
  examine 1000..16000 --compiled 0.5
  examine 1000..3000 --rare
fi
exit "$status"

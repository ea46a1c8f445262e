#!/bin/sh
# Random blocks: a scan, a while and a repeat of the same rounds give the same numbers (tests/rounds.py).
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3

python3 "$NEO_SOURCE_DIR/tests/rounds.py" "$NEOC" 1 40 2>report || fail "a loop is no repeat" report
exit "$status"

#!/bin/sh
# Bad values of each option of each command, of inputs, and damaged files are refused with a message (tests/bad_inputs): a
# quarter of them, all in a long run.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
not_sanitized # the runs are many
export PYTHONDONTWRITEBYTECODE=1
mkdir bad
cd bad
part=4
[ -z "${NEO_TEST_LONG:-}" ] || part=1
/usr/bin/python3 "$NEO_SOURCE_DIR/tests/bad_inputs/main.py" "$NEOC" $part >"$work/out" 2>&1 || fail "taken, or refused in the wrong way" "$work/out"
tail -n 1 "$work/out"
exit "$status"

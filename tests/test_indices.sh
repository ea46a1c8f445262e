#!/bin/sh
# Facts that the compiler derives about named integers (bounds, conditions that always hold, reads that are inside) are true: models
# whose values were computed with exact integers are refused, or give these values (tests/indices). `--long` takes 10,000.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
not_sanitized # the runs are many
export PYTHONDONTWRITEBYTECODE=1
seeds=0..600
if [ "${1:-}" = --long ] || [ -n "${NEO_TEST_LONG:-}" ]; then
  seeds=0..10000
fi
/usr/bin/python3 "$NEO_SOURCE_DIR/tests/indices/main.py" --neoc "$NEOC" --jobs 2 --out "$work/indices" --seeds $seeds >"$work/out" 2>&1 || {
  fail "what was derived about named integers is wrong" "$work/out"
  cat "$work"/indices/*.expr >&2 || true
}
tail -n 2 "$work/out"
exit "$status"

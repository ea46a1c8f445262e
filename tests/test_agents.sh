#!/bin/sh
# AGENTS.md: `neoc help --agent` prints it; its programs have no errors, compute numbers, and their gradients are right.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" awk
not_sanitized

page=$NEO_SOURCE_DIR/AGENTS.md
expect 0 "the page" "$NEOC" help --agent
cmp -s out "$page" || fail "help --agent prints another page"
expect 2 "the page of a command" "$NEOC" help --agent compile
lines=$(wc -l <"$page")
[ "$lines" -le 180 ] || fail "the page has $lines lines"

awk '/^```expr$/ { n++; name = "program" n ".expr"; next } /^```/ { name = "" } name { print > name }' "$page"
count=0
for program in program*.expr; do
  count=$((count + 1))
  expect 0 "check $program" "$NEOC" check "$program"
  expect 0 "verify $program" "$NEOC" verify -q "$program"
  ! grep -q '^param' "$program" || expect 0 "the gradients of $program" "$NEOC" grad-check "$program"
done
[ "$count" -ge 4 ] || fail "$count programs on the page"

# Its Python, where the package is built.
awk '/^```python$/ { on = 1; next } /^```/ { on = 0 } on' "$page" >page.py
if PYTHONPATH="$NEO_BUILD_DIR/python" /usr/bin/python3 -c 'import numpy, neoc' 2>/dev/null; then
  PYTHONPATH="$NEO_BUILD_DIR/python" /usr/bin/python3 page.py >out 2>&1 || fail "the page's Python" out
fi

# Codes that the page tells about exist.
grep -o '^| E0.*' "$page" | grep -o 'E0[0-9]*' | sort -u >codes
[ "$(wc -l <codes)" -ge 8 ] || fail "few codes" codes
while read -r code; do
  grep -q "$code" "$NEO_SOURCE_DIR/docs/language.md" || fail "the language has no $code"
done <codes
exit "$status"

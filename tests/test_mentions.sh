#!/bin/sh
# Files that comments and documentation mention are there. The rule is in tests/mentions.py.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs python3

(cd "$NEO_SOURCE_DIR" && python3 tests/mentions.py) >"$work/report" || fail "files are mentioned that are not there" "$work/report"

# The rule can fail: of these files the second one is not there.
mkdir ir docs
printf '/* See ir/first.c and second.h. */\n#include "c.h"\n' >ir/first.c
printf 'The file `ir/first.c` and other.c.\n' >docs/page.md
cp docs/page.md README.md
cp docs/page.md ARCHITECTURE.md
python3 "$NEO_SOURCE_DIR/tests/mentions.py" >"$work/report" && fail "a file that is gone goes unnoticed"
[ "$(cat "$work/report")" = "ir/first.c:1: there is no second.h" ] || fail "mentions.py finds other files" "$work/report"
exit "$status"

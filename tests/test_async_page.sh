#!/bin/sh
# docs/async.md does what it says: its files and commands, in their order, in an empty folder, print what
# the page shows.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized # a plain program links a library
needs "$NEOC" python3 cc
PATH=$(dirname "$NEOC"):$PATH
export PATH NEO="$NEO_BUILD_DIR"

mkdir "$work/folder"
(cd "$work/folder" && python3 "$NEO_SOURCE_DIR/tests/page.py" "$NEO_SOURCE_DIR/docs/async.md") >"$work/report" 2>&1 ||
  fail "the page" "$work/report"
exit "$status"

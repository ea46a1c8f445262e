#!/bin/sh
# tools/takebacks: each mend that can be taken back has its place in the sources of today; one that has none is told.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
takebacks() {
  /usr/bin/python3 "$NEO_SOURCE_DIR/tools/takebacks" --list --work "$work/scratch" "$@" >"$work/out" 2>"$work/err"
}
takebacks || fail "a mend has no place" "$work/err"
[ "$(grep -c . "$work/out")" -ge 26 ] || fail "fewer mends than there were" "$work/out"

first=codegen/lower/common/row_stash.c
mkdir -p toy/codegen/lower/common
if takebacks --source toy; then fail "a file that is missing is not told"; fi
grep -q "^takebacks: there is no $first" "$work/err" || fail "a file that is missing" "$work/err"
sed 's/first < stage/first <= stage/' "$NEO_SOURCE_DIR/$first" >toy/$first
if takebacks --source toy; then fail "a text that is gone is not told"; fi
grep -q "^takebacks: $first has 0 times 'first < stage" "$work/err" || fail "a text that is gone" "$work/err"
exit $status

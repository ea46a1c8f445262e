#!/bin/sh
# The examples of docs/language.md: every block marked `expr` is a model without errors, every
# `expr fragment` has no syntax errors (neoc fmt takes it), and every code of base/diag.def that a
# model can get is named.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
page=$NEO_SOURCE_DIR/docs/language.md
awk -v dir="$work" '
  /^```/ && file { close(file); file = ""; next }
  /^```expr fragment$/ { file = dir "/part" ++n ".expr"; next }
  /^```expr$/ { file = dir "/model" ++n ".expr"; next }
  file { print > file }
' "$page"
failed=0
for file in "$work"/model*.expr; do
  "$NEOC" check "$file" > "$work/log" 2>&1 || { cat "$work/log"; failed=1; }
done
for file in "$work"/part*.expr; do
  "$NEOC" fmt "$file" > "$work/log" 2>&1 || { cat "$work/log"; failed=1; }
done
sed -n 's/^X([A-Z0-9_]*, "\([ER]0[0-59][0-9]*\)".*/\1/p' "$NEO_SOURCE_DIR/base/diag.def" |
while read -r code; do
  [ "$code" = E0000 ] || grep -q "$code" "$page" || echo "$code"
done > "$work/missing"
if [ -s "$work/missing" ]; then
  echo "docs/language.md does not name:" $(cat "$work/missing")
  failed=1
fi
exit $failed

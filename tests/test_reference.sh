#!/bin/sh
# The examples of docs/language.md: every block marked `expr` is a model without errors, every
# `expr fragment` has no syntax errors (neoc fmt takes it), and every code of base/diag.def that a
# model can get is named.
set -eu
: "${NEOC:?}" "${NEO_SOURCE_DIR:?}"
[ -x "$NEOC" ] || exit 77
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
page=$NEO_SOURCE_DIR/docs/language.md
awk -v dir="$dir" '
  /^```/ && file { close(file); file = ""; next }
  /^```expr fragment$/ { file = dir "/part" ++n ".expr"; next }
  /^```expr$/ { file = dir "/model" ++n ".expr"; next }
  file { print > file }
' "$page"
failed=0
for file in "$dir"/model*.expr; do
  "$NEOC" check "$file" > "$dir/log" 2>&1 || { cat "$dir/log"; failed=1; }
done
for file in "$dir"/part*.expr; do
  "$NEOC" fmt "$file" > "$dir/log" 2>&1 || { cat "$dir/log"; failed=1; }
done
sed -n 's/^X([A-Z0-9_]*, "\([ER]0[0-59][0-9]*\)".*/\1/p' "$NEO_SOURCE_DIR/base/diag.def" |
while read -r code; do
  [ "$code" = E0000 ] || grep -q "$code" "$page" || echo "$code"
done > "$dir/missing"
if [ -s "$dir/missing" ]; then
  echo "docs/language.md does not name:" $(cat "$dir/missing")
  failed=1
fi
exit $failed

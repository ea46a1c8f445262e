#!/bin/sh
# Gradients that cannot be formed are errors that point at the read or the reducer: the golden
# files of tests/golden/gradient-errors, as complete as the list in docs/language.md.
# NEO_GOLDEN_REFRESH=1 rewrites them.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
golden=$NEO_SOURCE_DIR/tests/golden/gradient-errors

for model in "$golden"/*.expr; do
  name=$(basename "$model")
  sed '/^# expect:$/,$d' "$model" >"$work/$name"
  code=0
  (cd "$work" && "$NEOC" check "$name") >"$work/out" 2>&1 || code=$?
  [ $code = 1 ] || fail "$name: exit code $code"
  { cat "$work/$name"; echo '# expect:'; sed -e '$a\' "$work/out" | sed 's/^/# /; s/ *$//'; } >"$work/is"
  if [ "${NEO_GOLDEN_REFRESH:-}" ]; then cp "$work/is" "$model"; fi
  diff "$model" "$work/is" >&2 || fail "$name: another message"
  grep -q '^# .*expr:[0-9]*:[0-9]*: error\[E050' "$work/is" || fail "$name: no place"
done
grep -q "error\[E0502\]" "$golden"/*.expr || fail "E0502 has no example"
exit $status

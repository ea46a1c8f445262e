#!/bin/sh
# docs/gallery is what tools/gallery writes from the models' texts and the figures that were measured, each
# model of the zoo has a page, and the operators' gradients agree with differences.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" python3
gallery=$NEO_SOURCE_DIR/docs/gallery

python3 "$NEO_SOURCE_DIR/tools/gallery" --check >"$work/report" 2>&1 || fail "docs/gallery is stale" "$work/report"
for model in "$NEO_SOURCE_DIR"/models/zoo/*.expr; do
  name=$(basename "$model" .expr)
  grep -qE '^(output|train)' "$model" || continue # a module
  [ -s "$gallery/$name.md" ] && [ -s "$gallery/$name.svg" ] || fail "$name has no page with a picture"
  says "$gallery/README.md" "]($name.md)" "the index"
done
[ "$(du -sk "$gallery" | cut -f1)" -lt 1536 ] || fail "docs/gallery is larger than 1.5 MB"
"$NEOC" fmt --check "$gallery"/*.expr >"$work/report" 2>&1 || fail "operators in another form" "$work/report"
for operator in "$gallery"/*.expr; do
  "$NEOC" grad-check "$operator" --samples 2 >"$work/report" 2>&1 || fail "grad-check of $operator" "$work/report"
  says "$work/report" '^[1-9][0-9]* elements checked, 0 failed' "grad-check of $operator"
done

# The check can fail: in a copy, a page is changed, a page is left over, a text is another one.
mkdir -p copy/tools copy/docs copy/models copy/tests/zoo
cp -r "$NEO_SOURCE_DIR/tools/gallery" "$NEO_SOURCE_DIR/tools/galleries" copy/tools
cp -r "$gallery" copy/docs
cp -r "$NEO_SOURCE_DIR/models/zoo" copy/models
cp -r "$NEO_SOURCE_DIR/tests/zoo/expected" copy/tests/zoo
check() { python3 copy/tools/gallery --check; }
expect 0 "the copy" check
echo more >>copy/docs/gallery/mlp.md
echo more >copy/docs/gallery/other.md
expect 1 "a page that was changed, and one of no model" check
says out 'mlp.md: is not what' "a page that was changed"
says out 'other.md: no model' "a page of no model"
echo 'output H' >>copy/models/zoo/mlp.expr
expect 1 "a text that was not measured" check
says err 'mlp was never measured as it is' "a text that was not measured"
exit "$status"

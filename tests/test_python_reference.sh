#!/bin/sh
# docs/python-api.md is what tools/python_reference makes of the package's docstrings, and what is public is on it.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
page=$NEO_SOURCE_DIR/docs/python-api.md

python3 "$NEO_SOURCE_DIR/tools/python_reference" "$work/page.md"
cmp -s "$page" page.md || {
  diff "$page" page.md >difference || true
  fail "docs/python-api.md is not what tools/python_reference writes" difference
}
for name in neoc.op neoc.load neoc.Graph neoc.function neoc.scan neoc.torch.op neoc.jax.op neoc.fit.fit neoc.cache.prune; do
  grep -q "^### \(class \)\{0,1\}$name\( \|\$\)" page.md || fail "the page has no $name"
done

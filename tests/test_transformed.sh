#!/bin/sh
# Texts that are made of other texts compute what they stand for: derivatives forward, by two gradients with a seed, and products with
# the Hessian, against differences; a batch axis, by calls at an index and by an index in front, against a loop over the batch.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
export PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || die "Debian's python3-numpy is missing: tools/setup installs it"

for kind in forward batched; do
  "$python" "$NEO_SOURCE_DIR/tests/transformed/$kind.py" "$NEOC" 2>err || fail "$kind" err
done
exit $status

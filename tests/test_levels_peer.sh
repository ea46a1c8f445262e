#!/bin/sh
# PyTorch batched by level, the peer of tools/bench dynamic, has the losses and gradients of PyTorch vertex by
# vertex. PyTorch is looked for in $PYTHON (python3); skipped (77) where it is absent.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
python=${PYTHON:-python3}
"$python" -c 'import torch' 2>/dev/null || { echo "skipped: $python has no PyTorch"; exit 77; }
"$python" -B "$NEO_SOURCE_DIR/tests/oracle/check_levels.py" >out 2>&1 || fail "a peer computes something else" out
exit $status

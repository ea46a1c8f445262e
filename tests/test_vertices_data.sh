#!/bin/sh
# On real trees and lattices, values, gradients and training steps of vertex functions equal what PyTorch
# computes vertex by vertex, to 1e-9 in f64. Data: $NEO_DATA/sst and $NEO_DATA/lattice, by default below
# ../shared/data beside the project; PyTorch is looked for in $PYTHON (python3). Skipped (77) where either is absent.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
data=${NEO_DATA:-$NEO_SOURCE_DIR/../shared/data}
python=${PYTHON:-python3}
zoo=$NEO_BUILD_DIR/tests/test_zoo_zoo
for folder in sst lattice; do
  [ -e "$data/$folder/dev.txt" ] || { echo "skipped: no trees or lattices in $data/$folder"; exit 77; }
done
"$python" -c 'import torch' 2>/dev/null || { echo "skipped: $python has no PyTorch"; exit 77; }
[ -x "$zoo" ] || { echo "skipped: $zoo is not built"; exit 77; }

"$python" "$NEO_SOURCE_DIR/tests/zoo/make_expected.py" --data "$data" "$work" || die "PyTorch computes nothing"
[ "$(ls "$work"/*.txt | wc -l)" = 5 ] || fail "not all networks were computed"
"$zoo" "$work"/*.txt >"$work/out" 2>&1 || fail "a network over real graphs differs from PyTorch" "$work/out"
grep -q '15 test(s) run' "$work/out" || fail "not all networks were compared" "$work/out"
exit $status

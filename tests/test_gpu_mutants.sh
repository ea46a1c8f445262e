#!/bin/sh
# tools/gpu_mutants: each change has its place in the PTX and the sources of today; ptxas and
# tools/ptx_check find changes of each kind in a sample; what nobody finds is said.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized
needs "$NEOC" python3 ptxas
mutants() {
  "$NEO_SOURCE_DIR/tools/gpu_mutants" --neoc "$NEOC" --work "$work/scratch" "$@" >out 2>err
}
mutants --list || fail "a change has no place" err
[ "$(grep -c . out)" -ge 130 ] || fail "fewer changes than there were" out

sample='points: the first barrier|stages: the group of a block of steps|registers: the first proxy fence|stages: the product of the block'
sample="$sample|boxes: (fewer bytes|a phase takes two|the fence behind)|producer: registers that are no|boxes: the wait for boxes"
mutants --ptx --only "$sample" || fail "a change of the sample is not found" err
for line in '^| points | the first barrier dropped | ptx_check: order' '^| wgmma, by registers | the first proxy fence.* | ptx_check: proxy' \
  '^| wgmma, boxes | fewer bytes announced | ptx_check: bytes' '^| wgmma, boxes | the fence behind .* | ptx_check: init' \
  '^| producer | registers that are no multiple of 8 | ptxas' '^| wgmma, cp.async stages | the product .* | ptx_check: wait_group'; do
  grep -q "$line" out || fail "no line $line" out
done
grep -q '^9 changes of PTX: ptx_check 8, ptxas 1\.$' out || fail "the sum" out
exit $status

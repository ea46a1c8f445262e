#!/bin/sh
# What ptxas makes of the main kernels for GPUs: no spills, and no more registers than
# tests/gpu/kernels.txt records. NEO_REFRESH=1 writes that file anew.
set -eu
[ -x "${NEOC:-}" ] || exit 77
command -v ptxas >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
recorded=$NEO_SOURCE_DIR/tests/gpu/kernels.txt
for level in sm_75 sm_80 sm_90a; do
  "$NEOC" compile -q "$NEO_SOURCE_DIR/tests/gpu/kernels.expr" --target=nvptx:$level --emit=ptx \
    -o "$work/$level"
  ptxas -v -arch=$level -o /dev/null "$work/$level/kernels.ptx" 2>"$work/said"
  awk -v level=$level '/Compiling entry/ { name = $7; sub(/.*_k[0-9]+_/, "", name); gsub("\047", "", name) }
    /spill stores/ { spills = $5 + $9 }
    /Used/ { print level, name, $5, spills }' "$work/said" | sort >>"$work/now"
done
if [ -n "${NEO_REFRESH:-}" ]; then
  { echo "# level kernel registers spilled-bytes"; cat "$work/now"; } >"$recorded"
fi
awk 'NR == FNR { if ($1 != "#") most[$1 " " $2] = $3; next }
  !(($1 " " $2) in most) { print "FAIL: " $1 " " $2 ": nothing is recorded"; bad = 1; next }
  $4 > 0 { print "FAIL: " $1 " " $2 ": " $4 " bytes are spilled"; bad = 1 }
  $3 > most[$1 " " $2] { print "FAIL: " $1 " " $2 ": " $3 " registers, recorded " most[$1 " " $2]; bad = 1 }
  { n++ } END { if (!n) print "FAIL: no kernels"; exit (bad || !n) }' "$recorded" "$work/now" >&2

#!/bin/sh
# The PTX of one kernel of each kind (tests/golden/ptx): what was looked at last, for the LLVM that
# made it; another LLVM skips. NEO_GOLDEN_REFRESH=1 writes the files anew; look at the difference.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
golden=$NEO_SOURCE_DIR/tests/golden/ptx
llvm=$("$NEOC" doctor 2>/dev/null | awk '$1 == "LLVM" { print $2 }')
refresh=${NEO_GOLDEN_REFRESH:-}
if [ -z "$refresh" ] && [ "$llvm" != "$(cat "$golden/LLVM")" ]; then
  echo "the golden PTX is of LLVM $(cat "$golden/LLVM"), this is $llvm" >&2
  exit 77
fi
"$NEOC" compile -q "$golden/kernels.expr" --target=nvptx:sm_80 --records=none --no-fuse=grid \
  --emit=ptx -o "$work"
for way in "hopper sm_90a --math=tf32" "warps sm_80" "nested sm_80 --math=tf32"; do
  set -- $way
  "$NEOC" compile -q "$golden/$1.expr" --target=nvptx:$2 ${3:-} --records=none --no-fuse=grid --emit=ptx -o "$work"
done
# A file for each kernel; what is before the first belongs to all.
for of in kernels hopper warps nested; do
  awk -v to="$work/" -v of=$of '
    BEGIN { name = of == "kernels" ? "head" : "head_" of }
    /^.visible .entry/ { name = $3; sub(/^[a-z]+_k[0-9]+_/, "", name); sub(/[(].*/, "", name) }
    { line = $0; gsub(of "_k[0-9]+_", "", line); print line >(to name ".is") }
  ' "$work/$of.ptx"
done
count=0
for is in "$work"/*.is; do
  name=$(basename "$is" .is)
  count=$((count + 1))
  if [ -n "$refresh" ]; then cp "$is" "$golden/$name.ptx"; fi
  if ! diff "$golden/$name.ptx" "$is" >"$work/difference" 2>&1; then
    echo "FAIL: $name: other PTX (NEO_GOLDEN_REFRESH=1 takes it):" >&2
    head -20 "$work/difference" >&2
    status=1
  fi
done
if [ -n "$refresh" ]; then echo "$llvm" >"$golden/LLVM"; fi
[ "$count" -ge 15 ] || { echo "FAIL: $count files only" >&2; status=1; }
[ "$(ls "$golden"/*.ptx | wc -l)" -eq "$count" ] || { echo "FAIL: golden files of no kernel" >&2; status=1; }
exit $status

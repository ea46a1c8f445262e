#!/bin/sh
# Hardening against attacks: programs and libraries of the build lie anywhere in memory, have no table of functions that can be
# written, and look for libraries in no relative folder; so do libraries that neoc writes. What is set by
# whoever starts a program with more rights than his own is not read from the environment.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC" cc readelf

# hardened FILE
hardened() {
  readelf -hldW "$1" >elf 2>/dev/null
  grep -q 'Type: *DYN' elf || fail "$1 has a fixed address"
  grep -q 'BIND_NOW\|FLAGS.* NOW' elf || fail "$1 binds functions when they are called"
  grep -q 'GNU_RELRO' elf || fail "$1 has a table of functions that can be written"
  ! grep -q 'GNU_STACK.* RWE' elf || fail "$1 has a stack that can be executed"
  sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\]$/\1/p' elf | tr ':' '\n' >folders
  ! grep -qv '^/' folders || fail "$1 looks for libraries in relative folders:" folders
  ! grep -q "^$NEO_BUILD_DIR" folders || fail "$1 looks for libraries in the build tree:" folders
}
n=0
for file in "$NEO_BUILD_DIR"/bin/* "$NEO_BUILD_DIR"/lib/lib*.so* "$NEO_BUILD_DIR"/tests/*; do
  [ -f "$file" ] && [ ! -L "$file" ] && [ "$(head -c 4 "$file" | tr -d '\000-\037\177')" = ELF ] || continue
  hardened "$file"
  n=$((n + 1))
done
[ "$n" -ge 6 ] || fail "only $n programs and libraries were found"

printf 'input X[4]\nY[i] = exp(X[i])\noutput Y\n' >model.expr
for runtime in shared static; do
  "$NEOC" compile -q model.expr -o $runtime --runtime=$runtime
  hardened $runtime/libmodel.so
done

cd "$NEO_SOURCE_DIR"
grep -rnE '(^|[^_])getenv\(' base runtime tools/neoc tools/pipeline tools/tune tools/cache tools/measure >"$work/reads" ||
  exit "$status"
fail "secure_getenv is to be used in place of getenv:" "$work/reads"
exit "$status"

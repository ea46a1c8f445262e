#!/bin/sh
# libneort exports neo_rt_* and nothing else, and needs libc and libm only. libneo exports what the headers
# declare and nothing else, and needs no libLLVM.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
lib=$NEO_BUILD_DIR/lib/libneort.so.0
archive=$NEO_BUILD_DIR/lib/libneort.a
[ -e "$lib" ] || exit 77

shared=$(nm -D --defined-only "$lib" | awk '{ print $3 }')
global=$(nm -g --defined-only "$archive" | awk 'NF == 3 { print $3 }')
[ -n "$shared" ] || fail "libneort.so.0 exports nothing"
# A sanitizer adds symbols of its own.
[ -z "${NEO_SANITIZE:-}" ] || exit "$status"

for name in $shared; do
  case $name in neo_rt_*) ;; *) fail "libneort.so.0 exports $name" ;; esac
done
for name in $global; do
  case $name in neo_rt_*) ;; *) fail "libneort.a has the global symbol $name" ;; esac
done

# Every function that the headers declare is there: a missing one would fail users at link time.
declared=$(sed -n 's/^NEO_RT_API .*[ *]\(neo_rt_[a-z0-9_]*\)(.*/\1/p' \
  "$NEO_SOURCE_DIR/include/neo/neo_rt.h" "$NEO_SOURCE_DIR/include/neo/neo_graph.h" \
  "$NEO_SOURCE_DIR/include/neo/neo_net.h")
[ -n "$declared" ] || fail "the headers declare nothing"
for name in $declared; do
  echo "$shared" | grep -qx "$name" || fail "libneort.so.0 lacks $name"
  echo "$global" | grep -qx "$name" || fail "libneort.a lacks $name"
done

whole=$NEO_BUILD_DIR/lib/libneo.so.0
sed -n 's/^NEO_\(RT_\)\{0,1\}API .*[ *]\(neo_[a-z0-9_]*\)(.*/\2/p' "$NEO_SOURCE_DIR"/include/neo/*.h |
  sort >declared
nm -D --defined-only "$whole" | awk '{ print $3 }' | sort >exported
diff declared exported >differ || fail "libneo exports other functions than the headers declare:" differ
if ldd "$whole" | grep -i 'libLLVM\|libneort'; then fail "libneo needs LLVM or the runtime"; fi

abi=$(sed -n 's/^#define NEO_RT_ABI \([0-9]*\).*/\1/p' "$NEO_SOURCE_DIR/include/neo/neo_rt.h")
grep -q "^.NEO_RT_ABI. is $abi\." "$NEO_SOURCE_DIR/docs/c-api.md" ||
  fail "docs/c-api.md names another NEO_RT_ABI than $abi"

ldd "$lib" | awk '{ print $1 }' | while read -r needed; do
  case $needed in
    libc.so.*|libm.so.*|linux-vdso.so.*|*/ld-linux*) ;;
    *) echo "FAIL: libneort.so.0 needs $needed" >&2; exit 1 ;;
  esac
done || status=1
exit "$status"

#!/bin/sh
# The Python package under the address and undefined behaviour sanitizers: the tests of its core and
# those of wrong uses. The sanitizers' runtime is loaded before Python, whose own allocator is left
# out, as it hides what is freed; Python ends with memory that it does not free.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
package=$NEO_BUILD_DIR/python
python=/usr/bin/python3
[ -x "$python" ] || python=python3
"$python" -c 'import numpy' 2>/dev/null || {
  echo "skipped: $python has no numpy" >&2
  exit 77
}
libraries=
for name in libasan.so libubsan.so; do
  path=$("$CC" -print-file-name="$name")
  [ "$path" = "$name" ] || libraries="$libraries $path"
done
[ -n "$libraries" ] || {
  echo "skipped: $CC has no runtime of sanitizers to be loaded" >&2
  exit 77
}
export PYTHONPATH="$package" PYTHONDONTWRITEBYTECODE=1 PYTHONMALLOC=malloc
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1

for name in op derive model graph wrong_uses; do
  LD_PRELOAD=$libraries "$python" "$NEO_SOURCE_DIR/python/tests/test_$name.py" >log 2>&1 ||
    fail "test_$name.py" log
done
exit $status

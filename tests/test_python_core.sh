#!/bin/sh
# The Python package in the build tree: python/tests with the Python that the module was built for.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized # their runtime would have to be loaded before Python's
package=$NEO_BUILD_DIR/python
ls "$package"/neoc/_core.*.so >/dev/null 2>&1 || {
  echo "skipped: the package is not built, as headers of Python (python3-dev) are missing" >&2
  exit 77
}
python=/usr/bin/python3
[ -x "$python" ] || python=python3
"$python" -c 'import numpy' 2>/dev/null || {
  echo "skipped: $python has no numpy" >&2
  exit 77
}
export PYTHONPATH="$package" PYTHONDONTWRITEBYTECODE=1

for test in "$NEO_SOURCE_DIR"/python/tests/test_*.py; do
  case $test in
    */test_op.py|*/test_derive.py|*/test_model.py|*/test_process.py|*/test_docs.py|\
    */test_graph.py|*/test_wrong_uses.py) ;;
    *) continue ;; # others have scripts of their own
  esac
  "$python" -W error::ResourceWarning "$test" >log 2>&1 || fail "$(basename "$test")" log
done

# ---- types, where mypy is installed
if command -v mypy >/dev/null; then
  (cd "$NEO_SOURCE_DIR/python" && mypy --strict --cache-dir="$work/mypy" neoc) >log 2>&1 ||
    fail "mypy --strict" log
fi

# ---- on a device, which is emulated
emulator=$NEO_BUILD_DIR/tests/libneo_gpu_emulator.so
if [ -e "$emulator" ]; then
  NEO_CUDA_DRIVER=$emulator "$python" "$NEO_SOURCE_DIR/python/tests/test_device.py" >log 2>&1 ||
    fail test_device.py log
fi

# ---- the command line, as a module of the package
"$python" -m neoc --version >out || fail "python -m neoc --version"
says out "neoc" "the version"
printf 'input X[3]\nY[i] = X[j]\noutput Y\n' >bad.expr
expect 1 "python -m neoc check" "$python" -m neoc check bad.expr
says err "E0204" "the message"
exit $status

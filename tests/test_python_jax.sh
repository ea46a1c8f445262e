#!/bin/sh
# Operators and models in JAX: python/tests/test_jax.py with an interpreter that has jax ($NEO_PYTHON_JAX).
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized # their runtime would have to be loaded before Python's
package=$NEO_BUILD_DIR/python
ls "$package"/neoc/_core.*.so >/dev/null 2>&1 || {
  echo "skipped: the package is not built, as headers of Python (python3-dev) are missing" >&2
  exit 77
}
python=${NEO_PYTHON_JAX:-/usr/bin/python3}
"$python" -c 'import jax' 2>/dev/null || {
  echo "no jax: $python has none; NEO_PYTHON_JAX names another interpreter"
  exit 0
}
export PYTHONPATH="$package" PYTHONDONTWRITEBYTECODE=1
"$python" "$NEO_SOURCE_DIR/python/tests/test_jax.py" >log 2>&1 || fail "test_jax.py" log
exit $status

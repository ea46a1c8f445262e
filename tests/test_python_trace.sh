#!/bin/sh
# Traced functions of the Python package: texts, results against numpy, gradients against differences,
# sizes, errors at lines of Python, models/std, examples of the docstrings.
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

for test in "$NEO_SOURCE_DIR"/python/tests/test_trace_*.py; do
  "$python" -W error::ResourceWarning "$test" >log 2>&1 || fail "$(basename "$test")" log
done
exit $status

#!/bin/sh
# neoc.torch against PyTorch's own checks, with the interpreter that has PyTorch: $NEO_PYTHON_TORCH, else
# /usr/bin/python3. The table of operators (python/tests/operators.py) takes some minutes.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized # their runtime would have to be loaded before Python's
package=$NEO_BUILD_DIR/python
ls "$package"/neoc/_core.*.so >/dev/null 2>&1 || {
  echo "skipped: the package is not built, as headers of Python (python3-dev) are missing" >&2
  exit 77
}
python=${NEO_PYTHON_TORCH:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || {
  echo "skipped: $python has no torch (NEO_PYTHON_TORCH names an interpreter)" >&2
  exit 77
}
export PYTHONPATH="$package" PYTHONDONTWRITEBYTECODE=1
for test in test_docs.py test_torch.py; do
  "$python" "$NEO_SOURCE_DIR/python/tests/$test" >log 2>&1 || fail "$test" log
done
exit $status

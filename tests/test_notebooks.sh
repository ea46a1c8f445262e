#!/bin/sh
# The notebooks of docs/notebooks run, and their cells print what is stored in them.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized
python=/usr/bin/python3
export PYTHONPATH="$NEO_BUILD_DIR/python" PYTHONDONTWRITEBYTECODE=1
"$python" -c 'import numpy, neoc' 2>/dev/null || {
  echo "skipped: neoc for Python is not built, or numpy is missing: tools/setup installs what they need" >&2
  exit 77
}
"$python" "$NEO_SOURCE_DIR/tools/notebooks" --check >out 2>&1 || fail "a notebook shows something else" out
cat out
[ "$(grep -c 'cells, 0 lines differ' out)" -ge 4 ] || fail "few notebooks ran" out

# The comparison can fail.
mkdir -p docs/notebooks tools
cp "$NEO_SOURCE_DIR/tools/notebooks" tools/
cat >docs/notebooks/one.ipynb <<'END'
{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "source": ["1 + 1"], "execution_count": 1, "outputs":
 [{"data": {"text/plain": ["3"]}, "execution_count": 1, "metadata": {}, "output_type": "execute_result"}]}],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
END
if "$python" tools/notebooks --check >out 2>&1; then fail "another output is not told" out; fi
says out "stored: 3" "the stored line"
exit "$status"

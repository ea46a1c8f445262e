#!/bin/sh
# The programs and commands of README.md do what it says. The rule is in tests/readme.py.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized
needs "$NEOC" python3 cc awk
mkdir page rule
PATH=$(dirname "$NEOC"):$PATH

(cd page && python3 "$NEO_SOURCE_DIR/tests/readme.py" "$NEO_SOURCE_DIR/README.md") >report || fail "README.md says other things" report

# Its first lines of Python, where the package is built.
awk '/^```python$/ { n++ } /^```/ && !/python/ { on = 0 } on && n == 1 { print } /^```python$/ { on = 1 }' \
  "$NEO_SOURCE_DIR/README.md" >readme_page.py
if PYTHONPATH="$NEO_BUILD_DIR/python" /usr/bin/python3 -c 'import numpy, neoc' 2>/dev/null; then
  PYTHONPATH="$NEO_BUILD_DIR/python" /usr/bin/python3 readme_page.py >out 2>&1 || fail "README.md's Python" out
fi

# The rule can fail: a line that is not written, a number that is another one, a command that fails.
cd rule
cat >page.md <<'END'
```expr
# one.expr
```
```console
$ cat one.expr
# one.expr
$ printf 'a 1.00\nb 2\nloss 3.0\n'
a 1.005
...
loss 5.0
$ echo 'a 1.02 of 3'
a 1.0 of 3
$ echo 'a 1.0 of 3'
a 1.0 of 4
$ false
```
END
python3 "$NEO_SOURCE_DIR/tests/readme.py" page.md >report && fail "what a page says wrongly goes unnoticed"
[ "$(grep -c '^\$' report)" = 3 ] || fail "readme.py finds other things" report
exit "$status"

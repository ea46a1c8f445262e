#!/bin/sh
# Functions leave their file for others: none is external for its own file alone, and the share that
# serves one file does not grow. The rule and its limit are in tests/exports.py.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs python3 nm "${CC:-cc}"

(cd "$NEO_SOURCE_DIR" && python3 tests/exports.py "$NEO_BUILD_DIR") >"$work/report" ||
  fail "functions leave their file for nobody" "$work/report"

# The rule can fail: a function that nothing calls.
mkdir -p toy/build/x.dir/ir
echo "void lonely_f(void); void lonely_f(void) {}" >toy/f.c
"${CC:-cc}" -c toy/f.c -o toy/build/x.dir/ir/lonely.c.o
python3 "$NEO_SOURCE_DIR/tests/exports.py" toy/build >"$work/report" && fail "a dead function goes unnoticed"
says "$work/report" 'ir/lonely.c: lonely_f' "what exports.py lists"
exit "$status"

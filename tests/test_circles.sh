#!/bin/sh
# Inside a folder calls have a direction: files that call each other in a circle are few. The rule and its limits are in
# tests/circles.py.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs python3 nm "${CC:-cc}"

(cd "$NEO_SOURCE_DIR" && python3 tests/circles.py "$NEO_BUILD_DIR") >"$work/report" ||
  fail "files call each other in circles" "$work/report"

# The rule can fail: seven files of which each calls the next, and the last the first.
mkdir -p toy/ir toy/build/x.dir/ir
for i in 0 1 2 3 4 5 6; do
  next=$(((i + 1) % 7))
  echo "void f$next(void); void f$i(void); void f$i(void) { f$next(); }" >"toy/ir/f$i.c"
  "${CC:-cc}" -c "toy/ir/f$i.c" -o "toy/build/x.dir/ir/f$i.c.o"
done
echo "void f0(void); void g(void); void g(void) { f0(); }" >toy/ir/g.c
"${CC:-cc}" -c toy/ir/g.c -o toy/build/x.dir/ir/g.c.o
cd toy
python3 "$NEO_SOURCE_DIR/tests/circles.py" build >"$work/report" && fail "a circle of seven goes unnoticed"
says "$work/report" '^8 files, 1 circles, 7 files in circles, largest 7' "what circles.py counts"
exit "$status"

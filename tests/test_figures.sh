#!/bin/sh
# Functions and files are short. The limits, and what counts as a line of either, are in tests/figures.py.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs python3

(cd "$NEO_SOURCE_DIR" && python3 tests/figures.py -v) >"$work/report" ||
  fail "functions or files are too long" "$work/report"

# The rule can fail: a table is no function, and a function of 30 lines is one that is too long.
mkdir ir
{
  printf 'static const int table[] = {\n  1,\n};\n\nstatic int f(int a,\n             int b) {\n'
  for i in $(seq 27); do echo "  a += b;"; done
  echo "}"
} >ir/f.c
python3 "$NEO_SOURCE_DIR/tests/figures.py" >"$work/report" && fail "a long function goes unnoticed"
says "$work/report" '^all: 1 functions 30/30, 1 files 34/34' "what figures.py counts"
exit "$status"

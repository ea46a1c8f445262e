#!/bin/sh
# tools/mutants: a mutant that a test finds is found, one that no test looks at is alive and is
# told with its place; the same command does not run them again; a new test meets what is alive.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized
needs python3 cmake ctest cc
mkdir -p toy/lib
cat >toy/lib/clamp.c <<'END'
#include <assert.h>
#include <stdbool.h>

/* Neither the check, the table nor the label is a place for a mutant. */
static const int most[2] = {1, 10};
bool is_small(int x);
bool is_small(int x) {
  assert(x > -1000);
  return x < most[1];
}
int kind(int x);
int kind(int x) {
  switch (x) {
  case 3: return 'a';
  default: return is_small(x) && x != 5 ? 'b' : 'c';
  }
}
END
cat >toy/main.c <<'END'
int kind(int x);
int main(int argc, char **argv) {
  (void)argv;
  int good = kind(3) == 'a' && kind(5) == 'c' && kind(4) == 'b';
  return !(good && (argc < 2 || (kind(10) == 'c' && kind(9) == 'b')));
}
END
cat >toy/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(toy LANGUAGES C)
enable_testing()
add_executable(toy main.c lib/clamp.c)
add_test(NAME toy COMMAND toy)
add_test(NAME broken COMMAND false)
END
mutants() {
  "$NEO_SOURCE_DIR/tools/mutants" --source toy --work scratch --folders lib --count 30 --seed 1 \
    --report report "$@" >out 2>err || fail "tools/mutants ends with $?" err
}

mutants --list
grep -q ' is_small: `x < most\[1\]` -> `x <= most\[1\]`' out || fail "no bound is off by one" out
grep -q 'is_small: always' out || fail "no predicate always holds" out
grep -q "kind: \`is_small(x) && x != 5\` -> \`is_small(x) || x != 5\`" out || fail "no && is ||" out
if grep -E '1000|main\.c|`10`|`3`' out; then fail "there are mutants where there should be none"; fi

mutants
grep -q 'broken fails without a mutant' err || fail "a test that fails by itself is not told" err
# No test sees the difference between x < most[1] and x <= most[1]: none reaches the mutant.
grep -q '^| lib | [1-9][0-9]* | [1-9][0-9]* | [1-9][0-9]* | 1 |' report || fail "no table" report
grep -q '`lib/clamp.c`, `is_small`, line 9: `x < most\[1\]` -> `x <= most\[1\]` (no test reaches it)' report ||
  fail "what no test finds is not told" report
grep -q 'x != 5' report && fail "what a test finds is alive" report

mutants
grep -q 'found by' out && fail "what is found is looked for again" out
echo 'add_test(NAME harder COMMAND toy harder)' >>toy/CMakeLists.txt
mutants
grep -q 'found by harder' out || fail "a new test finds nothing" out
grep -q 'most\[1\]` -> `x <=' report && fail "what the new test finds is alive" report
exit $status

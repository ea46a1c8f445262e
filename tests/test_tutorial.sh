#!/bin/sh
# docs/tutorial.md does what it says: its files and commands, in their order, in an empty folder, print what
# the page shows.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized # a plain program links a library
needs "$NEOC" python3 cc
PATH=$(dirname "$NEOC"):$PATH
export PATH NEO="$NEO_BUILD_DIR"

# page FILE: in an empty folder
page() {
  rm -rf "$work/folder"
  mkdir "$work/folder"
  (cd "$work/folder" && python3 "$NEO_SOURCE_DIR/tests/page.py" "$1") >"$work/report" 2>&1
}

page "$NEO_SOURCE_DIR/docs/tutorial.md" || fail "the tutorial" "$work/report"

# The rule can fail.
refused() { # WHAT PATTERN: the page on stdin
  cat >"$work/bad.md"
  ! page "$work/bad.md" || fail "$1 goes unnoticed"
  says "$work/report" "$2" "$1"
}
refused "another output" 'the page shows' <<'END'
```console
$ printf 'a\nb\n'
a
c
```
END
refused "an output that is not shown" 'but it prints' <<'END'
```console
$ echo a
```
END
refused "a command that fails" 'exit code 1' <<'END'
```console
$ false
```
END
refused "a command that should fail" 'exit code 0' <<'END'
```console fails
$ true
```
END
refused "a block that nobody runs" 'neither a file' <<'END'
```sh
echo a
```
END
exit "$status"

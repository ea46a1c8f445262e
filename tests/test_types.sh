#!/bin/sh
# The library in f64, f32, f16 and bf16: parameters have the type of what is given, f16 and bf16 are rounded once, and all
# of it, with optimizers step by step, is what numpy computes in f64 (tests/types); gradients by differences. Layers in f32 are part of the long form
# (NEO_TEST_LONG).
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
not_sanitized # a process of Python loads compiled libraries
export PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3
"$python" -c 'import numpy' 2>/dev/null || die "Debian's python3-numpy is missing: tools/setup installs it"
"$python" "$NEO_SOURCE_DIR/tests/types/main.py" "$NEOC" >out 2>&1 || fail "the library differs from numpy" out
tail -1 out
exit "$status"

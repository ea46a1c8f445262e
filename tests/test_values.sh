#!/bin/sh
# Programs whose results were worked out by hand (tests/values): compiled, interpreted, without the passes that may be left
# out and without fusion; facts that are derived are checked, too. Each file says how it is run and what comes out:
#
#   # run x=[1,nan] -D N=4        one run; `neoc run`'s arguments
#   # expect s=[1,0.5] n=-inf      its results, which may be fewer than there are; NaN is only NaN, -0 is 0
#   # refuse not in [0, 4)         or what the message says that refuses the inputs
#
# A number may differ from its result by the rounding of its type: 1e-5 of it in f32, 1e-12 in f64.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
export PYTHONDONTWRITEBYTECODE=1
/usr/bin/python3 "$NEO_SOURCE_DIR/tests/values/check.py" "$NEOC" "$NEO_SOURCE_DIR"/tests/values/*.expr || status=1
exit $status
